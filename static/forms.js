// What a form needs before it is sent, and what the page does for old browsers. Every page works without this file.
(() => {
  "use strict";
  const $ = (selector) => document.querySelector(selector);
  const $$ = (selector) => [...document.querySelectorAll(selector)];

  // The browser's zone, for the server to show times in (accounts/zone.py); what somebody chose there counts more.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !document.cookie.split("; ").includes(`zone=${zone}`)) {
    document.cookie = `zone=${zone}; path=/; max-age=31536000; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
  }

  // Buttons with commandfor work without script where the browser knows them; this is the fallback.
  if (!("commandForElement" in HTMLButtonElement.prototype)) {
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[commandfor]");
      const dialog = button && document.getElementById(button.getAttribute("commandfor"));
      if (dialog) button.getAttribute("command") === "close" ? dialog.close() : dialog.showModal();
    });
  }

  // One click is one decision.
  document.addEventListener("submit", (event) => {
    const sent = event.target;
    if (!sent.matches("[data-once]")) return;
    if (sent.dataset.sent) { event.preventDefault(); return; }
    sent.dataset.sent = "1";
    const button = event.submitter;
    if (button) {
      button.classList.add("is-busy");
      button.setAttribute("aria-busy", "true");
    }
    if (sent.dataset.draft) sessionStorage.setItem("sent", sent.dataset.draft);
  });
  // A draft goes when its answer was taken, which leads to the request's own address; an error, a conflict or the one
  // more step before an irreversible call answers at another one and keeps it, and so does a walk back.
  const sentDraft = sessionStorage.getItem("sent");
  sessionStorage.removeItem("sent");
  if (sentDraft && location.pathname === `${document.body.dataset.home}requests/${sentDraft.split("-")[0]}` && performance.getEntriesByType("navigation")[0]?.type === "navigate") {
    sessionStorage.removeItem(`draft-${sentDraft}`);
  }
  // A page that comes back from the history may be sent again: the server knows the key and answers the same.
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  // A draft that only the page holds: leaving it by accident asks first, sending it does not.
  const guarded = $("form[data-guard]");
  if (guarded) {
    let dirty = "dirty" in guarded.dataset;
    guarded.addEventListener("input", () => { dirty = true; });
    guarded.addEventListener("submit", () => { dirty = false; });
    window.addEventListener("beforeunload", (event) => { if (dirty) event.preventDefault(); });
  }

  // The filters of a list apply as they are ticked, but not while a menu of them is open.
  $$("form[data-auto]").forEach((one) => one.addEventListener("change", (event) => {
    if (!event.target.closest(".drop__panel")) one.requestSubmit();
  }));
  // An address names what was chosen, and nothing else: no empty field, and no export's number where none was asked for.
  $$("form[data-clean]").forEach((one) => {
    let begins = false;
    one.addEventListener("submit", (event) => { begins = Boolean(event.submitter?.hasAttribute("formaction")); });
    one.addEventListener("formdata", (event) => {
      for (const name of new Set(event.formData.keys())) {
        const given = event.formData.getAll(name).filter((value) => value !== "");
        event.formData.delete(name);
        if (name !== "export" || begins) given.forEach((value) => event.formData.append(name, value));
      }
    });
  });
  // The first that is seen: a phone has some buttons elsewhere than a desk.
  $$("[data-focus]").find((one) => one.getClientRects().length)?.focus();

  // Approving waits until every cut value and every fold was opened; the box that says so ticks itself then.
  const cuts = $$("details[data-cut]");
  const seen = $("[data-seen]");
  const gate = () => { const button = $("[data-needs-seen]"); if (button && seen) button.disabled = !seen.checked; };
  if (seen) {
    if (cuts.length && cuts.length === $$("[data-cut]").length) {
      cuts.forEach((one) => one.addEventListener("toggle", () => {
        if (one.open) one.dataset.read = "1";
        if (cuts.every((each) => each.dataset.read)) { seen.checked = true; gate(); }
      }));
    }
    seen.addEventListener("change", gate);
    gate();
  }
  // The last step of what cannot be repeated waits for its word.
  const word = $("[data-word]");
  if (word) {
    const buttons = [...word.form.elements].filter((one) => one.matches(".btn--ok"));
    const compare = () => buttons.forEach((one) => { one.disabled = word.value.trim() !== word.dataset.word; });
    word.addEventListener("input", compare);
    compare();
  }
})();
