/* Small dense linear algebra on Float64Array, row after row. */

export function dot(a, b, at = 0, bt = 0, length = b.length - bt) {
  let sum = 0;
  for (let c = 0; c < length; c++) sum += a[at + c] * b[bt + c];
  return sum;
}

export const norm = (a) => Math.sqrt(dot(a, a));

/** a (n×d) times b (d×m). */
export function product(a, b, n, d, m) {
  const out = new Float64Array(n * m);
  for (let i = 0; i < n; i++) {
    for (let c = 0; c < d; c++) {
      const factor = a[i * d + c];
      for (let j = 0; j < m; j++) out[i * m + j] += factor * b[c * m + j];
    }
  }
  return out;
}

/** a (n×d) times the transpose of b (m×d). */
export function productTransposed(a, b, n, d, m) {
  const out = new Float64Array(n * m);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) out[i * m + j] = dot(a, b, i * d, j * d, d);
  }
  return out;
}

export function transposed(a, n, m) {
  const out = new Float64Array(n * m);
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) out[j * n + i] = a[i * m + j];
  return out;
}

/** `a` at length `size`; zero stays zero. */
export function ofLength(a, size) {
  const length = norm(a);
  return length > 0 ? a.map((value) => (value * size) / length) : a.slice();
}

/** The largest eigenvalue of a symmetric m×m matrix: Householder's tridiagonal form, bisected. */
export function largestEigenvalue(matrix, m) {
  if (m === 0) return 0;
  const a = matrix.slice();
  const off = new Float64Array(m);
  const v = new Float64Array(m);
  const w = new Float64Array(m);
  for (let k = 0; k + 2 < m; k++) {
    let size = 0;
    for (let i = k + 1; i < m; i++) size += a[i * m + k] ** 2;
    size = Math.sqrt(size);
    if (size === 0) continue;
    const alpha = a[(k + 1) * m + k] > 0 ? -size : size;
    for (let i = k + 1; i < m; i++) v[i] = a[i * m + k];
    v[k + 1] -= alpha;
    let square = 0;
    for (let i = k + 1; i < m; i++) square += v[i] * v[i];
    off[k + 1] = alpha;
    let along = 0;
    for (let i = k + 1; i < m; i++) {
      let sum = 0;
      for (let j = k + 1; j < m; j++) sum += a[i * m + j] * v[j];
      w[i] = (2 * sum) / square;
      along += w[i] * v[i];
    }
    for (let i = k + 1; i < m; i++) w[i] -= (along / square) * v[i];
    for (let i = k + 1; i < m; i++) {
      for (let j = k + 1; j < m; j++) a[i * m + j] -= v[i] * w[j] + w[i] * v[j];
    }
  }
  if (m > 1) off[m - 1] = a[(m - 1) * m + m - 2];
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < m; i++) {
    const reach = Math.abs(off[i]) + (i + 1 < m ? Math.abs(off[i + 1]) : 0);
    low = Math.min(low, a[i * m + i] - reach);
    high = Math.max(high, a[i * m + i] + reach);
  }
  const allBelow = (at) => {
    let pivot = 1;
    for (let i = 0; i < m; i++) {
      pivot = a[i * m + i] - at - (i ? (off[i] * off[i]) / pivot : 0);
      if (pivot >= 0) return false;
    }
    return true;
  };
  for (let step = 0; step < 200; step++) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    if (allBelow(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** A number that the operator norm of a (n×m) does not exceed; see wordsway.maps.rigorous. */
export function normAbove(a, n, m) {
  if (n * m === 0) return 0;
  const small = Math.min(n, m);
  const gram =
    n >= m
      ? productTransposed(transposed(a, n, m), transposed(a, n, m), m, n, m)
      : productTransposed(a, a, n, m, n);
  let trace = 0;
  for (let i = 0; i < small; i++) trace += gram[i * small + i];
  const error = (Math.max(n, m) + 16 * small) * Number.EPSILON * trace;
  return Math.sqrt(Math.max(0, largestEigenvalue(gram, small)) + error);
}
