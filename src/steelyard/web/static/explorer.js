// A filter that is chosen by a click needs no further click.
"use strict";
document.getElementById("filter")?.addEventListener("change", (event) => { if (event.target.type === "checkbox") event.currentTarget.requestSubmit(); });
