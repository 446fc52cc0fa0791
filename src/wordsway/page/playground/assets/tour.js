/* The guided tour: seven states of the page, each with an explanation. */

const START = { n: 12, d: 32, temperature: 1, scores: "softmax", seed: 0 };
const rounded = (value, digits = 2) => (value === null ? "…" : value.toFixed(digits));

/** go: the state that the step sets; pin: the position of the handle; say(numbers): its text. */
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
      "The first word moves by Δ, which is at most as long as the word: anywhere in the disc. " +
      `The layer’s output changes by ${rounded(m.S)} of its size. ` +
      "Drag the handle, or use the arrow keys, and watch this number.",
  },
  {
    title: "Some changes attract attention",
    go: START,
    pin: "attract",
    say: (m) =>
      "The direction to the right raises the mean of the other words’ scores for the changed word. " +
      `They gave it ${m.heardBefore} of their attention and now give it ${m.heardAfter}: the ` +
      "first column stands out. The outputs of the words that attend to it change, too: " +
      `the layer’s output moves by ${rounded(m.S)} of its size.`,
  },
  {
    title: "The worst change, and a ceiling above it",
    go: START,
    pin: "worst",
    say: (m) =>
      "S is the change for the worst Δ up to the length of the word. A search over all 32 " +
      `dimensions found this Δ, with a change of ${rounded(m.worst)}. It attracts less attention ` +
      "on average but changes more: a few rows give nearly all of theirs. Could there be a worse " +
      `one? Not beyond ${rounded(m.ceiling)}: that ceiling is certified for every Δ. S lies between ` +
      "the two.",
  },
  {
    title: "Fully connected features have fixed weights",
    go: { ...START, scores: "fully-connected" },
    pin: "worst",
    say: (m) =>
      "The same text in a layer without attention: 512 features, each a weighted sum of the " +
      `whole text. Even the worst change found is only ${rounded(m.worst)} here, and the ` +
      `ceiling is ${rounded(m.ceiling)}. Every sum has 12 words, and its weights do not depend on ` +
      "the words: no word can attract more weight.",
  },
  {
    title: "A longer text: softmax stays sensitive, fully connected features do not",
    go: { ...START, n: 64 },
    pin: "worst",
    say: (m) =>
      `With 64 words, the worst change found is ${rounded(m.worst)} for softmax attention, and ` +
      `${rounded(m.otherWorst)} for fully connected features: their S falls like 1/√n. A softmax ` +
      `row can give most of its attention to one word, and ${m.won ?? "…"} of 63 do here. The ` +
      "outputs of the others are averages of many words and therefore small, so that those few " +
      "rows dominate S. " +
      "The chart below shows every length.",
  },
  {
    title: "Explore",
    go: { ...START, n: 32, scores: "relu" },
    pin: "worst",
    say: (m) =>
      "With shares proportional to the scores (normalised ReLU), the worst change found is " +
      `${rounded(m.worst)} here and falls as the text grows: see the chart. ` +
      "Try the other score functions; raise the temperature until S of softmax is small, too; or " +
      "choose 64 words of 4 dimensions.",
  },
];
