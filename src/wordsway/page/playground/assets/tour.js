/* The guided tour: seven states of the page, each with what there is to see. */

const START = { n: 12, d: 32, temperature: 1, scores: "softmax", seed: 0 };
const rounded = (value, digits = 2) => (value === null ? "…" : value.toFixed(digits));

/** go: what the step sets; pin: where the handle goes; say(numbers): what it tells. */
export const STEPS = [
  {
    title: "A text is a list of words, a word a list of numbers",
    go: START,
    pin: "zero",
    say: () =>
      "Here are 12 words of 32 random numbers each, in a layer with random weights: nothing is " +
      "trained. Each row of the square below shows how one word divides its attention among all " +
      "words. Nothing has changed yet, so before and after are the same.",
  },
  {
    title: "Now one word changes",
    go: START,
    pin: [0.25, -0.3],
    say: (m) =>
      "The first word moves by Δ, at most as far as the word is long: anywhere in the disc. " +
      `S = ${rounded(m.S)} says how far all outputs of the layer moved together, measured by ` +
      "their own length. Drag the handle, or use the arrow keys, and watch S.",
  },
  {
    title: "Some changes attract attention",
    go: START,
    pin: "attract",
    say: (m) =>
      "To the right lies the direction that raises every other word’s score for the changed " +
      `word. The first column lights up: it held ${m.heardBefore} of the others’ attention and ` +
      `now holds ${m.heardAfter}. Whoever listens to the changed word changes, too: ` +
      `S = ${rounded(m.S)}.`,
  },
  {
    title: "The worst change, and a ceiling above it",
    go: START,
    pin: "worst",
    say: (m) =>
      `A search over all 32 dimensions found this Δ with S = ${rounded(m.worst)}. Could there be ` +
      `a worse one? Not beyond ${rounded(m.ceiling)}: that ceiling is proved for every Δ in the ` +
      "ball, found or not. The truth lies between the two.",
  },
  {
    title: "Fully connected features hear everyone at once",
    go: { ...START, scores: "fully-connected" },
    pin: "worst",
    say: (m) =>
      "The same text in a layer without attention: 512 features, each a weighted sum of the " +
      `whole text. Even its own worst change reaches only S = ${rounded(m.worst)}, and the ` +
      `ceiling is ${rounded(m.ceiling)}. One word is one part in 12 of every sum, and it cannot ` +
      "ask for more.",
  },
  {
    title: "A longer text: one keeps the word, the other loses it",
    go: { ...START, n: 64, d: 64 },
    pin: "worst",
    say: (m) =>
      `With 64 words, softmax attention still has S = ${rounded(m.worst)}, while fully connected ` +
      `features are down to ${rounded(m.otherWorst)}: they fall like 1/√n. A softmax row can be won ` +
      `over whole, and ${m.won ?? "…"} of 63 are here; the outputs of all others are averages of ` +
      "many words, hence short, so that those few count. The chart below has every length.",
  },
  {
    title: "Now it is yours",
    go: { ...START, n: 32, d: 64, scores: "relu" },
    pin: "worst",
    say: (m) =>
      `With shares in proportion to scores (normalised ReLU), S is ${rounded(m.worst)} here and ` +
      "falls as the text grows: see the chart. " +
      "Try the other kinds; raise the temperature until softmax whispers, too; or take more " +
      "words than dimensions, where no single direction attracts them all.",
  },
];
