// Keyboard, countdown and live behaviour. The server stays the source of truth: a key moves focus or opens a form,
// it never sends a decision about a request, and every page works without this file.
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const body = document.body;
  const home = body.dataset.home || "/";

  const open = (id) => {
    const dialog = document.getElementById(id);
    if (dialog && !dialog.open) dialog.showModal();
  };

  // ---- time: counted from the server's clock, in words as the server writes them ----
  const offset = body.dataset.now ? Date.parse(body.dataset.now) - Date.now() : 0;
  const length = (seconds) => {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} m`;
    const [big, small, unit, rest] = s < 86400 ? ["h", "m", 3600, 60] : ["d", "h", 86400, 3600];
    const left = Math.floor((s % unit) / rest);
    return `${Math.floor(s / unit)} ${big}${left ? ` ${left} ${small}` : ""}`;
  };
  const said = new Map();
  const tick = () => {
    const now = (Date.now() + offset) / 1000;
    $$("[data-due]").forEach((node) => {
      const left = Number(node.dataset.due) - now;
      const allowed = Math.max(1, Number(node.dataset.due) - Number(node.dataset.from));
      const words = left <= 0 ? `${length(-left)} late`
        : left <= 900 ? `${Math.floor(left / 60)}:${String(Math.floor(left % 60)).padStart(2, "0")}` : length(left);
      const text = $("span", node);
      if (text && text.textContent !== words) text.textContent = words;
      node.classList.toggle("due--late", left <= 0);
      node.classList.toggle("due--soon", left > 0 && left <= 900);
      $(".arc", node)?.setAttribute("stroke-dasharray", `${(37.7 * Math.min(1, Math.max(0, left / allowed))).toFixed(1)} 37.7`);
      announce(node, left);
      if (left <= 0) over(node);
    });
    $$("[data-ago]").forEach((node) => {
      const passed = now - Number(node.dataset.ago);
      if (passed >= 5 && passed < 86400) write(node, `${length(passed)} ago`);
    });
    $$("[data-age]").forEach((node) => write(node, `${length(now - Number(node.dataset.age))} old`));
    // A claim that ran out is nobody's.
    $$(".claim[data-until]").forEach((node) => { if (now >= Number(node.dataset.until)) node.remove(); });
    regroup(now);
  };
  // A row whose time runs short belongs into another group; it moves when the reader wants it to, as new rows come.
  const regroup = (now) => {
    let moved = false;
    $$(".list [data-group] .row").forEach((row) => {
      const due = $(".row__due [data-due]", row);
      if (!due) return;
      const left = Number(due.dataset.due) - now;
      const group = left <= 0 ? "late" : left <= 900 ? "soon" : left <= 86400 ? "day" : "later";
      if (row.dataset.in !== group) { row.dataset.in = group; moved = true; }
    });
    if (moved) arrived();
  };
  const write = (node, words) => { if (node.textContent !== words) node.textContent = words; };
  // The open request's time is over: what was typed stays, and nothing is offered that would be refused.
  const over = (node) => {
    if (node.closest("#peek")) $("#peek .peek__foot")?.remove();
    const words = $("#decide-state [data-over]");
    if (!words || !node.closest("#decide-state")) return;
    words.textContent = words.dataset.over;
    $$("#modes, #act-m, #handing").forEach((one) => one.remove());
    lock();
  };
  // Screen readers hear the open request's deadline at five minutes and at one, not each second.
  const announce = (node, left) => {
    if (!node.closest("#decide-state")) return;
    for (const minutes of [5, 1]) {
      const key = `${node.dataset.due}-${minutes}`;
      if (left <= minutes * 60 && left > minutes * 60 - 5 && !said.has(key)) {
        said.set(key, true);
        tell(`${minutes} minute${minutes > 1 ? "s" : ""} left to decide`);
      }
    }
  };
  const tell = (words) => {
    let region = $("#told");
    if (!region) {
      region = Object.assign(document.createElement("p"), { id: "told", className: "vh" });
      region.setAttribute("role", "status");
      body.append(region);
    }
    region.textContent = words;
  };

  // ---- what is being written ----
  const form = $("[data-draft]");
  // Whoever opened a form writes: letters go to its first field and are no shortcuts, until Escape or until it folds.
  const opened = $("form[data-opened]");
  // Where the first thing at hand is a button, as at the last question, there is nothing to write.
  let writing = opened && !$("button[autofocus]") && ($("[autofocus]") || opened);
  const written = () => writing?.isConnected && !writing.closest("details:not([open])");
  // Unfolded here and now, not by the browser after the click: a key that comes at once finds its field.
  document.addEventListener("click", (event) => {
    const fold = event.target.closest("summary")?.parentElement;
    if (!fold || fold.open || event.defaultPrevented || event.target.closest("summary :is(a, button, input, label, select)")) return;
    if (!$("form", fold)) return;
    event.preventDefault();
    fold.open = true;
    const field = $$("form :is(textarea, select, input:not([type=hidden], [type=checkbox], [type=radio]))", fold).find((one) => one.getClientRects().length);
    if (field) { writing = field; field.focus(); }
  });
  let touched = false;
  ["focusin", "input"].forEach((kind) => document.addEventListener(kind, (event) => { if (event.target.form && event.target.form === (form || opened)) touched = true; }));
  const isTyped = (one) => (/^(f:|raw$)/.test(one.name) ? one.value !== one.defaultValue : one.value.trim() !== "");
  const typedIn = () => (form ? [...form.elements].filter((one) => one.name && one.matches("textarea, input[type=text]")) : []);
  if (form) {
    const key = `draft-${form.dataset.draft}`;
    const kept = JSON.parse(sessionStorage.getItem(key) || "{}");
    typedIn().forEach((one) => { if (kept[one.name] !== undefined && one.value === one.defaultValue) one.value = kept[one.name]; });
    document.addEventListener("input", (event) => {
      if (!typedIn().includes(event.target)) return;
      kept[event.target.name] = event.target.value;
      sessionStorage.setItem(key, JSON.stringify(kept));
    });
  }

  // ---- queue rows: the keyboard's place, the panel that follows it, ticked rows ----
  const rows = () => $$(".list [data-group] .row");
  let place = null;
  let peeking = 0;
  const go = (step) => {
    const all = rows();
    if (!all.length) return;
    const from = all.indexOf(place);
    place = all[Math.min(all.length - 1, Math.max(0, from < 0 ? 0 : from + step))];
    mark();
    $(".row__link", place).focus({ preventScroll: true });
    place.scrollIntoView({ block: "nearest" });
    peek("?chosen=1");
  };
  // What somebody chose to see counts as opened; what the page shows by itself does not.
  const peek = (how = "") => {
    clearTimeout(peeking);
    // The panel itself asks, so that answers come in the order of the questions.
    peeking = setTimeout(() => { if (window.htmx && $("#peek")) window.htmx.ajax("GET", `${place.dataset.href}/peek${how}`, { source: "#peek", target: "#peek", swap: "innerHTML" }); }, 80);
  };
  const mark = () => {
    rows().forEach((row) => {
      row.classList.toggle("is-on", row === place);
      $(".row__link", row).toggleAttribute("aria-current", row === place);
    });
    if ($("#list")) sessionStorage.setItem("queue", JSON.stringify({ home, search: location.search, index: rows().indexOf(place) }));
  };
  // Back from a request: its row, or what stands in its place now; else the first row, which the panel shows already.
  const queue = JSON.parse(sessionStorage.getItem("queue") || "{}");
  if ($("#list")) {
    const all = rows();
    const back = location.hash.startsWith("#rq-");
    place = (back && (all.find((row) => `#${row.id}` === location.hash) || all[Math.min(all.length - 1, Math.max(0, queue.index ?? 0))])) || all[0] || null;
    mark();
    if (back && place) {
      place.scrollIntoView({ block: "center" });
      $("#peek")?.setAttribute("hx-get", `${place.dataset.href}/peek`);
    }
  }
  // The list was read again because too much had happened: place and ticks are what they were.
  const kept = JSON.parse(sessionStorage.getItem("again") || "null");
  sessionStorage.removeItem("again");
  if (kept && $("#list")) {
    const at = document.getElementById(kept.at);
    if (at) { place = at; mark(); place.scrollIntoView({ block: "center" }); $("#peek")?.setAttribute("hx-get", `${place.dataset.href}/peek`); }
    $$(".row__pick input").forEach((box) => { box.checked = kept.ticks.includes(box.value); });
  }
  const again = () => {
    if ($("#list")) sessionStorage.setItem("again", JSON.stringify({ at: place?.id, ticks: $$(".row__pick :checked").map((box) => box.value) }));
    location.reload();
  };
  if (queue.home === home) {
    $$("[data-back]").forEach((one) => { one.href = `${home}queue${queue.search}#rq-${one.dataset.back}`; });
    $$("#handing [name=back]").forEach((one) => { one.value = queue.search; });
  }
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest(".list [data-group] .row");
    if (row && row !== place) { place = row; mark(); peek("?chosen=1"); }
  });

  const bulk = $("[data-bulk]");
  let counted = "";
  const ticks = () => (bulk ? rows().filter((row) => $(".row__pick input", row)?.checked) : []);
  const countPicks = () => {
    if (!bulk) return;
    const [gone, picked] = [true, false].map((is) => ticks().filter((row) => Boolean($(".gone-mark", row)) === is));
    gone.forEach((row) => { $(".row__pick input", row).checked = false; });
    bulk.hidden = picked.length === 0;
    rows().forEach((row) => row.classList.toggle("is-picked", picked.includes(row)));
    const low = picked.every((row) => row.dataset.bulkRisk === "low");
    const one = new Set(picked.map((row) => row.dataset.tool)).size === 1;
    const approve = $("[value=approve]", bulk);
    approve.disabled = !(low && one);
    const key = (letter) => Object.assign(document.createElement("kbd"), { textContent: letter });
    approve.replaceChildren(`Approve ${picked.length}… `, key("a"));
    $("[value=reject]", bulk).replaceChildren(`Reject ${picked.length}… `, key("r"));
    $("b", bulk).textContent = `${picked.length} selected`;
    if (counted === (counted = picked.map((row) => row.id).join())) return;  // what a key has just said of these rows stays
    $(".bulk__why", bulk).textContent = !low ? "Only low risk without a failed check can be approved together"
      : one ? "All low risk, same tool" : "Different tools, approve them one by one";
  };
  document.addEventListener("change", (event) => { if (event.target.closest(".row__pick")) countPicks(); });
  countPicks();
  // With rows ticked a key is about all of them, or about none: never about the one that happens to have the focus.
  const together = (type) => {
    if (!ticks().length) return false;
    const button = $(`[value=${type}]`, bulk);
    if (button.disabled) hint(`Not approved together: ${$(".bulk__why", bulk).textContent}`);
    else { leave(); button.form.requestSubmit(button); }
    return true;
  };
  const hint = (words) => { $(".bulk__why", bulk).textContent = words; tell(words); };
  const untick = () => { ticks().forEach((row) => { $(".row__pick input", row).checked = false; }); countPicks(); };

  // ---- live updates: new rows wait behind a pill, cells change in place, nothing moves under the hand ----
  const buffer = $("#fresh-rows");
  const pill = $("#fresh");
  let hiddenSince = 0;
  document.addEventListener("visibilitychange", () => { if (document.hidden) hiddenSince = Date.now(); });
  const arrived = () => {
    if (!buffer) return;
    $$(".row", buffer).forEach((row) => { if ($(".gone-mark", row)) row.remove(); });
    const waiting = $$(".row", buffer);
    const moving = rows().filter(isElsewhere);
    const nobodyLooks = hiddenSince && document.hidden && Date.now() - hiddenSince > 60000 && !$(".row__pick :checked");
    if ((waiting.length && !rows().length) || (waiting.length + moving.length && nobodyLooks)) { reveal(); return; }
    pill.hidden = waiting.length + moving.length === 0;
    const said = [];
    if (waiting.length) said.push(`${waiting.length} new request${waiting.length === 1 ? "" : "s"}`);
    if (moving.length) said.push(`${moving.length} due sooner`);
    write($("#fresh-words"), said.join(", "));
  };
  const isElsewhere = (row) => !$(".gone-mark", row) && row.dataset.in !== row.closest("[data-group]").dataset.group;
  const reveal = () => {
    const before = place && place.getBoundingClientRect().top;
    const focused = document.activeElement;
    $$(".row", buffer).forEach((row) => row.classList.add("is-new"));
    [...$$(".row", buffer), ...rows().filter(isElsewhere)].forEach((row) => {
      const section = $(`[data-group="${row.dataset.in}"]`);
      const list = $("ol", section);
      const next = $$(".row", list).find((other) => other.dataset.sort > row.dataset.sort);
      list.insertBefore(row, next || null);
    });
    $$(".list [data-group]").forEach((section) => {
      // Decided rows leave now, on the reader's own wish.
      $$(".row", section).forEach((row) => { if ($(".gone-mark", row) && row !== place) row.remove(); });
      const count = $$(".row", section).length;
      section.hidden = count === 0;
      $(".group .num", section).textContent = count;
    });
    // Only now: what stands in a hidden group takes no focus.
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    $("#empty")?.remove();
    pill.hidden = true;
    const list = $("#list");
    if (before !== null && place) list.scrollTop += place.getBoundingClientRect().top - before;
    if (!place && rows().length) { place = rows()[0]; mark(); }
    countPicks();
  };
  pill?.addEventListener("click", reveal);

  const live = $("[data-live]");
  let since = body.dataset.since || "";
  let downAt = 0;
  let poll = 0;
  const state = (name, words) => {
    if (!live) return;
    live.className = `live${name ? ` live--${name}` : ""}`;
    if (live.textContent === words) return;
    live.textContent = words;
    // That a page is live goes without saying, unless it was not.
    if (name || live.dataset.lost) tell(words);
    live.dataset.lost = name;
  };
  if (window.htmx) {
    // Called anew for each try, so a connection that comes back asks for what it missed. The queue says what it is
    // narrowed down to.
    window.htmx.createWebSocket = (url) => {
      const query = new URLSearchParams($("#list") ? location.search : "");
      query.set("since", since);
      if ($("#list")?.dataset.until) query.set("until", $("#list").dataset.until);
      return new WebSocket(`${url}?${query}`);
    };
    window.htmx.config.wsReconnectDelay = (tries) => [1, 2, 4, 8, 15][Math.min(tries, 4)] * 1000 * (0.75 + Math.random() / 2);
    // Of what the server tells, only what this page shows is swapped in; a row that stands here already is not new.
    window.htmx.defineExtension("known", {
      transformResponse: (text) => {
        const told = document.createElement("template");
        told.innerHTML = text;
        [...told.content.children].forEach((node) => {
          const shown = document.getElementById(node.id);
          if (node.id && (!shown || (node.dataset.same && node.dataset.same === shown.dataset.same))) node.remove();
        });
        told.content.querySelectorAll("#fresh-rows > .row").forEach((row) => { if (document.getElementById(row.id)) row.remove(); });
        return told.innerHTML;
      },
    });
    body.addEventListener("htmx:wsOpen", () => { downAt = 0; clearInterval(poll); poll = 0; state("", "Live"); });
    body.addEventListener("htmx:wsClose", () => {
      downAt = downAt || Date.now();
      setTimeout(() => { if (downAt && Date.now() - downAt >= 3000) state(navigator.onLine ? "wait" : "off", navigator.onLine ? "Reconnecting" : "Offline"); }, 3100);
      setTimeout(() => { if (downAt && !poll) { state("wait", "Checking every 10 s"); poll = setInterval(refresh, 10000); } }, 30000);
    });
    // A page that is told to look again says what it shows, so that the answer can say what changed.
    body.addEventListener("htmx:configRequest", (event) => {
      if (event.target.id !== "live-look") return;
      Object.assign(event.detail.parameters, $("#state")?.dataset, form
        ? { version: form.dataset.version || "", open: "1", mode: form.elements.type?.value || "", answer: $("#answer")?.dataset.answer || "" }
        : $("#decide") && { reads: "1" });
      if (typedIn().some(isTyped)) event.detail.parameters.typed = "1";
    });
    // What the saved views count may have changed with any row; asked once in two seconds at the most.
    let recount = 0;
    const countViews = () => {
      if (recount || !$("#list") || !$(".views .num")) return;
      recount = setTimeout(() => { recount = 0; window.htmx.ajax("GET", `${home}views/counts`, { source: "#list", swap: "none" }); }, 2000);
    };
    const heard = () => {
      const mark = $("#live-since");
      if (mark?.dataset.since) since = mark.dataset.since;
      const count = $("#nav-count");
      if (count && mark?.dataset.pending) count.firstChild.textContent = mark.dataset.pending;
      if (count && $("#top-count")) $("#top-count").textContent = count.firstChild.textContent;
      if (mark?.dataset.pending && $("#list")) document.title = document.title.replace(/^(\(\S+\) )?/, mark.dataset.pending === "0" ? "" : `(${mark.dataset.pending}) `);
      if (mark?.hasAttribute("data-reload")) again();
      if (mark?.hasAttribute("data-locked")) lock();
      arrived();
      countPicks();
      countViews();
      tick();
    };
    // One question at a time: what the page is told meanwhile, however often, is one more question after its answer.
    let isAsking = false;
    const look = () => {
      const path = $("#live-poke")?.dataset.path;
      if (!path || isAsking) return;
      isAsking = true;
      delete $("#live-poke").dataset.path;
      const done = () => { isAsking = false; heard(); look(); };
      window.htmx.ajax("GET", path, { source: "#live-look", swap: "none" }).then(done, done);
    };
    body.addEventListener("htmx:wsAfterMessage", () => { heard(); look(); });
    // What is being typed into, or has focus, is never replaced.
    body.addEventListener("htmx:oobBeforeSwap", (event) => {
      const target = event.detail.target;
      const isAt = target?.contains(document.activeElement) && document.activeElement !== body;
      if (isAt || (target && $$("textarea, input:not([type=hidden])", target).some((one) => one.value !== one.defaultValue))) event.preventDefault();
    });
    // The panel follows its row: it shows what somebody else did to it.
    body.addEventListener("htmx:oobAfterSwap", (event) => { if (place && event.detail.target?.id === `${place.id}-eyes`) peek(); });
  }
  // Without the socket the page asks for itself every ten seconds, but never over something that is being typed.
  const refresh = () => { if (!form && !typing(document.activeElement)) again(); };
  // The request was decided or changed elsewhere: the form is locked, what was typed stays readable.
  const lock = () => {
    if (!form) return;
    [...form.elements].forEach((one) => { if (one.matches("button")) one.disabled = true; });
    form.dataset.sent = "1";
    writing = null;
  };
  setInterval(tick, 1000);
  tick();

  // ---- keys ----
  const typing = (target) => target.closest("input:not([type=checkbox],[type=radio]), textarea, select, [contenteditable]");
  // Once a key or a click leads away, the keys that follow were meant for the page that comes.
  let leaving = -Infinity;
  const isLeaving = () => performance.now() - leaving < 5000;
  const leave = () => { leaving = performance.now(); };
  window.addEventListener("beforeunload", leave);
  const visit = (address) => { leave(); location.href = address; };
  let lead = -Infinity;
  const queueKeys = {
    j: () => go(1),
    k: () => go(-1),
    x: () => place && $(".row__pick input", place)?.click(),
    n: () => pill && !pill.hidden && pill.click(),
    a: () => together("approve") || answer("approve"),
    e: () => alone() && answer("edit"),
    r: () => together("reject") || answer("reject"),
    s: () => alone() && answer("respond"),
    q: () => alone() && place && visit(`${place.dataset.href}?mode=ask`),
    c: () => alone() && claim(),
    w: () => alone() && place && visit(place.dataset.run),
  };
  // A run's timeline, and lists that are no queue: the keyboard goes from line to line, Enter opens the one it is at.
  const lines = () => $$("#timeline .cpt__a, .brief > li > a, [data-lines] td:first-child > a:first-child");
  const walk = (step) => {
    const all = lines();
    const at = all.indexOf(document.activeElement);
    const from = at < 0 ? all.findIndex((one) => one.hasAttribute("aria-current")) : at;
    const next = all[Math.min(all.length - 1, Math.max(0, from + step))];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  };
  const lineKeys = { j: () => walk(1), k: () => walk(-1) };
  // Where no link says so itself, the trail above the page does.
  const up = () => $("[data-key=u]") || $$(".top .crumb a").pop();
  const alone = () => {
    if (ticks().length) hint(`That key is for one request, and ${ticks().length} are ticked. Esc unticks.`);
    return !ticks().length;
  };
  const answer = (mode) => {
    if (!place) return;
    if ($(".row__pick input", place)) visit(`${place.dataset.href}?mode=${mode}`);
    else tell("You cannot decide on this request");
  };
  // Claims the row, or gives it back; the answer is the row's cells.
  const claim = () => {
    if (!place || !window.htmx) return;
    const row = place;
    if (!$(".row__pick input", row)) { tell("You cannot decide on this request"); return; }
    const values = { csrfmiddlewaretoken: $("[name=csrfmiddlewaretoken]").value };
    if ($("[data-mine]", row)) values.release = "1";
    window.htmx.ajax("POST", `${row.dataset.href}/claim`, { source: body, swap: "none", values })
      .then(() => tell($(".claim", row) ? `Claimed by ${$(".claim > span:last-child", row).textContent}` : "Not claimed"));
  };
  // A form's buttons may stand outside of it, as in a phone's bar; what nobody sees is not pressed.
  const seen = (target) => [...target.elements].filter((one) => one.getClientRects().length);
  document.addEventListener("keydown", (event) => {
    const key = event.key;
    if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k") { event.preventDefault(); open("find"); return; }
    if ((event.ctrlKey || event.metaKey) && key === "Enter" && !$("dialog[open]")) {
      // Only what somebody is at: a page that was just opened is read first. A key that is held down counts once.
      // On a link they are the browser's own, which opens it beside.
      if (event.target.closest("a[href]")) return;
      const target = event.target.form || (touched ? form || opened : null);
      const button = target && ($("[data-send]", target) || (target.method === "post" && seen(target).find((one) => one.matches("[type=submit]:not([name])"))));
      if (button) event.preventDefault();
      if (button && seen(target).includes(button) && !event.repeat && !isLeaving()) button.disabled ? target.reportValidity() : target.requestSubmit(button);
      return;
    }
    if (isLeaving() && key !== "Escape") { if (key === "Enter") event.preventDefault(); return; }
    if (key === "Escape") {
      leaving = -Infinity;
      writing = null;
      const drops = $$("details.drop[open]");
      drops.forEach((one) => { one.open = false; $("summary", one).focus(); });
      if (typing(event.target)) event.target.blur();
      else if (!drops.length && !$("dialog[open]")) untick();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]") || typing(event.target)) return;
    if (key === "Enter" && place && !event.target.closest("a, button, summary, label, input")) { event.preventDefault(); visit(place.dataset.href); return; }
    if (body.dataset.keys === "off") return;
    if (written() && key.length === 1 && key !== " ") { writing.focus(); return; }
    const now = performance.now();
    const jump = now - lead < 2000 && $(`.side [data-jump="${CSS.escape(key)}"]`);
    if (jump) { event.preventDefault(); visit(jump.href); return; }
    if (key === "g") { lead = now; return; }
    let hit = true;
    if (key === "?") open("keys");
    else if (key === "/") { const box = $("#q"); box && box.offsetParent ? box.focus() : open("find"); }
    else if (key === "m" && $("#cm")) $("#cm").focus();
    else if ($("#list") && queueKeys[key]) queueKeys[key]();
    else if (lineKeys[key] && lines().length && !$(`[data-key="${key}"]`)) lineKeys[key]();
    else if (key === "u" && up()) visit(up().href);
    else if (/^[a-z0-9]$/.test(key) && $(`[data-key-focus="${key}"]`)) $(`[data-key-focus="${key}"]`).focus();
    else if (/^[a-z0-9X]$/.test(key) && $(`[data-key-click="${key}"]`)) $(`[data-key-click="${key}"]`).click();
    else if (/^[a-z]$/.test(key) && $(`[data-key-form="${key}"]`)) { leave(); $(`[data-key-form="${key}"]`).requestSubmit(); }
    else if (/^[a-z]$/.test(key) && $(`[data-key="${key}"]`)) visit($(`[data-key="${key}"]`).href);
    else hit = false;
    if (hit) event.preventDefault();
  });
  // A choice that asks for words leads to them.
  document.addEventListener("change", (event) => { if (event.target.dataset.then) document.getElementById(event.target.dataset.then)?.focus(); });
  document.addEventListener("click", (event) => {
    $$("details.drop[open]").forEach((one) => { if (!one.contains(event.target)) one.open = false; });
    const copy = event.target.closest("[data-copy]");
    if (!copy) return;
    // Without TLS a page has no clipboard, and a browser may refuse: then what is to be copied is marked.
    const mark = () => { getSelection().selectAllChildren(copy.previousElementSibling); tell("Marked. Copy it with Ctrl+C"); };
    if (navigator.clipboard) navigator.clipboard.writeText(copy.dataset.copy).then(() => tell("Copied"), mark);
    else mark();
  });
})();
