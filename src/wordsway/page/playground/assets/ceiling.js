/* Certified ceilings: numbers that no Δ of the ball can exceed.

   The twin of wordsway.maps.attention.certificates.one_matrix and .dual, which have the proof, for word 0; its
   numbers of grid points, cells and rounds come with the page, from the Python constants. */

import { curveOf, emptyRow, keyRowsOf, ownRowOf } from "./bounds.js";
import { dot, norm, normAbove } from "./linear.js";

const SAFE = 1 + 1e-9;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** The ceiling of S over ‖Δ‖ ≤ radius for word 0 of an attention layer; a generator. */
export function* attentionCeiling(layer, radius, how) {
  let total = Infinity;
  let warm = null;
  for (const split of how.splits[layer.name]) {
    const problem = yield* problemOf(layer, radius, split, how);
    yield;
    for (const tilt of how.tilts[layer.name]) {
      const found = yield* minimiseDual(tilt ? tilted(problem, tilt) : problem, radius, warm, how);
      warm = found.multipliers;
      if (!(found.value >= total)) total = found.value;
    }
  }
  const found = Number.isFinite(total) ? Math.sqrt(total * SAFE) : Infinity;
  return Math.min(found, atMost(layer, radius)) / layer.size;
}

/** The ceiling of fully connected features: each moves at most as far as its own weights let it. */
export function denseCeiling(layer, radius) {
  const { V0, z, k, d } = layer;
  const scaled = new Float64Array(k * d);
  for (let j = 0; j < k; j++) {
    const reach = radius * Math.sqrt(dot(V0, V0, j * d, j * d, d)) * (1 + 1e-12);
    const gain = z[j] > 0 ? 1 : Math.max(0, 1 - Math.abs(z[j]) / Math.max(reach, 1e-300));
    for (let c = 0; c < d; c++) scaled[j * d + c] = gain * V0[j * d + c];
  }
  return (radius * normAbove(scaled, k, d)) / layer.size;
}

/** A bound that holds however large or small the numbers are. */
function atMost(layer, radius) {
  const { n, d, X, x, phi, kind } = layer;
  const lengths = Array.from({ length: n }, (_, l) => Math.sqrt(dot(X, X, l * d, l * d, d)));
  if (!kind.normalised) {
    const own = lengths.reduce((sum, length) => sum + length, 0) + radius;
    return Math.hypot(Math.sqrt(n - 1) * (lengths[0] + radius), own);
  }
  const longest = Math.max(...lengths, norm(x) + radius);
  let sum = 0;
  for (let j = 0; j < n; j++) {
    sum += (Math.sqrt(dot(phi, phi, j * d, j * d, d)) + longest) ** 2;
  }
  return Math.sqrt(sum);
}

/** All that the dual needs to know: rows × grid points, and what belongs to row 0. */
function* problemOf(layer, radius, split, how) {
  const { n, d, x, phi, Y, y2, P, keys } = layer;
  const m = n - 1;
  const e = new Float64Array(d);
  if (n > 1) for (let j = 1; j < n; j++) for (let c = 0; c < d; c++) e[c] += Y[j * d + c] / m;
  else e.set(x);
  const length = Math.max(norm(e), Number.MIN_VALUE);
  for (let c = 0; c < d; c++) e[c] /= length;
  const own = yield* ownRowOf(layer, radius, split, how);
  const far = new Float64Array(d);
  if (own.far) for (let c = 0; c < d; c++) far[c] = x[c] - phi[c];
  const along = dot(far, e);
  const rest = norm(far.map((value, c) => value - along * e[c]));
  const rows = [];
  const across = [];
  const crosswise = new Float64Array(m * d);
  const G = how.nodes;
  for (let j = 1; j < n; j++) {
    const A = keys.subarray(j * d, j * d + d);
    const y = Y.subarray(j * d, j * d + d);
    const ae = dot(A, e);
    const ye = dot(y, e);
    for (let c = 0; c < d; c++) crosswise[(j - 1) * d + c] = y[c] - ye * e[c];
    across.push(A.map((value, c) => value - ae * e[c]));
    const p0 = P[j * n];
    const most = (Math.sqrt(y2[j]) + radius) ** 2;
    const curve = curveOf(layer, j, A, radius, how);
    const row = emptyRow(G, curve, ae, y2[j], most);
    const lift = 2 * y2[j] + 4 * radius * Math.abs(ye) + 2 * radius * radius;
    for (let g = 0; g < G; g++) {
      const p = curve.p[g];
      const cross = p * (p - p0);
      const top = Math.max(p, curve.p[Math.min(g + 1, G - 1)], p0);
      const width2 = curve.step[g] ** 2 / 8;
      const square = curve.trivial ? most : (p - p0) ** 2 * y2[j] + p * p * radius * radius;
      row.fixed[g] = square + width2 * (top * lift) * curve.bend[g];
      row.linear[g] = curve.trivial ? 0 : cross * ye;
      row.overKappa[g] =
        (curve.trivial ? 0 : cross * cross) +
        width2 * (4 * top * curve.bend[g] + p0 * p0 * curve.rise[g]);
      row.width2[g] = width2;
    }
    [row.low, row.lowKappa] = curve.low(p0, y2[j], most);
    [row.high, row.highKappa] = curve.beyond ? [most, 1] : [-Infinity, 0];
    rows.push(row);
  }
  if (!layer.kind.normalised) keyRowsOf(layer, radius, split, e, how, rows, across);
  return {
    rows,
    across,
    d,
    normA: normAbove(flat(across, d), across.length, d),
    normY: normAbove(crosswise, m, d),
    ownFar: [dot(far, far), along, rest],
    ownHull: own.hull,
    ownCap: own.cap,
  };
}

