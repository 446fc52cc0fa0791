/* What the page knows at a moment, and the numbers of it. */

import { DENSE, LENGTHS } from "./model.js";

export const HOW = JSON.parse(document.getElementById("result").textContent);
export const $ = (id) => document.getElementById(id);

/** Names and one sentence for each kind of scores. */
export const KINDS = {
  softmax: [
    "Softmax",
    "Every row shares out 100 % of its attention; a larger score takes an exponentially larger " +
      "share.",
  ],
  sink: ["Softmax with a sink", "Like softmax, but part of a row's attention may go to no word."],
  sigmoid: [
    "Sigmoid",
    "Each share is between 0 and 100 %, independently of the other shares of its row.",
  ],
  relu: [
    "Normalised ReLU",
    "The share of a negative score is 0; the others are proportional to their scores, whatever the " +
      "temperature.",
  ],
  [DENSE]: [
    "Fully connected",
    "No attention: 512 random features, each a weighted sum of the whole text, or 0 if it is negative.",
  ],
};

/** The layer and the handle: all that an address has to tell. */
export const state = { n: 12, d: 32, temperature: 1, scores: "softmax", seed: 0, x: 0, y: 0 };

/** What follows from it, and what the reader is looking at. */
export const page = {
  model: null,
  pin: null, // where the handle stays when the layer changes: zero, attract or worst
  field: null, // S over the disc
  growth: { attention: {}, dense: {} },
  step: 0, // of the tour
  cell: null, // of the matrix that is pointed at
  glide: null, // the handle on its way
  palette: null,
};

export const layerKey = ({ n, d, temperature, scores, seed }) =>
  [n, d, temperature, scores, seed].join();

/** The layer at the present Δ, and the one that it is compared with. */
export function measured() {
  const { model } = page;
  const delta = model.delta(state.x, state.y);
  const now = model.silent ? null : model.main.after(delta);
  const other = model.other && model.other.size > 0 ? model.other.after(delta) : null;
  return { delta, now, other };
}

/** S at the worst Δ found, here and in the other layer. */
export const worstS = () => page.model.worstS;
export const otherWorstS = () => page.model.otherWorstS;

/** The ceiling of all Δ no longer than this one, from the next length at which it is known. */
export function ceilingHere() {
  const k = Math.ceil(Math.hypot(state.x, state.y) * LENGTHS - 1e-9);
  return k <= 0 ? 0 : page.model.lengths[Math.min(k, LENGTHS) - 1];
}

/** What the other rows give to the first word: the mean, and how many give it over half. */
export function heardBy(shares) {
  const { n } = page.model;
  let sum = 0;
  let most = 0;
  for (let j = 1; j < n; j++) {
    sum += shares[j * n];
    if (shares[j * n] > 0.5) most++;
  }
  return { mean: n > 1 ? sum / (n - 1) : shares[0], most };
}

export const percent = (share) => `${Math.round(100 * share)} %`;
export const shown = (value) =>
  value === null || value === undefined ? "…" : value.toFixed(3);

/** Sets a text only where it differs, so that nothing flickers. */
export function text(id, value) {
  const node = $(id);
  if (node.textContent !== value) node.textContent = value;
}
