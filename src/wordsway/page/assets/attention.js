// Attention before and after a Δ along the attracting direction; a slider sets its length.
import { asked, field, h, keep, last, number, option, remember } from "./dom.js";
import { get } from "./stream.js";
import { chart } from "./chart.js";
import { Matrix } from "./matrix.js";
import { Status } from "./status.js";
import { Export, numbers } from "./export.js";

const USUAL = { model: "minilm", layer: "1", head: "mean", reach: "1", seed: "0" };

export async function open(main) {
  new Place(main, await get("/api/models"), asked()).measure(false);
}

class Place {
  constructor(main, known, given) {
    this.state = { word: "", ...USUAL, ...(given.text ? {} : last()), ...given };
    this.status = new Status(() => this.measure(false));
    this.after = new Map();
    this.build(main, known);
  }

  build(main, known) {
    const state = this.state;
    this.text = h("textarea", { rows: 2, maxlength: known.text, "aria-label": "Text", spellcheck: "false", dir: "auto", value: state.text, oninput: () => keep(this.text.value) });
    const models = known.models.some((one) => one.name === state.model) ? known.models : [...known.models, { name: state.model, here: true }];
    this.model = h("select", { "aria-label": "Model" }, models.map((one) => option(one.name, one.here ? one.name : `${one.name} (downloads ${Math.round(one.bytes / 1e6)} MB)`, state.model)));
    this.word = h("select", { "aria-label": "Word", onchange: () => this.measure() }, option("", "the last word", ""));
    this.layer = h("select", { "aria-label": "Layer", onchange: () => this.measure() }, option(state.layer, state.layer, state.layer));
    this.head = h("select", { "aria-label": "Head", onchange: () => this.measure() }, option(state.head, state.head, state.head));
    this.form = h("form", { class: "ask card", onsubmit: (event) => { event.preventDefault(); if (this.text.value !== this.state.text) this.word.value = ""; this.measure(); } },
      h("div", { class: "texts" }, h("div", { class: "field wide" }, h("span", {}, "Text"), this.text)),
      h("div", { class: "controls" }, field("Model", this.model), field("Word", this.word), field("Layer", this.layer), field("Head", this.head),
        h("div", { class: "go" }, h("button", { type: "submit", class: "primary" }, "Show"))));
    this.slider = h("input", { type: "range", min: 0, max: 3, step: 0.25, "aria-label": "Length of Δ relative to the word's embedding", oninput: () => this.move() });
    this.slider.value = state.reach;
    this.length = h("output", { class: "length" });
    this.share = h("p", { class: "headline", role: "status" });
    this.before = new Matrix("Before");
    this.now = new Matrix("After");
    this.change = new Matrix("Difference");
    this.profile = h("div", { class: "slot" });
    this.table = h("details", { class: "all", ontoggle: () => this.list() }, h("summary", {}, "Attention to the word as a table"), h("div", { class: "scroll" }));
    this.exports = new Export(this.status, () => ({ attention: { ...this.body(), word: this.first.word, reach: Math.max(0.25, Number(this.slider.value)) } }));
    this.result = h("div", { class: "result", hidden: true },
      h("section", { class: "card" }, this.share, h("label", { class: "drag" }, h("span", {}, "Length of Δ"), this.slider, this.length),
        h("p", { class: "soft" }, "Rows attend to columns; each row sums to 1. Δ points in the direction that most increases the first layer's attention scores for the word."),
        h("div", { class: "matrices" }, this.before.element, this.now.element, this.change.element)),
      h("section", { class: "card below" }, this.profile, this.table), this.exports.element);
    main.replaceChildren(h("h1", {}, "Draw attention to a word"),
      h("p", { class: "lead" }, "A model represents a word by a vector, its embedding. Add a change Δ to the embedding of one word and see how much the other tokens attend to it, in any layer and head."), this.form, this.status.element, this.result);
    addEventListener("popstate", () => location.reload());
  }

  body() {
    const state = this.state;
    return { text: state.text, model: state.model, layer: state.layer, head: state.head, seed: Number(state.seed), reach: Math.max(0.25, Number(state.reach)), ...(state.word === "" ? {} : { word: Number(state.word) }) };
  }

