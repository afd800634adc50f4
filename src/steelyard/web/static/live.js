// A page about something that runs: its parts #live and #numbers are read again every few seconds, until both say that nothing runs.
"use strict";
(() => {
  const running = () => ["live", "numbers"].map((name) => document.getElementById(name)).filter((part) => part?.dataset.running === "yes");
  const again = () => {
    if (!running().length) return;
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";  // parsed without running anything
    request.onload = () => {
      for (const part of running()) {
        const fresh = request.response?.getElementById(part.id);
        if (fresh) part.replaceWith(document.adoptNode(fresh));
      }
      setTimeout(again, 3000);
    };
    request.onerror = () => setTimeout(again, 10000);
    request.send();
  };
  setTimeout(again, 3000);
})();
