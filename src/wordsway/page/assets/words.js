// Words: how far each word moves the model; tiers appear as they are measured.
import { asked, field, h, hint, option, plural, remember } from "./dom.js";
import { ask, get } from "./stream.js";
import { Status } from "./status.js";
import { Export } from "./export.js";
import { WordPanel } from "./word.js";

const EXAMPLE = "I love her much";
const TARGETS = {
  layer: "hidden states of a layer", all: "all layers, on average", pooled: "the text's embedding",
  cosine: "the embedding's direction (cosine)", logits: "a classifier's logits", "next-token": "the next token",
};
const ALL = "mean-local,local,real-words,curve";
const TIERS = {
  "": "default", "mean-local": "mean local only", "mean-local,local,real-words": "mean local, local, real words",
  [ALL]: "all, including S(ρ)",
};

export async function open(main) {
  const known = await get("/api/models");
  new Place(main, known, asked()).start();
}

class Place {
  constructor(main, known, given) {
    this.status = new Status(() => this.measure(false));
    this.panel = new WordPanel(this);
    this.texts = [null, null];
    this.state = { model: "minilm", layer: "last", target: "layer", tiers: "", seed: "0", ...given };
    if (!ALL.split(",").includes(this.state.colour)) this.state.colour = "";
    this.build(main, known);
  }