  save(push = false) { remember(this.state, push, USUAL); }

  async measure(push = true) {
    if (!this.text.value.trim()) { this.status.failed(new Error("Enter a text first.")); return; }
    if (push) Object.assign(this.state, { text: this.text.value, model: this.model.value, word: this.word.value, layer: this.layer.value, head: this.head.value, reach: this.slider.value });
    this.save(push);
    if (await this.status.follow("/api/attention", this.body(), (event) => this.receive(event), this.result)) this.status.done("All slider positions are ready.");
  }

  receive(event) {
    if (event.kind === "before") {
      this.first = event;
      this.after = new Map();
      this.exports.show(event.command, event.python);
      this.word.replaceChildren(...event.words.map((one) => option(String(one.index), `${one.text} (${one.index})`, String(event.word))));
      const range = (count, first) => Array.from({ length: count }, (_, at) => String(at + first));
      this.layer.replaceChildren(...range(event.layers, 1).map((one) => option(one, `${one} of ${event.layers}`, String(event.layer))));
      this.head.replaceChildren(option("mean", "mean of all heads", this.state.head), ...range(event.heads, 0).map((one) => option(one, `head ${one}`, this.state.head)));
      this.tokens = event.tokens.map((one) => one.piece);
      this.before.set(this.tokens, event.rows, event.matrix);
      this.status.working("Computing…");
    }
    if (event.kind === "after") {
      this.after.set(event.reach, event);
      this.status.working("Computing all slider positions…", this.after.size / this.first.reaches.length);
      if (this.result.hidden || Number(this.slider.value) === event.reach) { this.result.hidden = false; this.move(false); }
    }
  }

  // Shows the attention for this length of Δ; 0 is the unchanged text.
  move(save = true) {
    const reach = Number(this.slider.value);
    this.length.textContent = `${reach.toFixed(2)} × the length of the word's embedding`;
    if (save) { this.state.reach = String(reach); this.save(); }
    const found = reach === 0 ? { matrix: this.first.matrix, share: this.first.share } : this.after.get(reach);
    if (found?.command) this.exports.show(found.command, found.python);
    if (!found) { this.share.textContent = "Computing this position…"; return; }
    this.now.set(this.tokens, this.first.rows, found.matrix);
    this.change.set(this.tokens, this.first.rows, found.matrix.map((row, j) => row.map((value, i) => value - this.first.matrix[j][i])), true);
    const name = this.first.rows.map((row) => this.tokens[row].replace(/^##/, "")).join("");
    this.share.replaceChildren("Attention of the other tokens to ", h("b", {}, "“", h("bdi", {}, name), "”"), `: ${(100 * this.first.share).toFixed(1)} % before the change, `, h("b", { class: "share" }, `${(100 * found.share).toFixed(1)} %`), " after it.");
    this.drawProfile(found);
    this.list();
  }

  drawProfile(found) {
    if (!found.profile) return;
    const line = (values) => values.map((value, at) => [at, value]);
    this.profile.replaceChildren(chart({
      title: `Relative change of every layer: this Δ and noise, a random Δ of the same length (reach ${Number(this.slider.value)})`, xlabel: "layer", width: innerWidth < 640 ? 380 : 640, height: 240,
      xticks: found.profile.map((_, at) => at).filter((at) => at % Math.max(1, Math.ceil((found.profile.length - 1) / 12)) === 0),
      series: [{ name: "attracting Δ", kind: "worst", points: line(found.profile) }, { name: "noise", kind: "noise", points: line(found.noise) }],
    }));
  }

  list() {
    if (!this.table.open || !this.first) return;
    const found = this.after.get(Number(this.slider.value));
    const to = (matrix, row) => this.first.rows.reduce((sum, column) => sum + matrix[row][column], 0);
    this.table.lastElementChild.replaceChildren(numbers(["token", "before", "after"], this.tokens.map((token, row) =>
      [h("bdi", {}, token), number(to(this.first.matrix, row)), found ? number(to(found.matrix, row)) : "–"])));
  }
}
