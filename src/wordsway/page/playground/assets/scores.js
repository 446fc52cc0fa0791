/* Kinds of scores: what a row of scores becomes, and how it answers to a change.

   attention(s, at, n, out)  shares of the row of n scores that begins at s[at], into out[at …]
   pull(s, r, h, n, out)     the gradient with respect to s of Σ h_l r_l
   logit(s, at, n)           where the share of key 0 is σ(logit + move), else null */

export function sigma(u) {
  const e = Math.exp(-Math.abs(u));
  return u >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/** Softmax; a sink is one more key with score 0 and nothing to say. */
function exponential(sink) {
  const top = (s, at, n, from) => {
    let best = sink ? 0 : -Infinity;
    for (let l = from; l < n; l++) best = Math.max(best, s[at + l]);
    return best;
  };
  return {
    normalised: true,
    sink,
    attention(s, at, n, out) {
      const best = top(s, at, n, 0);
      let total = sink ? Math.exp(-best) : 0;
      for (let l = 0; l < n; l++) total += out[at + l] = Math.exp(s[at + l] - best);
      for (let l = 0; l < n; l++) out[at + l] /= total;
    },
    pull(s, r, h, n, out) {
      let mean = 0;
      for (let l = 0; l < n; l++) mean += r[l] * h[l];
      for (let l = 0; l < n; l++) out[l] = r[l] * (h[l] - mean);
    },
    logit(s, at, n) {
      const best = top(s, at, n, 1);
      let total = sink ? Math.exp(-best) : 0;
      for (let l = 1; l < n; l++) total += Math.exp(s[at + l] - best);
      return s[at] - best - Math.log(total);
    },
  };
}

const relu = {
  normalised: true,
  sink: false,
  attention(s, at, n, out) {
    let total = 0;
    for (let l = 0; l < n; l++) total += out[at + l] = Math.max(0, s[at + l]);
    for (let l = 0; l < n; l++) out[at + l] /= total > 0 ? total : 1;
  },
  pull(s, r, h, n, out) {
    let total = 0;
    let mean = 0;
    for (let l = 0; l < n; l++) {
      total += Math.max(0, s[l]);
      mean += r[l] * h[l];
    }
    for (let l = 0; l < n; l++) out[l] = s[l] > 0 ? (h[l] - mean) / total : 0;
  },
  logit: null,
};

const sigmoid = {
  normalised: false,
  sink: false,
  attention(s, at, n, out) {
    const log = Math.log(n);
    for (let l = 0; l < n; l++) out[at + l] = sigma(s[at + l] - log);
  },
  pull(s, r, h, n, out) {
    const log = Math.log(n);
    for (let l = 0; l < n; l++) out[l] = h[l] * r[l] * sigma(log - s[l]);
  },
  logit: (s, at, n) => s[at] - Math.log(n),
};

export const SCORES = { softmax: exponential(false), sink: exponential(true), sigmoid, relu };
