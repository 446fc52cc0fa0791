/* Everything that is drawn, from the state and its model. */

import { chart } from "./chart.js";
import { matrixView } from "./matrix.js";
import { DENSE, SIZES } from "./model.js";
import { paintField } from "./plane.js";
import {
  $, KINDS, ceilingHere, heardBy, layerKey, measured, otherWorstS, page, percent, shown, state,
  text, worstS,
} from "./store.js";
import { STEPS } from "./tour.js";

export const before = matrixView($("before"));
export const after = matrixView($("after"));

export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  page.palette = {
    scale: [rgb(of("--field")), rgb(of("--full"))],
    ink: of("--ink"),
    accent: of("--accent"),
    line: of("--soft"),
    onPaper: of("--ink"),
    onFull: of("--card"),
  };
  const [paper, full] = page.palette.scale;
  const mix = (t) => paper.map((from, c) => Math.round(from + (full[c] - from) * Math.sqrt(t)));
  const stops = [0, 0.06, 0.25, 0.5, 0.75, 1].map((t) => `rgb(${mix(t)}) ${100 * t}%`);
  document.querySelector(".legend i").style.background = `linear-gradient(90deg, ${stops})`;
}

/** One frame. */
export function draw() {
  const { model } = page;
  const { now, other } = measured();
  text("S", now ? shown(now.S) : "—");
  text("worst-S", shown(worstS()));
  text("ceiling", shown(model.ceiling));
  text("ceiling-here", shown(ceilingHere()));
  text("other-S", shown(other?.S));
  text("other-worst", shown(otherWorstS()));
  text("other-ceiling", shown(model.otherCeiling));
  text("main-name", KINDS[state.scores][0]);
  text("other-name", `${KINDS[model.isDense ? "softmax" : DENSE][0]}, the same Δ`);
  const most = 1.04 * Math.max(model.ceiling ?? 1.3 * (worstS() ?? 1), model.otherCeiling ?? 0);
  track("main-track", now?.S ?? 0, worstS(), model.ceiling, most);
  track("other-track", other?.S ?? 0, otherWorstS(), model.otherCeiling, most);
  $("numbers").classList.toggle("dense", model.isDense);
  handleShow(now);
  attentionShow(now);
  tourShow(now);
}

function track(id, S, worstAt, ceiling, most) {
  const svg = $(id);
  const x = (value) => (400 * Math.min(value, most)) / most;
  const part = (name) => svg.querySelector(name);
  part(".fill").setAttribute("width", x(S));
  const lines = [[".worst-tick", worstAt], [".wall", ceiling]];
  for (const [name, value] of lines) {
    part(name).setAttribute("visibility", value === null ? "hidden" : "visible");
    part(name).setAttribute("x1", x(value ?? 0));
    part(name).setAttribute("x2", x(value ?? 0));
  }
  const wall = ceiling === null ? 400 : x(ceiling);
  part(".beyond").setAttribute("x", wall);
  part(".beyond").setAttribute("width", 400 - wall);
}

function handleShow(now) {
  const { x, y } = state;
  $("handle").setAttribute("transform", `translate(${x} ${-y})`);
  const arrow = $("arrow");
  arrow.setAttribute("x2", x);
  arrow.setAttribute("y2", -y);
  const [wx, wy] = page.model.coordinates(page.model.worst);
  $("worst-mark").setAttribute("transform", `translate(${wx} ${-wy})`);
  const label = $("worst-label");
  label.setAttribute("x", Math.max(-1, Math.min(0.98, wx + 0.1)));
  label.setAttribute("y", Math.max(-1.12, -wy - 0.1));
  const length = Math.min(1, Math.hypot(x, y));
  text("length", `‖Δ‖ = ${percent(length)} of the word’s length`);
  $("handle").setAttribute("aria-valuenow", Math.round(100 * length));
  const spoken = `${percent(length)} of the word’s length, change ${now ? shown(now.S) : "undefined"}`;
  $("handle").setAttribute("aria-valuetext", spoken);
  for (const button of document.querySelectorAll("[data-pin]")) {
    button.setAttribute("aria-pressed", String(button.dataset.pin === page.pin));
  }
}

