/* Everything that a state of the page determines: layers, directions, worst Δ, ceilings. */

import { attentionCeiling, denseCeiling } from "./ceiling.js";
import { attentionOf, attractingOf, denseOf, drawsOf } from "./instance.js";
import { finish } from "./jobs.js";
import { dot, norm, ofLength } from "./linear.js";
import { worst } from "./search.js";

export const DENSE = "fully-connected";
const QUICK = { starts: 6, explore: 5, keep: 2, steps: 8 };
const THOROUGH = { starts: 24, explore: 12, keep: 5, steps: 150 };
const THOROUGH_DENSE = { starts: 8, explore: 6, keep: 2, steps: 120 };
export const SIZES = [1, 2, 4, 8, 16, 32, 64];
export const LENGTHS = 8; // ceilings are known for Δ of up to 1/8, 2/8, … of the ball's radius

let draws = null;

function drawn(seed) {
  if (draws?.seed !== seed) draws = drawsOf(seed);
  return draws;
}

/** Orthonormal u, v: the attracting direction, and what the worst Δ adds to it. */
export function planeOf(attract, worstDelta, x) {
  const u = ofLength(attract, 1);
  const rest = (w) => {
    const along = dot(w, u);
    return w.map((value, c) => value - along * u[c]);
  };
  const size = norm(worstDelta);
  let v = rest(worstDelta);
  if (norm(v) < 1e-6 * size || size === 0) v = rest(x);
  for (let c = 0; norm(v) < 1e-6 * norm(x); c++) v = rest(Float64Array.from(x, (_, b) => +(b === c)));
  v = rest(ofLength(v, 1));
  return { u, v: ofLength(v, 1) };
}

export function buildModel(state) {
  const source = drawn(state.seed);
  const { n, d } = state;
  const radius = Math.sqrt(d);
  const isDense = state.scores === DENSE;
  const attract = attractingOf(source, state);
  const main = isDense ? finish(denseOf(source, state)) : attentionOf(source, state);
  const model = { n, d, radius, isDense, attract, main, other: null, silent: !(main.size > 0) };
  model.worst = model.silent ? attract : finish(worst(main, attract, radius, QUICK));
  model.worstS = model.silent ? null : Math.sqrt(main.evaluate(model.worst));
  model.ceiling = null;
  model.lengths = new Array(LENGTHS).fill(null);
  model.otherCeiling = null;
  model.otherWorstS = null;
  Object.assign(model, planeOf(attract, model.worst, main.x));

  model.delta = (x, y) => {
    const scale = radius / Math.max(1, Math.hypot(x, y));
    return attract.map((_, c) => scale * (x * model.u[c] + y * model.v[c]));
  };
  model.coordinates = (delta) => [dot(delta, model.u) / radius, dot(delta, model.v) / radius];

  model.searchWorst = function* () {
    const plan = isDense ? THOROUGH_DENSE : THOROUGH;
    const found = yield* worst(main, attract, radius, plan);
    const S = Math.sqrt(main.evaluate(found));
    if (!(S > model.worstS)) return;
    Object.assign(model, { worst: found, worstS: S }, planeOf(attract, found, main.x));
  };
  const ceilingAt = function* (layer, r, how) {
    return layer.V0 ? denseCeiling(layer, r) : yield* attentionCeiling(layer, r, how);
  };
  model.findCeiling = function* (how) {
    model.ceiling = yield* ceilingAt(main, radius, how);
    model.lengths[LENGTHS - 1] = model.ceiling;
  };
  model.findLengths = function* (how) {
    for (let k = LENGTHS - 1; k > 0; k--) {
      const found = yield* ceilingAt(main, (radius * k) / LENGTHS, how);
      model.lengths[k - 1] = Math.min(found, model.lengths[k]);
    }
  };
  /** The layer to compare with: fully connected beside attention, softmax beside them. */
  model.findOther = function* (how) {
    const other = isDense
      ? attentionOf(source, { ...state, scores: "softmax" })
      : yield* denseOf(source, state);
    model.other = other;
    yield;
    const plan = isDense ? THOROUGH : THOROUGH_DENSE;
    const found = yield* worst(other, attract, radius, plan);
    model.otherWorstS = Math.sqrt(other.evaluate(found));
    model.otherCeiling = yield* ceilingAt(other, radius, how);
  };
  return model;
}

/** Worst S found and ceiling for texts of 1, 2, 4, … words: attention and fully connected. */
export function* growthOf(state, how, table, report) {
  const source = drawn(state.seed);
  const attention = state.scores === DENSE ? "softmax" : state.scores;
  for (const n of SIZES) {
    const at = { ...state, n };
    const attract = attractingOf(source, at);
    const radius = Math.sqrt(state.d);
    for (const scores of [attention, DENSE]) {
      const key = [scores, n, state.d, scores === DENSE ? 1 : state.temperature, state.seed].join();
      if (!table.has(key)) {
        const dense = scores === DENSE;
        const layer = dense ? yield* denseOf(source, at) : attentionOf(source, { ...at, scores });
        if (!(layer.size > 0)) table.set(key, null);
        else {
          const found = yield* worst(layer, attract, radius, dense ? THOROUGH_DENSE : THOROUGH);
          const ceiling = dense
            ? denseCeiling(layer, radius)
            : yield* attentionCeiling(layer, radius, how);
          table.set(key, { S: Math.sqrt(layer.evaluate(found)), ceiling });
        }
      }
      report(scores, n, table.get(key));
      yield;
    }
  }
}
