// Keys of the explorer: / goes to the search field, j and k move through the runs, Enter opens one, n and p turn the page.
"use strict";
(() => {
  const links = () => [...document.querySelectorAll("table.runs tbody td:nth-child(3) a")];
  let at = -1;
  addEventListener("keydown", (key) => {
    if (key.ctrlKey || key.metaKey || key.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName || "")) return;
    const step = { j: 1, k: -1 }[key.key];
    if (key.key === "/") { key.preventDefault(); document.getElementById("search")?.focus(); }
    else if (step) { const all = links(); at = Math.max(0, Math.min(all.length - 1, at + step)); all[at]?.focus(); }
    else if (key.key === "n") document.querySelector('.pager a[rel="next"]')?.click();
    else if (key.key === "p") document.querySelector('.pager a[rel="prev"]')?.click();
  });
  // A filter that is chosen by a click needs no further click.
  document.getElementById("filter")?.addEventListener("change", (event) => { if (event.target.type === "checkbox") event.currentTarget.requestSubmit(); });
})();