function flat(rows, d) {
  const out = new Float64Array(rows.length * d);
  rows.forEach((row, j) => out.set(row, j * d));
  return out;
}

/** The same problem, rows that need a longer move to be won over weighted less. */
function tilted(problem, tilt) {
  const need = problem.rows.map((row) =>
    Math.max(1, Math.log(0.95 / 0.05) - Math.log(row.p / (1 - row.p)) + row.a[0]),
  );
  const mean = need.reduce((sum, value) => sum + value, 0) / need.length;
  const weights = need.map((value) => (mean / value) ** tilt);
  const rows = problem.rows.map((row, j) => ({
    ...row,
    a: row.a.map((value) => weights[j] * value),
    ae: weights[j] * row.ae,
    priceWeight: weights[j] ** 2,
  }));
  const across = problem.across.map((row, j) => row.map((value) => weights[j] * value));
  const normA = normAbove(flat(across, problem.d), across.length, problem.d);
  return { ...problem, rows, across, normA };
}

/** The largest bound over cells of β, the worst ones halved, with tuned multipliers. */
function* minimiseDual(problem, r, warm, how) {
  const cells = how.cells;
  const edges = Array.from({ length: cells + 1 }, (_, c) => -r + (2 * r * c) / cells);
  let lo = edges.slice(0, -1);
  let hi = edges.slice(1);
  const grid = lo.map((value, c) => (value + hi[c]) / 2);
  const count = problem.rows.length;
  const sumY2 = problem.rows.reduce((sum, row) => sum + row.y2, 0);
  const mostSum = problem.rows.reduce((sum, row) => sum + row.most, 0);
  const bound = (a, b, l, k) => {
    const [others, own] = price(problem, r, a, b, l, k, 1);
    return Math.min(others, mostSum) + own;
  };
  let lambda;
  let kappa;
  if (!warm) {
    const startL = Math.log((r * r + sumY2 / Math.max(1, count)) / 20 + 1e-30);
    const startK =
      0.5 * Math.log(count / 5 / (r * r * problem.normY ** 2 + 1e-30) + 1e-30);
    lambda = lo.map(() => startL);
    kappa = lo.map(() => startK);
    for (let c = 0; c < cells; c++) {
      for (const [reach, steps] of [[4.5, 10], [1.5, 7]]) {
        const ofL = (at) => price(problem, r, lo[c], hi[c], at, kappa[c], 3)[0];
        lambda[c] = golden(ofL, lambda[c], reach, steps);
        const ofK = (at) => price(problem, r, lo[c], hi[c], lambda[c], at, 3)[0];
        kappa[c] = golden(ofK, kappa[c], reach, steps);
      }
      yield;
    }
  } else {
    [lambda, kappa] = [warm[0].slice(), warm[1].slice()];
    const value = lo.map((a, c) => bound(a, hi[c], lambda[c], kappa[c]));
    const top = Math.max(...value);
    for (let c = 0; c < cells; c++) {
      if (!(value[c] >= 0.8 * top)) continue;
      const ofL = (at) => price(problem, r, lo[c], hi[c], at, kappa[c], 3)[0];
      lambda[c] = golden(ofL, lambda[c], 0.5, 3);
    }
    yield;
  }
  let value = lo.map((a, c) => bound(a, hi[c], lambda[c], kappa[c]));
  for (let round = 0; round < how.rounds; round++) {
    const cut = Math.max(...value) * 0.95;
    const kept = { lo: [], hi: [], value: [] };
    for (let c = 0; c < lo.length; c++) {
      const middle = (lo[c] + hi[c]) / 2;
      const parts = value[c] >= cut ? [[lo[c], middle], [middle, hi[c]]] : [[lo[c], hi[c]]];
      for (const [a, b] of parts) {
        kept.lo.push(a);
        kept.hi.push(b);
        if (parts.length === 1) kept.value.push(value[c]);
        else {
          const at = (a + b) / 2;
          const fresh = bound(a, b, interpolate(at, grid, lambda), interpolate(at, grid, kappa));
          kept.value.push(Math.min(fresh, value[c]));
        }
      }
    }
    ({ lo, hi, value } = kept);
    yield;
  }
  return { value: Math.max(...value), multipliers: [lambda, kappa] };
}

