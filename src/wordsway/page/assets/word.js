// One word: its numbers, its curve S(ρ) with certified bound, its change per layer, its real words.
import { h, number } from "./dom.js";
import { ask } from "./stream.js";
import { chart } from "./chart.js";
import { Status } from "./status.js";

export class WordPanel {
  constructor(place) {
    this.place = place;
    this.status = new Status(() => { if (this.index !== null) this.open(this.index, this.which); });
    this.title = h("h2", {});
    this.numbers = h("dl", {});
    this.curve = h("div", { class: "slot" });
    this.profile = h("div", { class: "slot" });
    this.real = h("div", { class: "real" });
    this.empty = h("p", { class: "soft hint" }, "Click a word to see its curve S(ρ), its effect on every layer, and the real words that change the model most.");
    this.body = h("div", { hidden: true }, this.title, this.numbers, this.status.element, h("div", { class: "charts" }, this.curve, this.profile), this.real);
    this.element = h("section", { class: "card chosen", "aria-label": "The chosen word", "aria-live": "off" }, this.empty, this.body);
    this.index = null;
    this.known = {};
  }

  clear() {
    this.leaving?.abort();
    this.index = null;
    this.body.hidden = true;
    this.empty.hidden = false;
    this.key = null;
  }

  get text() { return this.place.texts[this.which]; }

  refresh() {
    if (this.index === null || !this.text) return;
    const numbers = { ...this.text.numbers[this.index], ...this.known };
    this.numbers.replaceChildren(...Object.entries(numbers).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  async open(index, which) {
    this.index = index;
    this.which = which;
    const word = this.text.result.words[index];
    const state = this.place.body();
    const body = { text: this.text.result.text, model: state.model, layer: state.layer, target: state.target, seed: state.seed, index: word.index };
    const key = JSON.stringify(body);
    if (key === this.key) return;
    this.key = key;
    this.leaving?.abort();
    const mine = this.leaving = new AbortController();
    this.empty.hidden = true;
    this.body.hidden = false;
    this.title.replaceChildren("“", h("bdi", {}, word.text), `”, word ${word.index}`);
    this.known = {};
    this.refresh();
    this.curve.replaceChildren(h("p", { class: "soft waiting" }, "Computing S(ρ)…"));
    if (word.profile) this.drawProfile(word, this.text.result.layer);
    else this.profile.replaceChildren(h("p", { class: "soft waiting" }, "Waiting for S(ρ)…"));
    this.real.replaceChildren(h("p", { class: "soft waiting" }, "Searching real words…"));
    this.status.working("Computing S(ρ)…");
    if (innerWidth < 960) this.element.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    try {
      await ask("/api/word", body, (event) => this.receive(event), mine.signal);
      this.status.done("");
    } catch (error) {
      if (mine === this.leaving) { this.key = null; this.status.failed(error); }
    }
  }

  receive(event) {
    if (event.kind === "progress") this.status.progress(event);
    if (event.kind === "curve") { this.known = event.numbers; this.refresh(); this.drawCurve(event.word); this.drawProfile(event.word, event.layer); }
    if (event.kind === "swaps") this.drawSwaps(event.swaps);
  }

  drawCurve(word) {
    const points = word.curve.map((one) => [one.reach, one.lower]);
    this.curve.replaceChildren(chart({
      title: "Largest change found, by reach", xlabel: "reach ρ: length of Δ relative to the word's embedding", logx: true,
      xticks: word.curve.map((one) => one.reach).filter((_, at, all) => (all.length - 1 - at) % 2 === 0),
      ceiling: word.upper, series: [{ name: "found", kind: "worst", points }],
    }), h("p", { class: "soft" }, `At reach ${points.at(-1)[0]} at least ${number(points.at(-1)[1])}${word.upper === null ? "" : `, ${word.upper_reach ? "there" : "at any reach"} at most ${number(word.upper)} (certified)`}. Δ is added to the word's embedding; the height is the relative change of the model's output. No Δ exceeds the certified bound.`));
  }

  drawProfile(word, layer) {
    const line = (values) => values.map((value, at) => [at, value]);
    this.profile.replaceChildren(chart({
      title: "Change of every layer, compared with noise", xlabel: "layer", mark: layer,
      xticks: word.profile.map((_, at) => at).filter((at) => at % Math.max(1, Math.ceil((word.profile.length - 1) / 8)) === 0),
      series: [{ name: word.curve ? "worst Δ found" : "worst small Δ", kind: "worst", points: line(word.profile) }, { name: "noise", kind: "noise", points: line(word.noise), dots: true }],
    }), h("p", { class: "soft" }, "Noise: a random Δ of the same length."));
  }

  drawSwaps(swaps) {
    const top = Math.max(...swaps.swaps.map((one) => one.change), 1e-12);
    const text = this.text.result.text;
    const word = this.text.result.words[this.index];
    const rows = swaps.swaps.map((one) => h("li", {}, h("button", { type: "button", class: "swap", "data-swap": one.word,
      "aria-label": `Compare with ${one.word}, change ${number(one.change)}`,
      onclick: () => this.place.compareWith(text.slice(0, word.start) + one.word + text.slice(word.end)) },
    h("span", { class: "name" }, h("bdi", {}, one.word)), h("span", { class: "track" }, h("span", { class: "bar", style: { width: `${(100 * one.change) / top}%` } })), h("span", { class: "num" }, number(one.change)))));
    this.real.replaceChildren(h("h3", {}, "Real words in its place"),
      h("p", { class: "soft" }, `${swaps.evaluated.toLocaleString("en")} of ${swaps.candidates.toLocaleString("en")} candidates were evaluated; these change ${swaps.target} most. Click one to compare the texts.`),
      h("ol", { class: "swaps" }, rows));
  }
}