function attentionShow(now) {
  const { n, main, isDense } = page.model;
  const { palette, cell } = page;
  $("attention-panel").classList.toggle("dense", isDense);
  if (isDense) {
    const top = Math.max(...main.phi, ...now.features);
    const cells = [main.phi, now.features].map((some) => some.map((value) => value / top));
    [before, after].forEach((view, k) => view.draw(cells[k], 16, 32, palette, { cell }));
    text("attention-title", "The 512 features");
    text("attention-hint", "No attention here: a cell is a feature, in per cent of the largest.");
    const far = (value, j) => Math.abs(value - main.phi[j]) > 0.1 * top;
    const moved = now.features.filter(far).length;
    text("heard", `${moved} of 512 features move by more than a tenth of the largest one.`);
    return cellShow(cells, 32);
  }
  const shares = [main.P, now ? now.shares : main.P];
  [before, after].forEach((view, k) => view.draw(shares[k], n, n, palette, { mark: true, cell }));
  text("attention-title", "Attention between words");
  text("attention-hint", "The word of a row attends to the words of the columns; a cell is its share.");
  const [was, is] = shares.map(heardBy);
  text(
    "heard",
    n > 1
      ? `Mean attention of the other words to the changed word: ${percent(was.mean)} before, ` +
          `${percent(is.mean)} after; ${is.most} of ${n - 1} give it more than half.`
      : "A single word attends only to itself.",
  );
  return cellShow(shares, n);
}

function cellShow(values, columns) {
  if (!page.cell) {
    return text("cell", "To read a value, point at a cell, or focus a matrix and use the arrow keys.");
  }
  const [row, column] = page.cell;
  const at = row * columns + column;
  const [was, is] = values.map((cells) => `${(100 * cells[at]).toFixed(1)} %`);
  const who = page.model.isDense
    ? `Feature ${at + 1}`
    : `Word ${row + 1} attends to word ${column + 1}`;
  return text("cell", `${who}: ${was} before, ${is} after.`);
}

export function fieldShow() {
  if (page.field) paintField($("field"), page.field, page.palette);
}

/** S against the length of the text, with its ceiling; the present length is marked. */
function growthChart(layers) {
  const series = layers.map(({ name, className, points }) => {
    const known = SIZES.filter((size) => points[size]);
    return {
      name,
      kind: className,
      points: known.map((size) => [size, points[size].S]),
      upper: known.map((size) => points[size].ceiling),
    };
  });
  const width = Math.max(280, Math.min(720, Math.round($("growth").clientWidth)));
  const title = "Worst change found, and the ceiling of S, by the number of words";
  const axes = { xlabel: "words in the text, n", logx: true, xticks: SIZES, mark: state.n };
  return chart({ title, series, width, height: 300, ...axes });
}

export function growthShow() {
  const attention = state.scores === DENSE ? "softmax" : state.scores;
  const layers = [
    { name: KINDS[attention][0], className: "attention", points: page.growth.attention },
    { name: KINDS[DENSE][0], className: "dense", points: page.growth.dense },
  ];
  $("growth").replaceChildren(growthChart(layers));
  const cell = (tag, content, more = {}) =>
    Object.assign(document.createElement(tag), { textContent: content, ...more });
  const row = (...cells) => {
    const line = document.createElement("tr");
    line.append(...cells);
    return line;
  };
  const heads = layers.map(({ name, className }) =>
    cell("th", name, { colSpan: 2, scope: "colgroup", className }),
  );
  const names = layers.flatMap(() => ["found", "ceiling"]);
  const under = names.map((name) => cell("th", name, { scope: "col" }));
  const table = $("growth-table");
  table.tHead.replaceChildren(
    row(cell("th", "n", { rowSpan: 2, scope: "col" }), ...heads),
    row(...under),
  );
  const both = (found) => (found ? [shown(found.S), shown(found.ceiling)] : ["—", "—"]);
  const lines = SIZES.map((n) => {
    const numbers = layers.flatMap(({ points }) => both(points[n]));
    const cells = numbers.map((value) => cell("td", value));
    return row(cell("th", String(n), { scope: "row" }), ...cells);
  });
  table.tBodies[0].replaceChildren(...lines);
}

let said = ""; // what the step says of the layer it set; it stays when the reader goes elsewhere

function tourShow(now) {
  const { model } = page;
  const step = STEPS[page.step];
  text("tour-title", step.title);
  text("tour-count", `Tour, step ${page.step + 1} of ${STEPS.length}`);
  if (layerKey(state) === layerKey({ ...state, ...step.go }) || !said) {
    const shares = [model.main.P, now?.shares].map((some) => (some ? heardBy(some) : null));
    said = step.say({
      S: now?.S ?? null,
      worst: worstS(),
      ceiling: model.ceiling,
      otherWorst: otherWorstS(),
      heardBefore: shares[0] && percent(shares[0].mean),
      heardAfter: shares[1] && percent(shares[1].mean),
      won: shares[1]?.most,
    });
  }
  text("tour-text", said);
  $("tour-back").disabled = page.step === 0;
  text("tour-next", page.step === STEPS.length - 1 ? "From the start" : "Next");
  [...$("tour-dots").querySelectorAll("button")].forEach((dot, k) => {
    if (k === page.step) dot.setAttribute("aria-current", "step");
    else dot.removeAttribute("aria-current");
  });
}