  build(main, known) {
    const state = this.state;
    const area = (value, label, rows) => h("textarea", { rows, maxlength: known.text, "aria-label": label, spellcheck: "false", value: value ?? "", dir: "auto",
      onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.form.requestSubmit(); } });
    this.text = area(state.text ?? EXAMPLE, "Text", 3);
    this.other = area(state.other, "Second text", 3);
    this.second = h("div", { class: "field wide", hidden: !state.other }, h("span", {}, "Second text"), this.other);
    const models = known.models.some((one) => one.name === state.model) ? known.models : [...known.models, { name: state.model, here: true }];
    this.model = h("select", { "aria-label": "Model" }, models.map((one) =>
      option(one.name, one.here ? one.name : `${one.name} (downloads ${Math.round(one.bytes / 1e6)} MB)`, state.model)));
    this.target = h("select", { "aria-label": "Target", onchange: () => this.layers() }, Object.entries(TARGETS).map(([value, name]) => option(value, name, state.target)));
    this.layer = h("input", { "aria-label": "Layer", value: state.layer, size: 4, pattern: "last|input|[0-9]{1,3}", title: "last, input, or a number" });
    this.tiers = h("select", { "aria-label": "What to measure" }, Object.entries(TIERS).map(([value, name]) => option(value, name, state.tiers)));
    this.seed = h("input", { "aria-label": "Seed", value: state.seed, size: 4, inputmode: "numeric", pattern: "[0-9]{1,9}" });
    this.compare = h("button", { type: "button", class: "plain", "aria-expanded": String(!this.second.hidden), onclick: () => this.toggle() }, this.second.hidden ? "Compare with a second text" : "Remove the second text");
    this.layerField = field("Layer", this.layer);
    this.form = h("form", { class: "ask card", onsubmit: (event) => { event.preventDefault(); this.measure(); } },
      h("div", { class: "texts" }, h("div", { class: "field wide" }, h("span", {}, "Text"), this.text), this.second),
      h("div", { class: "controls" }, field("Model", this.model), field("Target", this.target), this.layerField, field("Measure", this.tiers), field("Seed", this.seed),
        h("div", { class: "go" }, h("button", { type: "submit", class: "primary" }, "Measure"), this.compare)));
    this.headline = h("p", { class: "headline" });
    this.plain = h("p", { class: "plainly" });
    this.between = h("p", { class: "plainly", hidden: true });
    this.notes = h("div", { class: "notes" });
    this.colours = h("div", { class: "colours", role: "radiogroup", "aria-label": "Order and colour the words by" });
    this.flows = h("div", { class: "flows" });
    this.scale = h("p", { class: "scale" });
    this.meaning = h("p", { class: "soft" });
    this.table = h("details", { class: "all", ontoggle: () => this.list() }, h("summary", {}, "Table of all words"), h("div", { class: "scroll" }));
    this.exports = new Export(this.status, () => ({ words: this.body() }));
    this.facts = h("details", { class: "all" }, h("summary", {}, "Details"), h("dl", {}));
    this.stage = h("div", { class: "stage" },
      h("section", { class: "card text", "aria-label": "The text, coloured" }, this.between, this.headline, this.plain, this.notes, this.colours, this.flows, this.scale, this.meaning),
      this.panel.element, h("div", { class: "more" }, this.table, this.facts, this.exports.element));
    this.result = h("div", { class: "result", hidden: true }, this.stage);
    main.replaceChildren(h("h1", {}, "How far does each word move the model?"),
      h("p", { class: "lead" }, "Enter a text. Each word is changed while the others stay the same; its colour shows how far that moves the model's representation of the text. Colours and headline use mean local unless you choose another measure."),
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

  start() {
    this.measure(false);
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
    this.leaving?.abort();
    const mine = this.leaving = new AbortController();
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
    this.panel.clear();
    this.status.working("Waiting for the server…");
    this.result.dataset.state = "working";
    try {
      await ask("/api/words", this.body(), (event) => this.receive(event), mine.signal);
      this.result.dataset.state = "done";
      const seconds = this.texts[0].result.seconds;
      this.status.done(`${plural(this.texts[0].result.words.length, "word")}, ${this.texts[0].result.tiers.length === 1 ? "one tier" : `${this.texts[0].result.tiers.length} tiers`}, ${seconds.toFixed(1)} s`);
      if (this.state.word !== "" && this.state.word !== undefined && this.texts[0].result.words[this.state.word]) this.choose(Number(this.state.word), 0);
    } catch (error) {
      if (mine !== this.leaving) return;
      const long = error.reason?.remedy?.includes("--cut");
      if (long) error.message = `This text is too long for the model: ${error.message.replace(/: [^:]*--cut.*$/, "")}.`;
      this.status.failed(error);
      if (long) this.status.offer("Measure the beginning", () => { this.state.cut = "1"; this.measure(); });
    }
  }

  save(push = false) {
    const { layer, target, seed, model, ...rest } = this.state;
    remember({ ...rest, model: model === "minilm" ? "" : model, layer: layer === "last" ? "" : layer, target: target === "layer" ? "" : target, seed: seed === "0" ? "" : seed }, push);
  }

  receive(event) {
    if (event.kind === "progress") this.status.progress(event);
    if (event.kind === "command") { this.commands = event; this.export(); }
    if (event.kind === "edits") { this.edits = event.words; this.draw(); }
    if (event.kind === "pair") this.drawBetween(event);
    if (event.kind === "words") {
      if (this.fresh) { this.texts = [null, null]; this.fresh = false; }
      this.texts[event.which] = event;
      this.draw();
      this.panel.refresh();
    }
  }

  // The tier that names, colours and orders the words: the requested one, or a later choice.
  get tier() {
    return this.state.colour || this.texts[0].result.tier;
  }

  view(text) {
    return text.views[this.tier] ?? { title: "", shades: [], numbers: [], ranks: [], tips: [], low: Infinity, high: -Infinity };
  }

  export() {
    const { command, python } = this.commands.coloured[this.state.colour] ?? this.commands;
    this.exports.show(command, python);
  }

  draw() {
    if (!this.texts[0]) return;
    const first = this.texts[0];
    const view = this.view(first);
    this.headline.replaceChildren(this.texts[1] ? "First text: " : "", ...view.headline.names.flatMap((name, at) => [at ? ", " : "", h("b", {}, "“", h("bdi", {}, name), "”")]), " ", view.headline.text);
    this.plain.replaceChildren(...view.plain.map(([text, word]) => (word ? h("b", {}, "“", h("bdi", {}, text), "”") : text)));
    this.notes.replaceChildren(...first.notes.map((note) => h("p", { class: "note" }, note)));
    this.meaning.textContent = view.meaning;
    this.drawColours();
    this.flows.classList.toggle("two", Boolean(this.texts[1]));
    // Unchanged words are kept, so that colours change in place.
    this.texts.forEach((text, which) => {
      if (!text) { this.flows.children[which]?.remove(); return; }
      const old = this.flows.children[which];
      const same = old?.dataset.text === text.result.text && old.dataset.count === String(text.result.words.length);
      if (!same) {
        const made = this.flow(text, which);
        old ? old.replaceWith(made) : this.flows.append(made);
      }
      this.paint(text, which);
    });
    this.mark();
    this.stage.classList.toggle("long", this.flows.offsetHeight > innerHeight);
    const [low, high] = this.ends;
    this.scale.hidden = low >= high;
    this.scale.replaceChildren(`${view.title} `, h("b", {}, format(low)), h("i", { "aria-hidden": "true" }), h("span", { class: "sr" }, " to "), h("b", {}, format(high)));
    this.result.hidden = false;
    this.list();
    this.facts.lastElementChild.replaceChildren(...Object.entries(first.facts).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, h("bdi", {}, value))]));
  }

  // The similarity of the two texts, compared with random words in the same place.
  drawBetween({ cosine, percentile }) {
    const less = percentile === null ? "" : ` ${percentile.toFixed(0)} % of random words in the same place change the text less.`;
    this.between.replaceChildren("Cosine similarity of the two texts: ", h("b", {}, cosine.toFixed(3)), `.${less} Words that differ are underlined.`);
    this.between.hidden = false;
  }

  // One scale for both texts: the same colour is the same number.
  get ends() {
    const views = this.texts.filter(Boolean).map((text) => this.view(text));
    return [Math.min(...views.map((view) => view.low)), Math.max(...views.map((view) => view.high))];
  }

  drawColours() {
    const shown = Object.keys(this.texts[0].views);
    const now = this.tier;
    const key = `${shown}|${now}`;
    if (this.colours.dataset.key === key) return;
    this.colours.dataset.key = key;
    const focused = this.colours.contains(document.activeElement) ? document.activeElement.dataset.tier : null;
    this.colours.replaceChildren(h("span", { class: "soft" }, "Ordered by"), ...shown.map((tier) => {
      const chip = h("button", { type: "button", role: "radio", "aria-checked": String(tier === now), tabindex: tier === now ? "0" : "-1", class: "chip", "data-tier": tier,
        onclick: () => this.colour(tier), onkeydown: (event) => this.turn(event, shown, tier) }, this.texts[0].views[tier].title);
      hint(chip, () => this.texts[0].views[tier].meaning);
      return chip;
    }));
    if (focused) this.colours.querySelector(`[data-tier="${focused}"]`)?.focus();
  }

  colour(tier) {
    this.state.colour = tier;
    this.save();
    this.draw();
    if (this.commands) this.export();
  }

  // A group of radio buttons is one stop of the Tab key; arrow keys choose.
  turn(event, shown, tier) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = shown[(shown.indexOf(tier) + step + shown.length) % shown.length];
    this.colour(next);
    this.colours.querySelector(`[data-tier="${next}"]`).focus();
  }

  flow(text, which) {
    const words = [];
    const run = text.pieces.map(([piece, place]) => {
      if (place === null) return piece;
      const word = h("span", { class: "w", role: "button", tabindex: words.length ? "-1" : "0", "aria-pressed": "false", "data-index": place,
        onclick: () => this.choose(place, which), onkeydown: (event) => this.walk(event, words, which) }, piece);
      hint(word, () => word.dataset.tip);
      words.push(word);
      return word;
    });
    return h("p", { class: "flow", dir: "auto", role: "group", "aria-label": `${which ? "The second text" : "The text"}, word by word: arrow keys move, Enter selects`, "data-text": text.result.text, "data-count": text.result.words.length }, run);
  }

  walk(event, words, which) {
    const at = words.indexOf(event.currentTarget);
    const way = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1;
    const to = { ArrowRight: at + way, ArrowLeft: at - way, Home: 0, End: words.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") this.choose(Number(event.currentTarget.dataset.index), which);
    else if (words[to]) { words[at].tabIndex = -1; words[to].tabIndex = 0; words[to].focus(); } else return;
    event.preventDefault();
  }

  paint(text, which) {
    const view = this.view(text);
    const [low, high] = this.ends;
    const alone = !this.texts[1] || high <= low;
    const shade = (share) => (alone ? share : (view.low + share * (view.high - view.low) - low) / (high - low));
    for (const word of this.flows.children[which].querySelectorAll(".w")) {
      const place = Number(word.dataset.index);
      word.style.setProperty("--share", shade(view.shades[place] ?? 0).toFixed(3));
      word.dataset.tip = view.tips[place] ?? "";
      word.setAttribute("aria-label", `${text.result.words[place].text}, ${view.title} ${view.numbers[place] ?? "–"}, rank ${view.ranks[place] ?? "–"}`);
      word.classList.toggle("differs", this.edits[which]?.includes(place));
    }
  }

  choose(place, which) {
    const text = this.texts[which];
    if (!text) return;
    if (which === 0) { this.state.word = String(place); this.save(); }
    this.panel.open(place, which);
    this.mark();
  }

  // Marks the open word; only two elements change.
  mark() {
    for (const word of this.flows.querySelectorAll('.w[aria-pressed="true"]')) word.setAttribute("aria-pressed", "false");
    this.flows.children[this.panel.which]?.querySelector(`.w[data-index="${this.panel.index}"]`)?.setAttribute("aria-pressed", "true");
  }

  list() {
    if (!this.table.open || !this.texts[0]) return;
    const text = this.texts[0];
    const view = this.view(text);
    const order = view.shades.map((_, at) => at).sort((a, b) => known(view, b) - known(view, a) || a - b);
    this.table.lastElementChild.replaceChildren(h("table", {},
      h("thead", {}, h("tr", {}, h("th", { class: "num" }, "rank"), h("th", {}, "word"), h("th", { class: "num" }, "index"), text.columns.map((column) => h("th", { class: "num" }, column.title)), h("th", { class: "num" }, "tokens"))),
      h("tbody", {}, order.map((at) => h("tr", {}, h("td", { class: "num" }, view.ranks[at]), h("td", {}, h("bdi", {}, text.result.words[at].text)), h("td", { class: "num" }, String(text.result.words[at].index)),
        text.columns.map((column) => h("td", { class: "num" }, column.numbers[at])), h("td", { class: "num" }, String(text.result.words[at].pieces)))))));
  }
}

// Position of a word on the scale; words without a number come last.
const known = (view, at) => (view.ranks[at] === "–" ? -1 : view.shades[at]);
const format = (value) => value.toPrecision(4);
