/* The text and the weights of a state: the twin of wordsway.page.playground.instance. */

import { attentionLayer, attracting, denseLayer } from "./layer.js";
import { dot } from "./linear.js";
import { STREAMS, normals } from "./random.js";

export const LARGEST = 64;
export const COUNT = 512;

/** All that one seed draws; the fully connected weights word by word, when they are needed. */
export function drawsOf(seed) {
  const square = LARGEST * LARGEST;
  const text = normals(seed, STREAMS.text, 0, square);
  const weight = normals(seed, STREAMS.weight, 0, square);
  const words = [];
  const block = COUNT * LARGEST;
  return {
    seed,
    text,
    weight,
    /** Word l's part of V, unscaled, COUNT×LARGEST. */
    features(l) {
      words[l] ??= normals(seed, STREAMS.features, l * block, block);
      return words[l];
    },
  };
}

/** X, n×d with rows of norm √d. */
export function textOf(draws, n, d) {
  const X = new Float64Array(n * d);
  for (let l = 0; l < n; l++) {
    const row = draws.text.subarray(l * LARGEST, l * LARGEST + d);
    const scale = Math.sqrt(d) / Math.sqrt(dot(row, row));
    for (let c = 0; c < d; c++) X[l * d + c] = row[c] * scale;
  }
  return X;
}

/** W, d×d, divided by the temperature. */
export function weightOf(draws, d, temperature) {
  const W = new Float64Array(d * d);
  const scale = Math.sqrt(d) * temperature;
  for (let b = 0; b < d; b++) {
    for (let c = 0; c < d; c++) W[b * d + c] = draws.weight[b * LARGEST + c] / scale;
  }
  return W;
}

/** The attention layer of a state, with the direction that attracts. */
export function attentionOf(draws, { n, d, temperature, scores }) {
  const X = textOf(draws, n, d);
  return attentionLayer(scores, X, weightOf(draws, d, temperature), n, d);
}

export function attractingOf(draws, { n, d }) {
  return attracting(textOf(draws, n, d), weightOf(draws, d, 1), n, d);
}

/** The fully connected layer of a state; a generator, since it may have many weights to draw. */
export function* denseOf(draws, { n, d }) {
  const X = textOf(draws, n, d);
  const z = new Float64Array(COUNT);
  const scale = 1 / Math.sqrt(n * d);
  for (let l = 0; l < n; l++) {
    const V = draws.features(l);
    for (let j = 0; j < COUNT; j++) z[j] += scale * dot(X, V, l * d, j * LARGEST, d);
    yield;
  }
  const first = draws.features(0);
  const V0 = new Float64Array(COUNT * d);
  for (let j = 0; j < COUNT; j++) {
    for (let c = 0; c < d; c++) V0[j * d + c] = scale * first[j * LARGEST + c];
  }
  return denseLayer(X, V0, z, COUNT, n, d);
}
