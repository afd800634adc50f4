// A page about something that runs: its parts with data-running="yes" are read again every few seconds, until none says so.
"use strict";
(() => {
  const running = () => [...document.querySelectorAll('[data-running="yes"]')];
  const named = (part) => new Map([...part.querySelectorAll("details")].map((one) => [one.querySelector("summary")?.textContent, one]));
  const replace = (part, fresh) => {
    const before = named(part);  // what a reader has opened stays open
    for (const [name, one] of named(fresh)) if (before.has(name)) one.open = before.get(name).open;
    if (!part.isEqualNode(fresh)) part.replaceWith(document.adoptNode(fresh));
  };
  const again = () => {
    if (!running().length) return;
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";  // parsed without running anything
    request.onload = () => {
      for (const part of running()) {
        const fresh = request.response?.getElementById(part.id);
        if (fresh) replace(part, fresh);
      }
      setTimeout(again, 3000);
    };
    request.onerror = () => setTimeout(again, 10000);
    request.send();
  };
  setTimeout(again, 3000);
})();
