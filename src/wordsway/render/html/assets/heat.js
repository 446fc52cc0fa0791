// The words of a text in the colours of their numbers; one of them is chosen and shown on a card.
import { h, hint } from "./dom.js";

export class HeatMap {
  // `card` shows a word: `card.open(place, which)`, `card.index` and `card.which` are the open one.
  constructor(card) {
    this.card = card;
    this.texts = [null, null];
    this.edits = [[], []];
    this.chosenTier = "";
    this.headline = h("p", { class: "headline" });
    this.plain = h("p", { class: "plainly" });
    this.between = h("p", { class: "plainly", hidden: true });
    this.notes = h("div", { class: "notes" });
    this.colours = h("div", { class: "colours", role: "radiogroup", "aria-label": "Order and colour the words by" });
    this.flows = h("div", { class: "flows" });
    this.scale = h("p", { class: "scale" });
    this.meaning = h("p", { class: "soft" });
    this.table = h("details", { class: "all", ontoggle: () => this.list() }, h("summary", {}, "Table of all words"), h("div", { class: "scroll" }));
    this.facts = h("details", { class: "all" }, h("summary", {}, "Details"), h("dl", {}));
    this.more = h("div", { class: "more" }, this.table, this.facts);
    this.stage = h("div", { class: "stage" },
      h("section", { class: "card text", "aria-label": "The text, coloured" }, this.between, this.headline, this.plain, this.notes, this.colours, this.flows, this.scale, this.meaning),
      card.element, this.more);
  }

  // The tier that names, colours and orders the words: the requested one, or a later choice.
  get tier() {
    return this.chosenTier || this.texts[0].result.tier;
  }

  view(text) {
    return text.views[this.tier] ?? { title: "", shades: [], numbers: [], ranks: [], tips: [], low: Infinity, high: -Infinity };
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
    this.list();
    this.facts.lastElementChild.replaceChildren(...Object.entries(first.facts).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, h("bdi", {}, value))]));
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
    const focused = this.colours.contains(this.colours.getRootNode().activeElement) ? this.colours.getRootNode().activeElement.dataset.tier : null;
    this.colours.replaceChildren(h("span", { class: "soft" }, "Ordered by"), ...shown.map((tier) => {
      const chip = h("button", { type: "button", role: "radio", "aria-checked": String(tier === now), tabindex: tier === now ? "0" : "-1", class: "chip", "data-tier": tier,
        onclick: () => this.colour(tier), onkeydown: (event) => this.turn(event, shown, tier) }, this.texts[0].views[tier].title);
      hint(chip, () => this.texts[0].views[tier].meaning);
      return chip;
    }));
    if (focused) this.colours.querySelector(`[data-tier="${focused}"]`)?.focus();
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

  // Marks the open word; only two elements change.
  mark() {
    for (const word of this.flows.querySelectorAll('.w[aria-pressed="true"]')) word.setAttribute("aria-pressed", "false");
    this.flows.children[this.card.which]?.querySelector(`.w[data-index="${this.card.index}"]`)?.setAttribute("aria-pressed", "true");
  }

  list() {
    if (!this.table.open || !this.texts[0]) return;
    const text = this.texts[0];
    const view = this.view(text);
    const order = view.shades.map((_, at) => at).sort((a, b) => known(view, b) - known(view, a) || a - b);
    this.table.lastElementChild.replaceChildren(h("table", {},
      h("thead", {}, h("tr", {}, h("th", { class: "num" }, "rank"), h("th", {}, "word"), h("th", { class: "num" }, "index"), text.columns.map((column) => h("th", { class: "num" }, column.title)), h("th", { class: "num" }, "tokens"))),
      h("tbody", {}, order.map((at) => h("tr", {}, h("td", { class: "num" }, view.ranks[at]), h("td", {}, h("bdi", {}, text.result.words[at].text)), h("td", { class: "num" }, String(text.result.words[at].index)),
        text.columns.map((column) => h("td", { class: "num" }, column.numbers[at].replace("± ", "±\u00a0"))), h("td", { class: "num" }, String(text.result.words[at].pieces)))))));
  }

  colour(tier) {
    this.chosenTier = tier;
    this.draw();
  }

  choose(place, which) {
    if (!this.texts[which]) return;
    this.card.open(place, which);
    this.mark();
  }
}

// Position of a word on the scale; words without a number come last.
const known = (view, at) => (view.ranks[at] === "–" ? -1 : view.shades[at]);
const format = (value) => value.toPrecision(4);
