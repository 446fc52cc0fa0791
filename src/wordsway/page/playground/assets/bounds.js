/* What the ceiling rests on for each kind of scores: the curve of shares, and row 0 itself. */

import { dot, largestEigenvalue, norm, normAbove } from "./linear.js";
import { sigma } from "./scores.js";

const STEEP = 600;

/** A row of the dual that is yet to be filled in. */
export function emptyRow(G, curve, ae, y2, most) {
  return {
    p: curve.p[0],
    a: curve.a,
    ae,
    y2,
    most,
    fixed: new Float64Array(G),
    linear: new Float64Array(G),
    overKappa: new Float64Array(G),
    width2: new Float64Array(G),
  };
}

/** The share p(a) that row j gives to word 0 on a grid of moves a. */
export function curveOf(layer, j, A, radius, how) {
  if (layer.kind.logit) return logisticCurve(layer.link[j], norm(A), radius, how);
  return reluCurve(layer, j, norm(A), radius, how);
}

/** p = σ(u), u from −9 to 9 or as far as Δ can move it. */
function logisticCurve(logit, length, radius, how) {
  const G = how.nodes;
  const clamp = (u) => Math.min(how.reach, Math.max(-how.reach, u));
  const reach = radius * length * (1 + 1e-9);
  const low = clamp(logit - reach);
  const high = clamp(logit + reach);
  const width = (high - low) / (G - 1);
  const curve = arrays(G);
  for (let g = 0; g < G; g++) {
    const u = low + ((high - low) * g) / (G - 1);
    const p = sigma(u);
    const bound = Math.min(p, 1 - p) * Math.exp(width);
    curve.p[g] = p;
    curve.a[g] = u - logit;
    curve.step[g] = width;
    curve.bend[g] = Math.min(bound, 0.0963);
    curve.rise[g] = Math.min(bound * bound, 1 / 16);
  }
  const below = logit - reach < -how.reach;
  curve.beyond = logit + reach > how.reach;
  curve.trivial = false;
  curve.low = (p0, y2, most) => {
    const small = Math.max(curve.p[0], p0);
    return below ? [small ** 2 * most, small ** 4] : [-Infinity, 0];
  };
  curve.below = below;
  return curve;
}

/** p = w/(R + w), w from 0 to what Δ can reach, finer near 0. */
function reluCurve(layer, j, length, radius, how) {
  const { X, n, d, s, Wr, x, link } = layer;
  const G = how.nodes;
  const score = s[j * n];
  const R = link[j];
  const size = Math.sqrt(dot(X, X, j * d, j * d, d));
  const error = 1e-12 * size * norm(Wr) * (norm(x) + radius);
  const reach = Math.max(0, score + radius * length + error);
  const steep = reach > STEEP * R;
  const curve = arrays(G);
  const w = Array.from({ length: G }, (_, g) => reach * (g / (G - 1)) ** 2);
  for (let g = 0; g < G; g++) {
    const before = w[Math.max(0, g - 1)];
    const next = w[Math.min(G - 1, g + 1)];
    const base = steep || R === 0 ? 1 : R + before;
    curve.p[g] = steep ? 1 : w[g] / Math.max(R + w[g], Number.MIN_VALUE);
    curve.a[g] = w[g] - score;
    curve.step[g] = Math.max(w[g] - before, next - w[g]);
    curve.bend[g] = steep ? 0 : (2 * R) / base ** 3;
    curve.rise[g] = steep ? 0 : (R / base ** 2) ** 2;
  }
  curve.beyond = false;
  curve.trivial = steep;
  curve.low = (p0, y2) => [p0 * p0 * y2, 0];
  return curve;
}

function arrays(G) {
  const make = () => new Float64Array(G);
  return { p: make(), a: make(), step: make(), bend: make(), rise: make() };
}

/** How far row 0 can move: ‖row 0‖² ≤ min(cap, max(hull, ‖x_0 − φ_0 + Δ‖²)). */
export function* ownRowOf(layer, radius, split, how) {
  const { kind, x, P } = layer;
  if (!kind.normalised) {
    const reach = Math.max(P[0] * norm(x), (1 - P[0]) * norm(x) + radius);
    return { hull: (1 + 1 / split) * reach ** 2, far: false, cap: Infinity };
  }
  const mayVanish = !kind.logit || kind.sink;
  const cap = kind.logit ? Infinity : yield* ownRowAbove(layer, radius, how);
  return { hull: farthestRow(layer, mayVanish) ** 2, far: true, cap };
}

function farthestRow({ n, d, X, phi }, orZero) {
  let best = orZero ? Math.sqrt(dot(phi, phi, 0, 0, d)) : 0;
  for (let l = 1; l < n; l++) {
    let square = 0;
    for (let c = 0; c < d; c++) square += (X[l * d + c] - phi[c]) ** 2;
    best = Math.max(best, Math.sqrt(square));
  }
  return best;
}

