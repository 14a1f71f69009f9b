"use strict";
(() => {
  const form = document.querySelector("form");
  const status = document.querySelector("[role=status]");
  const laws = [...document.querySelectorAll("#laws tr[data-v]")];
  const groups = [...document.querySelectorAll("#laws tbody")];
  const fails = [...document.querySelectorAll(".fail")];
  const named = [...document.querySelectorAll("[data-t]")];
  const empty = document.querySelector("#none");
  form.hidden = false;

  const value = (name) => (form.elements[name] ? form.elements[name].value : "");

  function apply() {
    const text = value("q").trim().toLowerCase();
    const level = value("level"), verdict = value("verdict"), group = value("group"), target = value("target");
    const column = target === "" ? -1 : Number(target);
    let shown = 0;
    for (const row of laws) {
      const seen = row.dataset.v.split(" ");
      const verdicts = column < 0 ? seen : [seen[column]];
      row.hidden = !(
        (!text || row.textContent.toLowerCase().includes(text)) &&
        (!level || row.dataset.l === level) &&
        (!group || row.dataset.g === group) &&
        (!verdict || verdicts.some((found) => found.includes(verdict)))
      );
      shown += row.hidden ? 0 : 1;
    }
    for (const body of groups) {
      body.hidden = ![...body.querySelectorAll("tr[data-v]")].some((row) => !row.hidden);
    }
    let failing = 0;
    for (const item of fails) {
      item.hidden = !(
        (!text || item.textContent.toLowerCase().includes(text)) &&
        (!level || item.dataset.l === level) &&
        (!group || item.dataset.g === group) &&
        (!verdict || item.dataset.v.includes(verdict)) &&
        (column < 0 || item.dataset.t === target)
      );
      failing += item.hidden ? 0 : 1;
    }
    for (const item of named) {
      if (!item.classList.contains("fail")) item.hidden = column >= 0 && item.dataset.t !== target;
    }
    if (empty) empty.hidden = failing > 0 || !fails.length;
    status.textContent = `${shown} of ${laws.length} laws` + (fails.length ? `, ${failing} of ${fails.length} failures` : "");
    const query = new URLSearchParams([...new FormData(form)].filter((pair) => pair[1]));
    history.replaceState(null, "", location.hash || (query.size ? "#?" + query : " "));
  }

  function open() {
    const wanted = location.hash.slice(1);
    if (wanted.startsWith("?")) {
      for (const [name, text] of new URLSearchParams(wanted.slice(1))) {
        if (form.elements[name]) form.elements[name].value = text;
      }
      location.hash = "";
      return;
    }
    const found = wanted && document.getElementById(wanted);
    if (found && found.tagName === "DETAILS") {
      if (found.hidden) { form.reset(); apply(); }
      found.open = true;
      found.scrollIntoView();
      found.querySelector("summary").focus();
    }
  }

  form.addEventListener("input", () => { if (location.hash) history.replaceState(null, "", " "); apply(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  document.querySelector("#all").addEventListener("click", (event) => {
    const close = event.target.getAttribute("aria-pressed") === "true";
    event.target.setAttribute("aria-pressed", String(!close));
    for (const item of fails) item.open = !close && !item.hidden;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) {
      event.preventDefault();
      form.elements.q.focus();
    }
  });
  for (const pre of document.querySelectorAll("pre.cmd")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(pre);
        button.textContent = "selected";
      }
    });
    pre.before(button);
  }
  window.addEventListener("hashchange", open);
  open();
  apply();
})();
