// The timeline of a run as a virtual list: only the rows in view are in the page; others are fetched as the reader scrolls.
// Texts are set as textContent; nothing of a record is ever parsed as HTML.
"use strict";
(() => {
  const box = document.getElementById("timeline");
  if (!box) return;
  const ROW = 28, BLOCK = 200, MARGIN = 10, KEPT = 40, TALLEST = 8_000_000;
  const form = document.getElementById("filter");
  const matches = document.getElementById("matches");
  const detail = document.getElementById("event");
  const list = document.createElement("ol");
  const spacer = document.createElement("div");
  const blocks = new Map();  // number of a block -> its rows, or a promise of them
  let total = Number(box.dataset.total), filter = new URLSearchParams(), chosen = 0, version = 0, frame = 0;

  const height = () => Math.min(total * ROW, TALLEST);
  const rowAt = () => {
    const range = height() - box.clientHeight;
    if (height() === total * ROW || range <= 0) return Math.floor(box.scrollTop / ROW);
    return Math.floor((box.scrollTop / range) * Math.max(0, total - box.clientHeight / ROW));
  };
  const scrollToRow = (row) => {
    const range = height() - box.clientHeight;
    box.scrollTop = height() === total * ROW ? row * ROW : (row / Math.max(1, total - box.clientHeight / ROW)) * range;
    draw();
  };

  const readFilter = () => {
    filter = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value && name !== "at") filter.append(name, value);
  };
  const ask = async (parameters) => {
    const asked = new URLSearchParams(filter);
    for (const [name, value] of Object.entries(parameters)) asked.set(name, value);
    const answer = await fetch(`${box.dataset.source}?${asked}`, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.json();
  };
  const load = (number) => {
    if (blocks.has(number)) return;
    const mine = version;
    blocks.set(number, null);
    ask({ from: number * BLOCK, count: BLOCK }).then((answer) => {
      if (mine !== version) return;
      blocks.set(number, answer.rows);
      if (answer.shown !== total) { total = answer.shown; spacer.style.height = `${height()}px`; }
      while (blocks.size > KEPT) blocks.delete(blocks.keys().next().value);
      draw();
    }).catch(() => { blocks.delete(number); });
  };

  const cell = (name, text) => {
    const span = document.createElement("span");
    span.className = name;
    span.textContent = text;
    return span;
  };
  const element = (row) => {
    const [seq, seconds, kind, type, , words] = row;
    const item = document.createElement("li"), link = document.createElement("a"), dot = document.createElement("span");
    dot.className = `dot ${kind}`;
    const named = cell("type", "");
    named.append(dot, type);
    link.href = `${box.dataset.event}/${seq}`;
    link.append(cell("seq", seq), cell("time", `${seconds.toFixed(3)} s`), named, cell("words", words));
    if (seq === chosen) item.className = "chosen";
    item.dataset.seq = seq;
    item.append(link);
    return item;
  };
  const draw = () => {
    frame = 0;
    const first = Math.max(0, rowAt() - MARGIN), last = Math.min(total, rowAt() + Math.ceil(box.clientHeight / ROW) + MARGIN);
    const focused = document.activeElement && list.contains(document.activeElement) ? document.activeElement.parentElement.dataset.seq : "";
    const items = [];
    for (let at = first; at < last; at++) {
      const block = blocks.get(Math.floor(at / BLOCK));
      if (block === undefined) load(Math.floor(at / BLOCK));
      const row = block && block[at % BLOCK];
      if (row) items.push(element(row));
      else { const item = document.createElement("li"), wait = document.createElement("a"); wait.textContent = "…"; item.append(wait); items.push(item); }
    }
    list.replaceChildren(...items);
    list.style.top = `${height() === total * ROW ? first * ROW : Math.max(0, box.scrollTop - (rowAt() - first) * ROW)}px`;
    if (focused) list.querySelector(`[data-seq="${focused}"] a`)?.focus({ preventScroll: true });
  };
  const show = async (seq) => {
    chosen = seq;
    draw();
    const answer = await fetch(`${box.dataset.event}/${seq}.json`, { credentials: "same-origin" });
    if (!answer.ok) return;
    const event = await answer.json();
    const title = document.createElement("h3"), raw = document.createElement("pre"), page = document.createElement("a");
    title.textContent = `Event ${event.seq}: ${event.type} `;
    page.href = `${box.dataset.event}/${seq}`;
    page.textContent = "own page";
    title.append(page);
    raw.textContent = event.raw;
    raw.tabIndex = 0;
    detail.replaceChildren(title, raw);
  };
  const restart = async (seq) => {
    version++;
    blocks.clear();
    const answer = await ask({ from: 0, count: BLOCK, ...(seq ? { seq } : {}) });
    total = answer.shown;
    blocks.set(0, answer.rows);
    spacer.style.height = `${height()}px`;
    matches.textContent = total === answer.total ? "" : `${total.toLocaleString("en")} of ${answer.total.toLocaleString("en")} events match.`;
    scrollToRow(seq ? answer.at : 0);
    if (seq) show(seq);
  };

  box.classList.add("virtual");
  spacer.style.height = `${height()}px`;
  const first = Number(box.dataset.first || 1) - 1;
  box.replaceChildren(spacer, list);
  document.getElementById("pager")?.remove();
  readFilter();
  scrollToRow(first);
  box.addEventListener("scroll", () => { if (!frame) frame = requestAnimationFrame(draw); }, { passive: true });
  addEventListener("resize", draw);
  list.addEventListener("click", (click) => {
    const item = click.target.closest("li[data-seq]");
    if (!item || click.ctrlKey || click.metaKey || click.shiftKey || click.button) return;
    click.preventDefault();
    show(Number(item.dataset.seq));
  });
  box.addEventListener("keydown", (key) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[key.key];
    if (!step || !chosen) { if (step) { key.preventDefault(); const row = list.querySelector("li[data-seq]"); if (row) show(Number(row.dataset.seq)); } return; }
    key.preventDefault();
    const next = list.querySelector(`[data-seq="${chosen}"]`)?.[step > 0 ? "nextElementSibling" : "previousElementSibling"];
    if (next?.dataset.seq) { show(Number(next.dataset.seq)); if (next.offsetTop + list.offsetTop > box.scrollTop + box.clientHeight - 2 * ROW || next.offsetTop + list.offsetTop < box.scrollTop + ROW) box.scrollTop += step * ROW; }
  });
  let waiting = 0;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(() => { readFilter(); restart(); }, 250); };
  form.addEventListener("input", (event) => { if (event.target.name !== "at") later(); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    readFilter();
    restart(Number(document.getElementById("jump").value) || 0);
  });

  const chain = document.getElementById("chain");
  fetch(chain.dataset.source, { credentials: "same-origin" }).then((answer) => answer.json()).then((status) => {
    const mark = document.createElement("span");
    mark.className = `badge ${status.holds ? "good" : "bad"}`;
    mark.textContent = status.holds ? "✓ holds" : "✗ broken";
    chain.replaceChildren(mark, ` ${status.words}`);
  }).catch(() => {});
})();
