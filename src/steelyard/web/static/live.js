// A page about something that runs: its part #live is read again every few seconds, until it says that nothing runs.
"use strict";
(() => {
  const again = () => {
    const part = document.getElementById("live");
    if (!part || part.dataset.running !== "yes") return;
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";  // parsed without running anything
    request.onload = () => {
      const fresh = request.response?.getElementById("live");
      if (fresh) part.replaceWith(document.adoptNode(fresh));
      setTimeout(again, 3000);
    };
    request.onerror = () => setTimeout(again, 10000);
    request.send();
  };
  setTimeout(again, 3000);
})();
