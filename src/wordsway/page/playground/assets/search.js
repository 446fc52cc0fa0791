/* The worst Δ of a ball: steps uphill from several starts; the best few go on until they stall. */

import { dot, norm, ofLength } from "./linear.js";
import { normals } from "./random.js";

const STREAM = 4;
const LARGEST_DRAW = 4096;

/** Δ worth starting from: what attracts, what attracts some rows, what erases the word, noise. */
function* startsOf(layer, attract, radius, count) {
  const { n, d, x } = layer;
  const outward = ofLength(x, radius);
  const starts = [attract, outward, outward.map((v) => -v), x.map((v) => -0.9 * v)];
  const draw = normals(0, STREAM, 0, 2 * LARGEST_DRAW);
  let at = 0;
  const next = () => draw[at++ % draw.length];
  const noise = () => ofLength(Float64Array.from({ length: d }, next), radius);
  const deaf = layer.kind && !layer.kind.logit && n > 1;
  if (deaf) starts.push(...(yield* silencing(layer, radius, next, count)));
  while (starts.length < count) {
    const turn = starts.length % 4;
    const random = noise();
    if (turn === 0 || !layer.keys || n < 2) starts.push(random);
    else if (turn === 1) starts.push(mixed(attract, random, 1, radius));
    else if (turn === 2) starts.push(crowd(layer, random, radius, next));
    else starts.push(x.map((v, c) => -0.97 * v + 0.2 * random[c]));
  }
  return starts;
}

function mixed(a, b, share, radius) {
  return ofLength(a.map((value, c) => value + share * b[c]), radius);
}

/** Attracts the rows that a random Δ attracts already, and lengthens them. */
function crowd(layer, random, radius, next) {
  const { n, d, keys, x } = layer;
  const cut = 0.5 * Math.abs(next());
  const sum = new Float64Array(d);
  for (let j = 1; j < n; j++) {
    if (dot(keys, random, j * d, 0, d) / norm(keys.subarray(j * d, j * d + d)) < cut) continue;
    for (let c = 0; c < d; c++) sum[c] += keys[j * d + c];
  }
  const towards = norm(sum) > 0 ? ofLength(sum, radius) : random;
  return mixed(towards, ofLength(x, radius), 0.5 * Math.abs(next()), radius);
}

/** With ReLU scores, Δ that make row 0 deaf to all other words, or to all but one: x_0 + Δ in the
    cone of the u with k_l·u ≤ 0, as long as the ball allows. */
function* silencing(layer, radius, next, count) {
  const { n, d, x, queries, keys } = layer;
  const length = norm(x);
  const found = [];
  for (let start = 0; start < count / 2; start++) {
    const attended = start % 2 ? 1 + (Math.floor(Math.abs(next()) * 1000) % (n - 1)) : 0;
    const row = (from, l) => ofLength(from.slice(l * d, l * d + d), 1);
    const towards = attended ? row(queries, attended) : row(queries.map((v, m) => v + keys[m]), 0);
    const share = Math.abs(next()) % 1;
    const u = x.map((v, c) => ((1 - share) * v) / length + share * towards[c]);
    for (let round = 0; round < 60; round++) {
      for (let l = 1; l < n; l++) {
        if (l === attended) continue;
        const k = queries.subarray(l * d, l * d + d);
        const over = dot(k, u) / dot(k, k);
        if (over > 0) for (let c = 0; c < d; c++) u[c] -= over * k[c];
      }
    }
    if (!(norm(u) > 0)) continue;
    const unit = ofLength(u, 1);
    const along = dot(unit, x);
    const root = Math.sqrt(Math.max(0, along ** 2 - length ** 2 + radius ** 2));
    const reach = Math.max(0.999 * (along + root), 1e-3 * radius);
    found.push(x.map((v, c) => reach * unit[c] - v));
    yield;
  }
  return found;
}

/** One climber: a step of adaptive length along the gradient, back into the ball. */
function climber(layer, start, radius) {
  let x = start;
  let gradient = new Float64Array(x.length);
  let value = layer.evaluate(x, gradient);
  let pace = 1;
  return {
    get value() {
      return value;
    },
    get x() {
      return x;
    },
    get stalled() {
      return pace < 1e-7;
    },
    step() {
      const length = norm(gradient);
      if (!(length > 0)) {
        pace = 0;
        return;
      }
      const scale = (pace * radius) / length;
      let next = x.map((v, c) => v + scale * gradient[c]);
      if (norm(next) > radius) next = ofLength(next, radius);
      const slope = new Float64Array(x.length);
      const found = layer.evaluate(next, slope);
      if (found > value) {
        const gained = found - value;
        x = next;
        value = found;
        gradient = slope;
        pace = gained < 1e-14 * found ? 0 : Math.min(pace * 2, 8);
      } else pace /= 3;
    },
  };
}

/** The best Δ found; a generator that gives way between steps. */
export function* worst(layer, attract, radius, { starts, explore, keep, steps }) {
  const places = yield* startsOf(layer, attract, radius, starts);
  let climbers = places.map((place) => climber(layer, place, radius));
  yield;
  for (const one of climbers) {
    for (let step = 0; step < explore; step++) one.step();
    yield;
  }
  climbers.sort((a, b) => b.value - a.value);
  climbers = climbers.slice(0, keep);
  for (const one of climbers) {
    for (let step = 0; step < steps && !one.stalled; step++) {
      one.step();
      if (step % 10 === 9) yield;
    }
  }
  climbers.sort((a, b) => b.value - a.value);
  return climbers[0].x;
}
