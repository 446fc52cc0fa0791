// Words: how far each word moves the model; tiers appear as they are measured.
import { asked, field, h, keep, last, numeric, option, plural, remember } from "./dom.js";
import { HeatMap } from "./heat.js";
import { get } from "./stream.js";
import { Status } from "./status.js";
import { Export } from "./export.js";
import { WordPanel } from "./word.js";

const USUAL = { model: "minilm", layer: "last", target: "layer", tiers: "", seed: "0" };
const TARGETS = {
  layer: "one layer", all: "all layers (root mean square)", pooled: "the text's embedding (pooled)",
  cosine: "the text's embedding (1 − cosine)", logits: "a classifier's logits", "next-token": "next-token probabilities",
};
const ALL = "mean-local,local,real-words,curve";
const TIERS = {
  "": "default", "mean-local": "mean local only", "mean-local,local,real-words": "mean local, local, real words",
  [ALL]: "all, including S(ρ)",
};

export async function open(main) {
  const known = await get("/api/models");
  new Place(main, known, asked()).measure(false);
}

class Place extends HeatMap {
  constructor(main, known, given) {
    const panel = new WordPanel();
    super(panel);
    panel.place = this;
    this.status = new Status(() => this.measure(false));
    this.state = { ...USUAL, ...(given.text ? {} : last()), ...given };
    if (!ALL.split(",").includes(this.state.colour)) this.state.colour = "";
    this.chosenTier = this.state.colour;
    this.build(main, known);
  }

