/* Gaussian numbers with addresses: the twin of wordsway.page.playground.instance. */

export const STREAMS = { text: 1, weight: 2, features: 3 };
const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24];
const PARITY = 0x1bd11bda;
let half0 = 0; // the 64 bits of the last call
let half1 = 0;

/** Threefry-2×32, 20 rounds; the answer is in `half0` and `half1`. */
function scramble(key0, key1, key2, counter0, counter1) {
  let a = (counter0 + key0) | 0;
  let b = (counter1 + key1) | 0;
  for (let block = 1; block <= 5; block++) {
    const from = (block & 1) === 1 ? 0 : 4;
    for (let turn = from; turn < from + 4; turn++) {
      a = (a + b) | 0;
      b = ((b << ROTATIONS[turn]) | (b >>> (32 - ROTATIONS[turn]))) ^ a;
    }
    const key = block % 3;
    a = (a + (key === 0 ? key0 : key === 1 ? key1 : key2)) | 0;
    b = (b + (key === 0 ? key1 : key === 1 ? key2 : key0) + block) | 0;
  }
  half0 = a >>> 0;
  half1 = b >>> 0;
}

/** Standard Gaussian numbers first … first + count − 1 of a stream; first is even. */
export function normals(seed, stream, first, count) {
  const out = new Float64Array(count);
  const key2 = seed ^ stream ^ PARITY;
  for (let m = 0; m < count; m += 2) {
    scramble(seed | 0, stream | 0, key2, (first + m) / 2, 0);
    const radius = Math.sqrt(-2 * Math.log((half0 + 0.5) / 4294967296));
    const angle = 2 * Math.PI * ((half1 + 0.5) / 4294967296);
    out[m] = radius * Math.cos(angle);
    if (m + 1 < count) out[m + 1] = radius * Math.sin(angle);
  }
  return out;
}
