// Length: how far one word moves models as the text around it grows.
import { asked, field, h, number, numeric, option, remember } from "./dom.js";
import { ask, get } from "./stream.js";
import { chart } from "./chart.js";
import { Status } from "./status.js";
import { Export, numbers } from "./export.js";

const FIRST = { models: "minilm", data: "imdb", edit: "negation", texts: "16", place: "own", level: "0.05", baselines: "", seed: "0" };
const COLOURS = ["#0072B2", "#D55E00", "#009E73"];
const DATA = ["imdb", "gold", "everyday", "medical", "legal", "finance", "support"];

export async function open(main) {
  const place = new Place(main, asked());
  let known;
  try {
    await ask("/api/length/kinds", {}, (event) => { if (event.kind === "kinds") known = event; });
    place.build(known, await get("/api/models"));
  } catch (error) { place.status.failed(error); }
}

class Place {
  constructor(main, given) {
    this.state = { ...FIRST, ...given };
    this.status = new Status(() => { if (this.form) this.measure(false); else location.reload(); });
    main.replaceChildren(h("h1", {}, "How long can a text be before one word is invisible?"),
      h("p", { class: "lead" }, "One sentence of a text is edited so that its meaning changes (is → is not). Then the text around it grows. How far does the change still move the model?"), this.status.element);
  }