  build(main, known) {
    const state = this.state;
    const area = (value, label, rows) => h("textarea", { rows, maxlength: known.text, "aria-label": label, spellcheck: "false", value: value ?? "", dir: "auto", oninput: () => keep(this.text.value),
      onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.form.requestSubmit(); } });
    this.text = area(state.text, "Text", 3);
    this.other = area(state.other, "Second text", 3);
    this.second = h("div", { class: "field wide", hidden: !state.other }, h("span", {}, "Second text"), this.other);
    const models = known.models.some((one) => one.name === state.model) ? known.models : [...known.models, { name: state.model, here: true }];
    this.model = h("select", { "aria-label": "Model" }, models.map((one) =>
      option(one.name, one.here ? one.name : `${one.name} (downloads ${Math.round(one.bytes / 1e6)} MB)`, state.model)));
    this.target = h("select", { "aria-label": "Target", onchange: () => this.layers() }, Object.entries(TARGETS).map(([value, name]) => option(value, name, state.target)));
    this.layer = h("input", { "aria-label": "Layer", value: state.layer, size: 4, pattern: "last|input|[0-9]{1,3}", title: "last, input, or a number" });
    this.tiers = h("select", { "aria-label": "Tiers" }, Object.entries(TIERS).map(([value, name]) => option(value, name, state.tiers)));
    this.seed = numeric("Seed", state.seed, 0, 2 ** 31 - 1);
    this.compare = h("button", { type: "button", class: "plain", "aria-expanded": String(!this.second.hidden), onclick: () => this.toggle() }, this.second.hidden ? "Compare with a second text" : "Remove the second text");
    this.layerField = field("Layer", this.layer);
    this.form = h("form", { class: "ask card", onsubmit: (event) => { event.preventDefault(); this.measure(); } },
      h("div", { class: "texts" }, h("div", { class: "field wide" }, h("span", {}, "Text"), this.text), this.second),
      h("div", { class: "controls" }, field("Model", this.model), field("Target", this.target), this.layerField, field("Tiers", this.tiers), field("Seed", this.seed),
        h("div", { class: "go" }, h("button", { type: "submit", class: "primary" }, "Measure"), this.compare)));
    this.exports = new Export(this.status, () => ({ words: this.body() }));
    this.more.append(this.exports.element);
    this.result = h("div", { class: "result", hidden: true }, this.stage);
    main.replaceChildren(h("h1", {}, "How far does each word move the model?"),
      h("p", { class: "lead" }, "Enter a text. Each word is changed while the others stay the same; its colour shows how far that moves the model's representation of the text. The default tier, mean local, is the average response to small changes of the word."),
      this.form, this.status.element, this.result);
    this.layers();
    addEventListener("popstate", () => location.reload());
  }

  layers() {
    this.layerField.hidden = this.target.value !== "layer";
  }

  toggle() {
    this.second.hidden = !this.second.hidden;
    if (this.second.hidden) this.other.value = "";
    this.compare.textContent = this.second.hidden ? "Compare with a second text" : "Remove the second text";
    this.compare.setAttribute("aria-expanded", String(!this.second.hidden));
    if (!this.second.hidden) this.other.focus();
  }

  body() {
    const state = this.state;
    return {
      text: state.text, model: state.model, layer: state.layer, target: state.target, seed: Number(state.seed),
      ...(state.tiers ? { tiers: state.tiers.split(",") } : {}), ...(state.colour ? { colour: state.colour } : {}), ...(state.other ? { other: state.other } : {}), ...(state.cut ? { cut: true } : {}),
    };
  }

  // Compares the text with one in which a word is replaced.
  compareWith(text) {
    this.other.value = text;
    this.second.hidden = true;
    this.toggle();
    this.other.value = text;
    this.measure();
    this.form.scrollIntoView({ block: "nearest" });
  }

  async measure(push = true) {
    if (!this.text.value.trim()) { this.text.focus(); this.status.failed(new Error("Enter a text first.")); return; }
    const { word: chosen, cut } = this.state;
    const same = this.state.text === this.text.value;
    this.state = {
      text: this.text.value, other: this.second.hidden ? "" : this.other.value.trim() && this.other.value, model: this.model.value, layer: this.layer.value.trim() || "last",
      target: this.target.value, tiers: this.tiers.value, seed: this.seed.value || "0", colour: this.state.colour ?? "", word: push ? "" : chosen, cut: same ? cut : "",
    };
    this.save(push);
    this.edits = [[], []];
    this.between.hidden = true;
    this.fresh = true;
    this.card.clear();
    if (await this.status.follow("/api/words", this.body(), (event) => this.receive(event), this.result, (error) => this.failed(error))) {
      const seconds = this.texts[0].result.seconds;
      this.status.done(`${plural(this.texts[0].result.words.length, "word")}, ${this.texts[0].result.tiers.length === 1 ? "one tier" : `${this.texts[0].result.tiers.length} tiers`}, ${seconds.toFixed(1)} s`);
      const place = this.texts[0].result.words.findIndex((word) => String(word.index) === this.state.word);
      if (place >= 0) this.choose(place, 0);
    }
  }

  failed(error) {
    const long = error.reason?.remedy?.includes("--cut");
    if (long) error.message = `This text is too long for the model: ${error.message.replace(/: [^:]*--cut.*$/, "")}.`;
    this.status.failed(error);
    if (long) this.status.offer("Measure the beginning", () => { this.state.cut = "1"; this.measure(); });
  }

  save(push = false) {
    remember(this.state, push, USUAL);
  }

  receive(event) {
    if (event.kind === "command") { this.commands = event; this.export(); }
    if (event.kind === "edits") { this.edits = event.words; this.draw(); }
    if (event.kind === "pair") this.drawBetween(event);
    if (event.kind === "words") {
      if (this.fresh) { this.texts = [null, null]; this.fresh = false; }
      this.texts[event.which] = event;
      this.draw();
      this.card.refresh();
    }
  }

  // If S(ρ) of a word is shown, the commands measure it.
  export() {
    const shown = [this.commands?.coloured[this.state.colour] ?? this.commands, this.card.commands].filter(Boolean);
    this.exports.show(shown.map((one) => one.command).join("\n"), shown.map((one) => one.python).join("\n\n"));
  }

  // The similarity of the two texts, compared with random words in the same place.
  drawBetween({ cosine, percentile }) {
    const less = percentile === null ? "" : ` ${percentile} of random words in the same place change the embedding less; in brackets: the 95 % interval.`;
    this.between.replaceChildren("Cosine similarity of the two texts: ", h("b", {}, cosine.toFixed(3)), `.${less} Words that differ are underlined.`);
    this.between.hidden = false;
  }

  draw() {
    super.draw();
    this.result.hidden = !this.texts[0];
  }

  colour(tier) {
    this.state.colour = tier;
    this.save();
    super.colour(tier);
    this.export();
  }

  choose(place, which) {
    if (which === 0 && this.texts[0]) { this.state.word = String(this.texts[0].result.words[place].index); this.save(); }
    super.choose(place, which);
  }

}
