"""The look of a page of words, and the script that shows the chosen one beside the text."""

from __future__ import annotations

LOOK = """
:root { --worst: #c24e00; --noise: #5b6675; --twin: #00724f; --mark: rgba(0,114,178,.14); }
@media (prefers-color-scheme: dark) { :root { --worst: #ff9a52; --noise: #a3adba; --twin: #4fc39b; --mark: rgba(108,184,230,.2); } }
main { max-width: 1200px; }
.lead { font-size: 1.1rem; max-width: none; overflow-wrap: anywhere; } .lead b { color: var(--ink); }
.soft { color: var(--soft); font-size: .92rem; }
.stage { display: grid; gap: 1.2rem; margin-top: 1.6rem; align-items: start; }
.text, #chosen { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.3rem; min-width: 0; }
.flow { margin: 0; max-width: none; font-size: 1.15rem; line-height: 2; white-space: pre-wrap; overflow-wrap: anywhere;
  unicode-bidi: plaintext; }
.w { color: inherit; text-decoration: none; border-radius: 4px; padding: .14em .1em; cursor: pointer; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.w:hover { outline: 1.5px solid var(--soft); } .w:focus-visible { outline: 2.5px solid var(--accent); outline-offset: 1px; }
.w[aria-pressed="true"] { outline: 2px solid var(--ink); }
.scale { margin: 1rem 0 0; color: var(--soft); font-size: .88rem; }
.scale i { display: inline-block; width: 10rem; max-width: 40%; height: .8em; margin: 0 .5em; border-radius: 3px; vertical-align: -.05em;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
#chosen h2 { margin: 0 0 .6rem; overflow-wrap: anywhere; }
.list { border: 1px solid var(--line); border-radius: 12px; background: var(--card); overflow: hidden; }
.row { display: grid; gap: .9rem; align-items: center; padding: .38rem 1.1rem; font-size: .94rem;
  grid-template-columns: 2.6rem minmax(6rem, 15rem) 5.6rem minmax(3rem, 1fr) 5rem 4.8rem 100px; }
.heads { color: var(--soft); font-size: .85rem; font-weight: 600; border-bottom: 1px solid var(--line); }
.heads span:nth-child(1), .heads span:nth-child(3), .heads span:nth-child(5), .heads span:nth-child(6), .no, .num { text-align: right; }
.no { color: var(--soft); } .no, .num { font-variant-numeric: tabular-nums; white-space: nowrap; }
.name { overflow-wrap: anywhere; min-width: 0; }
.bar span { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
details.word + details.word { border-top: 1px solid var(--line); }
summary.row { cursor: pointer; list-style: none; } summary.row::-webkit-details-marker { display: none; }
summary.row:hover, details.word[open] > summary { background: var(--mark); }
summary:focus-visible { outline: 2.5px solid var(--accent); outline-offset: -3px; }
details.word:has(:target) { box-shadow: inset 3px 0 var(--accent); }
.card { display: grid; grid-template-columns: minmax(0, 440px) minmax(0, 1fr); gap: .6rem 1.8rem; padding: 1rem 1.1rem 1.3rem;
  align-items: center; }
.card > .layers, .card > .swaps { grid-column: 1 / -1; }
.card dt { margin: 0; } .card dl { margin: 0; grid-template-columns: max-content 1fr; font-variant-numeric: tabular-nums; }
#chosen .card { padding: 0; } .long #chosen .card { grid-template-columns: minmax(0, 1fr); }
.chart { width: 100%; height: auto; max-width: 440px; } .chart text { fill: var(--soft); font: 12px system-ui, sans-serif; }
.chart .grid { stroke: var(--line); } .chart .searched { fill: var(--mark); }
.chart polyline, .chart path { fill: none; stroke-width: 2; } .chart .grid { stroke-width: 1; }
.chart .worst { stroke: var(--worst); } .chart circle.worst { fill: var(--worst); stroke: none; }
.chart .noise { stroke: var(--noise); stroke-dasharray: 6 4; } .chart .twin { stroke: var(--twin); stroke-dasharray: 2 3; }
.spark { color: var(--soft); justify-self: end; max-width: 100%; }
.layers table { font-size: .82rem; font-variant-numeric: tabular-nums; width: max-content; min-width: 100%; }
.layers tbody tr:last-child th { border-bottom: 0; } .layers th, .layers td { padding: .3rem .55rem; text-align: right; }
.layers th[scope="row"] { text-align: left; position: sticky; left: 0; background: var(--card); white-space: nowrap; }
.layers .at { background: var(--mark); }
.swaps h3 { font-size: 1rem; margin: .7rem 0 .3rem; overflow-wrap: anywhere; } .swaps table { max-width: 640px; }
.swaps td { padding: .22rem .6rem .22rem 0; border: 0; vertical-align: middle; } .swaps .bar { width: 60%; }
.swaps .soft { margin: .4rem 0 0; }
@media screen and (min-width: 960px) { .stage.live.long { grid-template-columns: minmax(0, 1fr) 440px; }
  .live.long #chosen { position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow: auto; } }
@media (max-width: 720px) { .row { grid-template-columns: 1.9rem minmax(0, 1fr) 4.6rem 4rem 64px; gap: .6rem; padding: .38rem .8rem; }
  .row > :nth-child(4), .row > :nth-child(6) { display: none; } .card { grid-template-columns: minmax(0, 1fr); }
  .lead { font-size: 1rem; } }
@media print { main { padding: 0; } .text, #chosen, .list { border-color: #ccc; } #chosen, summary.row, .card { break-inside: avoid; }
  .layers table { font-size: .6rem; } .layers th, .layers td { padding: .15rem .2rem; } }
"""

#: With it, a word of the text is a button: its card comes beside the text. Arrow keys go from word
#: to word.
SCRIPT = """
(() => {
  const panel = document.getElementById("chosen"), words = [...document.querySelectorAll("a.w")];
  const choose = (word) => {
    const card = document.querySelector(word.hash).cloneNode(true), row = document.querySelector(word.hash).closest("details");
    card.removeAttribute("id");
    const title = document.createElement("h2");
    title.append("“", row.querySelector(".name").firstChild.cloneNode(true), "”, word " + row.querySelector(".no").textContent);
    panel.replaceChildren(title, card);
    panel.hidden = false;
    for (const one of words) one.setAttribute("aria-pressed", one === word);
  };
  const narrow = () => matchMedia("(max-width: 959px)").matches;
  words.forEach((word, at) => {
    word.setAttribute("role", "button");
    word.setAttribute("aria-pressed", "false");
    word.setAttribute("aria-controls", "chosen");
    word.addEventListener("click", (event) => {
      event.preventDefault();
      choose(word);
      if (narrow()) panel.scrollIntoView({ block: "nearest", behavior: "smooth" });
    });
    word.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key] * (getComputedStyle(word).direction === "rtl" ? -1 : 1);
      if (event.key === " ") word.click();
      else if (step && words[at + step]) words[at + step].focus();
      else return;
      event.preventDefault();
    });
  });
  const first = document.querySelector("details.word[open]");
  const top = first && words.find((word) => first.querySelector(word.hash));
  if (top) {
    document.querySelector(".stage").classList.add("live");
    first.open = false;
    choose(top);
  }
})();
"""
