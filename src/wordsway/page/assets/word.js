// The card of a word on the page; its curve and real replacements are computed when it is opened.
import { h } from "./dom.js";
import { WordCard } from "./card.js";
import { Status } from "./status.js";

export class WordPanel extends WordCard {
  constructor() {
    super();
    this.status = new Status(() => { if (this.index !== null) this.open(this.index, this.which); });
    this.numbers.after(this.status.element);
    this.known = {};
  }

  clear() {
    this.status.leaving?.abort();
    this.index = null;
    this.body.hidden = true;
    this.empty.hidden = false;
    this.key = null;
    this.commands = null;
  }

  get text() { return this.place.texts[this.which]; }

  refresh() {
    if (this.index === null || !this.text) return;
    this.drawNumbers({ ...this.text.numbers[this.index], ...this.known });
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
    this.drawTitle(word);
    this.known = {};
    this.commands = null;
    this.place.export();
    this.refresh();
    this.curve.replaceChildren(h("p", { class: "soft waiting" }, "Computing S(ρ)…"));
    if (word.profile) this.drawProfile(word, this.text.result.layer);
    else this.profile.replaceChildren(h("p", { class: "soft waiting" }, "Waiting for S(ρ)…"));
    this.real.replaceChildren(h("p", { class: "soft waiting" }, "Searching for real words…"));
    if (innerWidth < 960) this.element.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    if (await this.status.follow("/api/word", body, (event) => this.receive(event))) this.status.done("");
    else if (key === this.key) this.key = null;
  }

  receive(event) {
    if (event.kind === "curve") { this.known = event.numbers; this.commands = event; this.place.export(); this.refresh(); this.drawCurve(event.word); this.drawProfile(event.word, event.layer); }
    if (event.kind === "swaps") this.drawSwaps(event.swaps);
  }

  drawSwaps(swaps) {
    const text = this.text.result.text;
    const word = this.text.result.words[this.index];
    const remark = `${swaps.evaluated.toLocaleString("en")} of ${swaps.candidates.toLocaleString("en")} candidates were evaluated; these change ${swaps.target} most. Click one to compare the texts.`;
    this.real.replaceChildren(...this.drawWords("Real words in its place", remark, swaps.swaps,
      (other) => this.place.compareWith(text.slice(0, word.start) + other + text.slice(word.end))));
  }
}
