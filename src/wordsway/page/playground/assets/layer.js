/* Layers at one text: features by their definition, and S² with its gradient at less cost.

   Word 0 moves by Δ. Row j ≠ 0 gives it the share p instead of p⁰, hence
   φ_j(X(Δ)) − φ_j(X) = (p − p⁰) y_j + pΔ with y_j = x_0 − (the mean over the other words);
   only row 0 is recomputed. See wordsway.maps.attention.one_matrix.layer. */

import { dot, norm, ofLength, product, productTransposed, transposed } from "./linear.js";
import { SCORES, sigma } from "./scores.js";

export function attentionLayer(name, X, W, n, d) {
  const kind = SCORES[name];
  const root = Math.sqrt(d);
  const Wr = W.map((value) => value / root);
  const keys = product(X, Wr, n, d, d); // row j: Wᵀx_j/√d
  const queries = productTransposed(X, Wr, n, d, d); // row l: Wx_l/√d
  const s = productTransposed(keys, X, n, d, n);
  const P = new Float64Array(n * n);
  for (let j = 0; j < n; j++) kind.attention(s, j * n, n, P);
  const phi = product(P, X, n, n, d);
  const size = norm(phi);
  const x = X.slice(0, d);

  // y_j = x_0 − m_j with the mean m_j of row j over the other words, and the logit of its share of word 0.
  const Y = new Float64Array(n * d);
  const y2 = new Float64Array(n);
  const link = new Float64Array(n); // logit p⁰, or the sum of the others' weights
  const others = new Float64Array(n * n);
  if (kind.normalised) {
    const masked = s.slice();
    for (let j = 1; j < n; j++) {
      masked[j * n] = -Infinity;
      kind.attention(masked, j * n, n, others);
    }
  }
  const means = kind.normalised ? product(others, X, n, n, d) : new Float64Array(n * d);
  for (let j = 1; j < n; j++) {
    for (let c = 0; c < d; c++) Y[j * d + c] = x[c] - means[j * d + c];
    y2[j] = dot(Y, Y, j * d, j * d, d);
    if (kind.logit) link[j] = kind.logit(s, j * n, n);
    else for (let l = 1; l < n; l++) link[j] += Math.max(0, s[j * n + l]);
  }
  const share = kind.logit
    ? (j, a) => sigma(link[j] + a)
    : (j, a) => {
        const w = Math.max(0, s[j * n] + a);
        return w > 0 ? w / (link[j] + w) : 0;
      };
  const steepness = kind.logit
    ? (j, a, p) => p * sigma(-link[j] - a)
    : (j, a) => {
        const w = s[j * n] + a;
        return w > 0 ? link[j] / (link[j] + w) ** 2 : 0;
      };
  const own0 = new Float64Array(d); // ∂ s_00/∂Δ at 0
  for (let c = 0; c < d; c++) own0[c] = keys[c] + queries[c];

  const scores0 = new Float64Array(n);
  const shares0 = new Float64Array(n);
  const pulled = new Float64Array(n);
  const h = new Float64Array(n);

  /** Scores of row 0 once word 0 has moved, and Δ turned by (W + Wᵀ)/√d. */
  function moveRow(delta) {
    const turned = new Float64Array(d);
    let own = 0;
    for (let b = 0; b < d; b++) {
      const along = dot(Wr, delta, b * d, 0, d);
      own += delta[b] * along;
      turned[b] += along;
      for (let c = 0; c < d; c++) turned[c] += Wr[b * d + c] * delta[b];
    }
    for (let l = 0; l < n; l++) scores0[l] = s[l] + dot(queries, delta, l * d, 0, d);
    scores0[0] = s[0] + dot(own0, delta) + own;
    kind.attention(scores0, 0, n, shares0);
    return turned;
  }

  function evaluate(delta, gradient = null) {
    const d2 = dot(delta, delta);
    let value = 0;
    let alongDelta = 0;
    if (gradient) gradient.fill(0);
    for (let j = 1; j < n; j++) {
      const a = dot(keys, delta, j * d, 0, d);
      const p = share(j, a);
      const t = p - P[j * n];
      const yd = dot(Y, delta, j * d, 0, d);
      value += t * t * y2[j] + 2 * t * p * yd + p * p * d2;
      if (!gradient) continue;
      const slope = 2 * (t * y2[j] + (p + t) * yd + p * d2) * steepness(j, a, p);
      const cross = 2 * t * p;
      alongDelta += 2 * p * p;
      for (let c = 0; c < d; c++) gradient[c] += slope * keys[j * d + c] + cross * Y[j * d + c];
    }
    const turned = moveRow(delta);
    const out = new Float64Array(d);
    for (let c = 0; c < d; c++) out[c] = shares0[0] * delta[c] - phi[c];
    for (let l = 0; l < n; l++) {
      for (let c = 0; c < d; c++) out[c] += shares0[l] * X[l * d + c];
    }
    value += dot(out, out);
    const scale = 1 / (size * size);
    if (!gradient) return value * scale;
    for (let l = 0; l < n; l++) h[l] = 2 * dot(X, out, l * d, 0, d);
    h[0] += 2 * dot(out, delta);
    kind.pull(scores0, shares0, h, n, pulled);
    for (let c = 0; c < d; c++) {
      let sum = gradient[c] + alongDelta * delta[c] + 2 * shares0[0] * out[c];
      for (let l = 1; l < n; l++) sum += pulled[l] * queries[l * d + c];
      gradient[c] = (sum + pulled[0] * (own0[c] + turned[c])) * scale;
    }
    return value * scale;
  }

  /** The features after word 0 moved, by their definition, and S. */
  function after(delta) {
    moveRow(delta);
    const moved = s.slice();
    moved.set(scores0, 0);
    for (let j = 1; j < n; j++) moved[j * n] += dot(keys, delta, j * d, 0, d);
    const shares = new Float64Array(n * n);
    for (let j = 0; j < n; j++) kind.attention(moved, j * n, n, shares);
    const text = X.slice();
    for (let c = 0; c < d; c++) text[c] += delta[c];
    const features = product(shares, text, n, n, d);
    let change = 0;
    for (let m = 0; m < n * d; m++) change += (features[m] - phi[m]) ** 2;
    return { shares, features, S: Math.sqrt(change) / size };
  }

  return {
    name, kind, n, d, X, x, Wr, W, keys, queries, s, P, phi, size, Y, y2, link, evaluate, after,
  };
}