/** For one cell [lo, hi] of β: bounds on Σ_{j≠0} ‖row j‖² and on ‖row 0‖². */
function price(problem, r, lo, hi, logLambda, logKappa, stride) {
  const lambda = Math.exp(logLambda);
  const kappa = Math.exp(logKappa);
  const smallest = lo * hi < 0 ? 0 : Math.min(Math.abs(lo), Math.abs(hi));
  const room = Math.max(0, r * r - smallest * smallest);
  let sum = room * (lambda * problem.normA ** 2 + kappa * problem.normY ** 2);
  for (const row of problem.rows) {
    const near = Math.min(lo * row.ae, hi * row.ae);
    const far = Math.max(lo * row.ae, hi * row.ae);
    const { a, fixed, linear, overKappa, width2 } = row;
    const twice = 2 * (row.priceWeight ?? 1);
    const G = a.length;
    let best = -Infinity;
    let last = 0;
    for (let g = 0; g < G; g += stride) {
      const distance = Math.max(0, a[g] - far, near - a[g]);
      const value =
        fixed[g] +
        2 * Math.max(lo * linear[g], hi * linear[g]) +
        overKappa[g] / kappa -
        lambda * (distance * distance - twice * width2[g]);
      if (value > best) best = value;
      last = g;
    }
    const low = row.low + row.lowKappa / kappa - lambda * Math.max(0, near - a[0]) ** 2;
    const high = row.high + row.highKappa / kappa - lambda * Math.max(0, a[last] - far) ** 2;
    sum += Math.max(best, low, high);
  }
  const [square, along, rest] = problem.ownFar;
  const turned = 2 * Math.max(lo * along, hi * along);
  const reached = square + turned + 2 * rest * Math.sqrt(room) + r * r;
  return [sum, Math.min(Math.max(reached, problem.ownHull), problem.ownCap)];
}

function golden(f, centre, reach, steps) {
  let left = centre - reach;
  let right = centre + reach;
  let a = right - GOLDEN * (right - left);
  let b = left + GOLDEN * (right - left);
  let fa = f(a);
  let fb = f(b);
  for (let step = 0; step < steps; step++) {
    if (fa < fb) {
      right = b;
      b = a;
      fb = fa;
      a = right - GOLDEN * (right - left);
      fa = f(a);
    } else {
      left = a;
      a = b;
      fa = fb;
      b = left + GOLDEN * (right - left);
      fb = f(b);
    }
  }
  return fa < fb ? a : b;
}

function interpolate(at, grid, values) {
  let right = grid.findIndex((value) => value >= at);
  if (right < 0) right = grid.length;
  right = Math.min(Math.max(right, 1), grid.length - 1);
  const share = (at - grid[right - 1]) / (grid[right] - grid[right - 1]);
  const inside = Math.min(1, Math.max(0, share));
  return values[right - 1] * (1 - inside) + values[right] * inside;
}