/** Row 0's shares of other keys, for scores without a normaliser, as rows of the dual. */
export function keyRowsOf(layer, radius, split, e, how, rows, across) {
  const { n, d, X, queries, s, P } = layer;
  const worth = (1 + split) * normAbove(X.slice(d), n - 1, d) ** 2;
  const G = how.nodes;
  for (let l = 1; l < n; l++) {
    const Q = queries.subarray(l * d, l * d + d);
    const qe = dot(Q, e);
    const curve = logisticCurve(s[l] - Math.log(n), norm(Q), radius, how);
    const p0 = P[l];
    const row = emptyRow(G, curve, qe, worth, worth);
    for (let g = 0; g < G; g++) {
      const p = curve.p[g];
      const top = Math.max(p, curve.p[Math.min(g + 1, G - 1)], p0);
      const width2 = curve.step[g] ** 2 / 8;
      row.fixed[g] = worth * (p - p0) ** 2 + width2 * (2 * worth * top) * curve.bend[g];
      row.width2[g] = width2;
    }
    const largest = Math.max(curve.p[0], p0);
    [row.low, row.lowKappa] = [curve.below ? worth * largest ** 2 : -Infinity, 0];
    [row.high, row.highKappa] = [curve.beyond ? worth : -Infinity, 0];
    rows.push(row);
    across.push(Q.map((value, c) => value - qe * e[c]));
  }
}

/** How far row 0 of ReLU attention can turn to its own word: wordsway.maps.attention.scores.relu. */
function* ownRowAbove(layer, r, how) {
  const { n, d, x, phi, queries, Wr } = layer;
  const length = norm(x);
  const size = Math.sqrt(dot(phi, phi, 0, 0, d));
  const hull = n > 1 ? farthestRow(layer, false) : 0;
  const far = norm(x.map((value, c) => value - phi[c])) + r;
  const unit = x.map((value) => value / length);
  const m = n - 1;
  const K = queries.slice(d);
  const along = Float64Array.from({ length: m }, (_, l) => dot(K, unit, l * d, 0, d));
  const gram = new Float64Array(m * m);
  for (let a = 0; a < m; a++) {
    for (let b = 0; b < m; b++) {
      gram[a * m + b] = dot(K, K, a * d, b * d, d) - along[a] * along[b];
    }
  }
  const form = ownForm(Wr, unit, d);
  let best = 0;
  const cells = how.silenceCells;
  for (let cell = 0; cell < cells; cell++) {
    const short = ((length + r) * cell) / cells;
    const long = ((length + r) * (cell + 1)) / cells;
    const inner = (short ** 2 + length ** 2 - r * r) / 2;
    const raw = inner >= 0 ? inner / (long * length) : -1;
    const cosine = Math.min(1, Math.max(-1, raw));
    const others = m ? short * othersScore(along, gram, m, cosine, how.silenceSteps) : 0;
    const own = long ** 2 * ownScore(form, cosine);
    const p = own / Math.max(own + others, 1e-300);
    const reach = Math.min(long + size, far);
    best = Math.max(best, p * reach + (1 - p) * hull, hull, size);
    yield;
  }
  return best ** 2 * (1 + 1e-9);
}

/** A lower bound of the scores that a unit vector at this cosine gives the other words. */
function othersScore(along, gram, m, cosine, steps) {
  const sine = Math.sqrt(Math.max(0, 1 - cosine ** 2));
  const weight = along.map((value) => (value > 0 ? 1 : 0));
  const pulled = new Float64Array(m);
  const gradient = new Float64Array(m);
  let best = 0;
  for (let step = 0; step < steps; step++) {
    pulled.fill(0);
    for (let a = 0; a < m; a++) {
      if (weight[a] === 0) continue;
      for (let b = 0; b < m; b++) pulled[b] += weight[a] * gram[a * m + b];
    }
    const across = Math.sqrt(Math.max(0, dot(weight, pulled)));
    const towards = dot(weight, along);
    if (towards >= 0) best = Math.max(best, cosine * towards - sine * across);
    let top = 1e-300;
    for (let a = 0; a < m; a++) {
      gradient[a] = cosine * along[a] - (sine * pulled[a]) / Math.max(across, 1e-12);
      top = Math.max(top, Math.abs(gradient[a]));
    }
    const pace = 1 / Math.sqrt(step + 1) / top;
    for (let a = 0; a < m; a++) {
      weight[a] = Math.min(1, Math.max(0, weight[a] + pace * gradient[a]));
    }
  }
  return best * (1 - 1e-9);
}

/** u·Wu/√d in the plane of x_0 and across it: own, mixed and the largest there is. */
function ownForm(Wr, unit, d) {
  const half = new Float64Array(d * d);
  for (let b = 0; b < d; b++) {
    for (let c = 0; c < d; c++) half[b * d + c] = (Wr[b * d + c] + Wr[c * d + b]) / 2;
  }
  const turned = Float64Array.from({ length: d }, (_, b) => dot(half, unit, b * d, 0, d));
  const own = dot(turned, unit);
  const across = norm(turned.map((value, c) => value - own * unit[c]));
  return { own, across, most: largestEigenvalue(half, d) };
}

function ownScore({ own, across, most }, cosine) {
  const peak = 0.5 * Math.atan2(2 * across, own - most);
  const angle = Math.min(Math.acos(cosine), peak);
  const value =
    own * Math.cos(angle) ** 2 + across * Math.sin(2 * angle) + most * Math.sin(angle) ** 2;
  return Math.max(0, value) * (1 + 1e-9) + 1e-12 * (Math.abs(most) + across);
}