/** The direction that raises every other row's score of word 0, at length √d. */
export function attracting(X, W, n, d) {
  const sum = new Float64Array(d);
  for (let j = 1; j < n; j++) {
    for (let b = 0; b < d; b++) {
      for (let c = 0; c < d; c++) sum[c] += X[j * d + b] * W[b * d + c];
    }
  }
  return ofLength(n > 1 ? sum : X.slice(0, d), Math.sqrt(d));
}

/** Fully connected features ϕ(V vec X) with ϕ = ReLU; V0 (k×d) is what multiplies word 0. */
export function denseLayer(X, V0, z, k, n, d) {
  const phi = z.map((value) => Math.max(0, value));
  const size = norm(phi);
  const back = transposed(V0, k, d);
  const active = new Float64Array(k); // changes of the features that still answer to Δ

  function evaluate(delta, gradient = null) {
    let value = 0;
    for (let j = 0; j < k; j++) {
      const at = z[j] + dot(V0, delta, j * d, 0, d);
      const change = Math.max(0, at) - phi[j];
      value += change * change;
      active[j] = at > 0 ? change : 0;
    }
    if (gradient) {
      const scale = 2 / (size * size);
      for (let c = 0; c < d; c++) gradient[c] = scale * dot(back, active, c * k, 0, k);
    }
    return value / (size * size);
  }

  function after(delta) {
    const features = new Float64Array(k);
    let value = 0;
    for (let j = 0; j < k; j++) {
      features[j] = Math.max(0, z[j] + dot(V0, delta, j * d, 0, d));
      value += (features[j] - phi[j]) ** 2;
    }
    return { shares: null, features, S: Math.sqrt(value) / size };
  }

  return { name: "fully-connected", n, d, k, X, x: X.slice(0, d), V0, z, phi, size, evaluate, after };
}