  build(known, offered) {
    const state = this.state;
    this.known = known;
    const chosen = state.models.split(",");
    const models = [...new Set([...offered.models.map((one) => one.name), ...chosen])];
    this.models = h("div", { class: "maps", role: "group", "aria-label": "Models" }, models.map((name) => h("label", {}, h("input", { type: "checkbox", "data-model": name, checked: chosen.includes(name) }), " ", name)));
    const choice = (name, label, values) => h("select", { "aria-label": label }, values.map((one) => option(one, one, state[name])));
    this.fields = {
      data: choice("data", "Texts from", DATA), edit: choice("edit", "Edit", known.kinds), place: choice("place", "Place of the sentence", ["own", "beginning", "middle", "end"]),
      texts: numeric("Number of texts", state.texts, 8, 200), level: numeric("Cosine distance below which a change is invisible", state.level, 0.000001, 2, "any"), seed: numeric("Seed", state.seed, 0, 2 ** 31 - 1),
    };
    this.baselines = h("input", { type: "checkbox", "aria-label": "Baselines", checked: state.baselines === "yes" });
    const labels = { data: "Texts from", edit: "Edit", place: "Place", texts: "Texts", level: "Level (cosine distance)", seed: "Seed" };
    this.form = h("form", { class: "ask card", onsubmit: (event) => { event.preventDefault(); this.measure(); } }, this.models,
      h("div", { class: "controls" }, Object.entries(this.fields).map(([name, element]) => field(labels[name], element)), field("Baselines", this.baselines),
        h("div", { class: "go" }, h("button", { type: "submit", class: "primary" }, "Measure"))),
      h("p", { class: "soft" }, "16 texts take about a minute with minilm; baselines (random weights, word vectors, random maps) take longer. The first run downloads the reviews. 200 texts give narrow intervals: use the command under Export."));
    this.said = h("div", { role: "status" });
    this.change = h("div", { class: "slot tall" });
    this.shares = h("div", { class: "slot" });
    this.layers = h("div", { class: "slot" });
    this.table = h("div", { class: "scroll" });
    this.exports = new Export(this.status, () => ({ length: this.body() }));
    this.result = h("div", { class: "result", hidden: true }, h("section", { class: "card" }, this.said, this.change), h("section", { class: "card below" }, this.shares, this.layers),
      h("section", { class: "card" }, this.table, h("dl", { class: "soft" }, Object.entries(known.meanings).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]))), this.exports.element);
    this.status.element.before(this.form);
    this.status.element.after(this.result);
    addEventListener("popstate", () => location.reload());
  }

  body() {
    const state = this.state;
    return { models: state.models.split(","), data: state.data, edit: state.edit, texts: Number(state.texts), place: state.place, level: Number(state.level), baselines: state.baselines === "yes", seed: Number(state.seed) };
  }

  async measure(push = true) {
    if (push) {
      const models = [...this.models.querySelectorAll("[data-model]:checked")].map((one) => one.dataset.model);
      if (!models.length) { this.status.failed(new Error("Select at least one model.")); return; }
      Object.assign(this.state, { models: models.join(), baselines: this.baselines.checked ? "yes" : "" }, Object.fromEntries(Object.entries(this.fields).map(([name, one]) => [name, one.value])));
    }
    remember(this.state, push, FIRST);
    if (await this.status.follow("/api/length", this.body(), (event) => this.receive(event), this.result)) this.status.done("Done.");
  }

  receive(event) {
    if (event.kind === "started") this.exports.show(event.command, event.python);
    if (event.kind === "length") this.draw(event);
  }

  draw(found) {
    const width = innerWidth < 640 ? 380 : 640;
    const line = (one, values) => one.n.map((n, at) => [n, values[at][0]]);
    const colour = (one) => (one.colour === null ? "var(--soft, #777)" : COLOURS[one.colour % COLOURS.length]);
    const models = found.series.filter((one) => one.model);
    const ticks = models[0].n.map((n) => Math.round(n));
    this.said.replaceChildren(...found.said.map((text) => h("p", { class: "headline" }, text)), ...found.beside.map((text) => h("p", { class: "soft" }, text)));
    this.change.replaceChildren(chart({ title: `How far the word alone moves the embedding (against a random word in its place), ${found.texts} texts`, width: Math.max(width, innerWidth < 640 ? 380 : 900), height: 380, logx: true, logy: true, xlabel: "tokens n", ylabel: "change", xticks: ticks,
      series: [...models.map((one) => ({ name: `${one.name}: the whole change, with shifted positions`, colour: colour(one), kind: "dotted", points: line(one, one.change) })), ...found.series].map((one) => one.points ? one : ({ name: one.name, colour: colour(one), kind: one.model ? undefined : one.colour === null ? "dotted" : "dashed", dots: one.model, points: line(one, one.word), upper: one.model ? one.word.map((ends) => ends[2]) : undefined, bound: "upper end of the 95 % interval" })) }),
      h("p", { class: "soft" }, "The shaded area ends at the upper end of the 95 % interval over texts."));
    this.shares.replaceChildren(chart({ title: "Share of texts", width, height: 260, logx: true, xlabel: "tokens n", ylabel: "share", xticks: ticks,
      series: models.flatMap((one) => [{ name: `${one.name}: moved more by the change than by a rewording`, short: one.name, colour: colour(one), points: line(one, one.auc) }, { name: `${one.name}: cosine above ${Number((1 - found.level).toPrecision(6))}`, colour: colour(one), kind: "dashed", points: line(one, one.below) }]) }));
    this.layers.replaceChildren(...found.layers.map((one) => chart({ title: `${one.name}: change ∝ n^e by layer (0 keeps the word, −1 loses it as a mean does)`, width, height: 240, xlabel: "layer", ylabel: "e",
      series: Object.entries(one.rates).map(([name, points], at) => ({ name, colour: ["#CC79A7", "#E69F00", "#56B4E9"][at], points })) })));
    const percent = (share) => `${(100 * share).toFixed(0)} %`;
    const within = (ends, shown = number) => (ends ? shown(ends[0]) + (ends[1] === null ? "" : ` [${shown(ends[1])}, ${shown(ends[2])}]`) : "–");
    this.table.replaceChildren(numbers(["model", "tokens", "word alone", "change", "median cosine", "discrimination", "invisible"], found.series.flatMap((one) => one.n.map((n, at) =>
      [one.name, String(Math.round(n)), within(one.word[at]), within(one.change[at]), number(one.cosine[at]), within(one.auc[at]), within(one.below[at], percent)]))));
    this.result.hidden = false;
  }
}
