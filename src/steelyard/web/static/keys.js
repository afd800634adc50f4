// Keys of every page; the list that ? opens is in the footer.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("table.runs tbody tr")];
  const click = (selector) => document.querySelector(selector)?.click();
  let at = -1;
  const move = (step) => {
    const all = rows();
    at = Math.max(0, Math.min(all.length - 1, at + step));
    all[at]?.querySelector('a[href^="/run/"]')?.focus();
  };
  const turn = (step) => {
    const tabs = [...document.querySelectorAll("nav.tabs a")];
    tabs[tabs.findIndex((tab) => tab.hasAttribute("aria-current")) + step]?.click();
  };
  const help = () => {
    const keys = document.getElementById("keys");
    keys.open = !keys.open;
    if (keys.open) { keys.scrollIntoView(); keys.querySelector("summary").focus(); }
  };
  const actions = {
    "?": help,
    "/": () => (document.getElementById("search") || document.querySelector('input[type="search"]'))?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => click("table.runs tr:focus-within input[name=run]"),
    n: () => click('.pager a[rel="next"]'),
    p: () => click('.pager a[rel="prev"]'),
    h: () => turn(-1),
    l: () => turn(1),
  };
  addEventListener("keydown", (key) => {
    const field = document.activeElement;
    if (key.defaultPrevented || key.ctrlKey || key.metaKey || key.altKey) return;
    if (/^(TEXTAREA|SELECT)$/.test(field?.tagName || "") || (field?.tagName === "INPUT" && field.type !== "checkbox")) return;
    const action = Object.hasOwn(actions, key.key) && actions[key.key];
    if (action) { key.preventDefault(); action(); }
  });
})();
