// Later looks: what is ticked stays ticked while one moves through the list, and the keys are about all of it then. The
// page works without this file: the boxes and their buttons are a form.
(() => {
  "use strict";
  const form = document.querySelector("[data-ticks]");
  if (!form) return;
  const boxes = [...form.querySelectorAll("[name=pick]")];
  const every = (selector) => form.querySelectorAll(selector);
  const all = form.querySelector("[data-tick-all]");
  const list = `${document.body.dataset.home}?${form.dataset.ticks}`;
  const ticked = () => boxes.filter((box) => box.checked);

  const keep = () => {
    const picks = ticked().map((box) => box.value);
    if (picks.length) sessionStorage.setItem("ticks", JSON.stringify({ list, picks }));
    else sessionStorage.removeItem("ticks");
  };
  // With some ticked the keys lead to what is about all of them; without, to the verdict on the open one.
  const count = () => {
    const many = ticked().length;
    form.querySelector("[data-ticked]").textContent = `${many} ticked:`;
    every("[data-all]").forEach((one) => { one.textContent = many ? `${one.dataset.all}: ${many}` : one.dataset.all; });
    every("[data-ticked-key]").forEach((one) => {
      const how = one.type === "radio" ? "data-key-click" : "data-key-focus";
      if (many) one.setAttribute(how, one.dataset.tickedKey);
      else one.removeAttribute(how);
      if (!many && one.type === "radio") one.checked = false;
    });
    all.checked = many === boxes.length;
    all.indeterminate = many > 0 && !all.checked;
  };
  const changed = () => { keep(); count(); };

  const kept = JSON.parse(sessionStorage.getItem("ticks") || "null");
  if (kept?.list === list) boxes.forEach((box) => { box.checked = kept.picks.includes(box.value); });
  all.closest("label").hidden = false;
  all.setAttribute("data-key-click", "X");
  changed();
  form.addEventListener("change", (event) => {
    if (event.target === all) boxes.forEach((box) => { box.checked = all.checked; });
    if (event.target === all || event.target.name === "pick") changed();
  });
  form.addEventListener("submit", () => sessionStorage.removeItem("ticks"));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]") || event.target.matches("input[name=note]")) return;
    boxes.forEach((box) => { box.checked = false; });
    changed();
  });
})();
