// One word: its numbers, its curve S(ρ) with certified bound, its change per layer, its real words.
import { h, number } from "./dom.js";
import { chart } from "./chart.js";

/** The change that has the longest bar. */
export const widest = (swaps) => Math.max(...swaps.map((one) => one.change), 1e-12);

export class WordCard {
  constructor() {
    this.title = h("h2", {});
    this.numbers = h("dl", {});
    this.curve = h("div", { class: "slot" });
    this.profile = h("div", { class: "slot" });
    this.real = h("div", { class: "real" });
    this.empty = h("p", { class: "soft hint" }, "Click a word to see how far a change of length ρ can move the model, S(ρ), the effect on every layer, and the real words that change the model most.");
    this.body = h("div", { hidden: true }, this.title, this.numbers, h("div", { class: "charts" }, this.curve, this.profile), this.real);
    this.element = h("section", { class: "card chosen", "aria-label": "The chosen word", "aria-live": "off" }, this.empty, this.body);
    this.index = null;
  }

  drawTitle(word) {
    this.empty.hidden = true;
    this.body.hidden = false;
    this.title.replaceChildren("“", h("bdi", {}, word.text), `”, word ${word.index}`);
  }

  drawNumbers(numbers) {
    this.numbers.replaceChildren(...Object.entries(numbers).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, h("bdi", {}, value))]));
  }

  drawCurve(word) {
    const points = word.curve.map((one) => [one.reach, one.lower]);
    this.curve.replaceChildren(chart({
      title: "Largest change found, by reach", xlabel: "reach ρ: length of Δ relative to the word's embedding", logx: true,
      xticks: word.curve.map((one) => one.reach),
      ceiling: word.upper, series: [{ name: "found", kind: "worst", points }],
    }), h("p", { class: "soft" }, `At reach ${points.at(-1)[0]} at least ${number(points.at(-1)[1])}${word.upper === null ? "" : `, at any reach at most ${number(word.upper)} (certified)`}. Δ is a change of the word's embedding, and the vertical axis is the relative change of the model's output. No Δ exceeds the certified bound.`));
  }

  drawProfile(word, layer) {
    const line = (values) => values.map((value, at) => [at, value]);
    const by = word.curve ? "worst Δ found" : "Δ along the worst small change";
    this.profile.replaceChildren(chart({
      title: `Relative change of every layer by the ${by}`, xlabel: "layer", mark: layer,
      xticks: word.profile.map((_, at) => at).filter((at) => at % Math.max(1, Math.ceil((word.profile.length - 1) / 8)) === 0),
      series: [{ name: by, kind: "worst", points: line(word.profile) }, { name: "noise", kind: "noise", points: line(word.noise ?? []), dots: true },
        ...(word.twin ? [{ name: "random weights", kind: "twin", points: line(word.twin) }] : [])],
    }), h("p", { class: "soft" }, "Noise is a random Δ of the same length: at reach 1 as long as one row of the word. A real word may need a longer Δ."));
  }

  // Words in the place of this one with their changes; `choose(word)` where they can be clicked.
  drawWords(title, remark, swaps, choose = null, top = widest(swaps)) {
    const cells = (one) => [h("span", { class: "name" }, h("bdi", {}, one.word), one.others ? ` and ${one.others.toLocaleString("en")} more` : ""), h("span", { class: "track" }, h("span", { class: "bar", style: { width: `${(100 * one.change) / top}%` } })), h("span", { class: "num" }, number(one.change))];
    const rows = swaps.map((one) => h("li", {}, choose
      ? h("button", { type: "button", class: "swap", "data-swap": one.word, "aria-label": `Compare with ${one.word}, change ${number(one.change)}`, onclick: () => choose(one.word) }, cells(one))
      : h("div", { class: "swap" }, cells(one))));
    return [h("h3", {}, title), h("p", { class: "soft" }, remark), h("ol", { class: "swaps" }, rows)];
  }
}
