// Theory: S of random maps against n, drawn while cells are computed.
import { asked, field, h, number, numeric, option, plural, remember } from "./dom.js";
import { ask } from "./stream.js";
import { chart } from "./chart.js";
import { Status } from "./status.js";
import { Export, numbers } from "./export.js";

const FIRST = { n: "4,8,16,32,64", d: "128", data: "gaussian", trials: "3", seed: "0", axes: "log" };

export async function open(main) {
  let known;
  const place = new Place(main, asked());
  try {
    await ask("/api/maps", {}, (event) => { if (event.kind === "maps") known = event; });
  } catch (error) { place.status.failed(error); return; }
  place.state.maps ??= known.opening.join();
  place.build(known.maps);
  place.measure(false);
}

// "name:option=4" is a map with an option.
function parse(text) {
  return text.split(",").filter(Boolean).map((one) => {
    const [map, ...options] = one.split(":");
    return { map, options: Object.fromEntries(options.map((pair) => pair.split("=")).map(([name, value]) => [name, value === "true" ? true : value === "false" ? false : Number.isNaN(Number(value)) ? value : Number(value)])) };
  });
}
// Black lines take the colour of the text, which is light in the dark theme.
const inked = (colour) => (colour === "#000000" ? "var(--ink)" : colour);
const spell = (chosen) => chosen.map(({ map, options }) => [map, ...Object.entries(options).map(([name, value]) => `${name}=${value}`)].join(":")).join(",");

class Place {
  constructor(main, given) {
    this.main = main;
    this.state = { ...FIRST, ...given };
    this.status = new Status(() => { if (this.form) this.measure(false); else location.reload(); });
    main.replaceChildren(h("h1", {}, "Random maps: theory and measurement"), h("p", { class: "lead" }, "A random map is a layer with random, untrained weights. S is the largest relative change of its output when one word of the text changes. For some maps S falls as texts grow, for others it does not. Select maps to compare; results are stored and reused."), this.status.element);
  }

  build(known) {
    const state = this.state;
    this.known = known;
    this.chosen = parse(state.maps);
    this.maps = h("div", { class: "maps", role: "group", "aria-label": "Maps" }, known.map((kind) => this.map(kind)));
    this.n = h("input", { "aria-label": "Lengths n", value: state.n, size: 18, pattern: "[0-9 ,]+", title: "numbers from 1 to 512, with commas" });
    this.d = numeric("Dimension d", state.d, 1, 1024);
    this.trials = numeric("Trials", state.trials, 1, 20);
    this.seed = numeric("Seed", state.seed, 0, 2 ** 31 - 1);
    this.data = h("select", { "aria-label": "Data" }, option("gaussian", "Gaussian texts", state.data), option("imdb", "IMDb reviews (MiniLM)", state.data));
    this.axes = h("select", { "aria-label": "Axes", onchange: () => { this.state.axes = this.axes.value; this.save(); this.draw(); } }, option("log", "logarithmic", state.axes), option("plain", "linear", state.axes));
    this.form = h("form", { class: "ask card", onsubmit: (event) => { event.preventDefault(); this.measure(); } }, this.maps,
      h("div", { class: "controls" }, field("Lengths n", this.n), field("Dimension d", this.d), field("Data", this.data), field("Trials", this.trials), field("Seed", this.seed), field("Axes", this.axes),
        h("div", { class: "go" }, h("button", { type: "submit", class: "primary" }, "Draw"))));
    this.plot = h("div", { class: "slot tall" });
    this.claims = h("div", { class: "scroll" });
    this.table = h("details", { class: "all", ontoggle: () => this.list() }, h("summary", {}, "Table of all points"), h("div", { class: "scroll" }));
    this.exports = new Export(this.status, () => ({ theory: this.body() }));
    this.result = h("div", { class: "result", hidden: true }, h("section", { class: "card" }, this.plot, h("p", { class: "soft" }, "Points: the largest change found by search, mean ± standard deviation over trials. Shaded band: up to the mean certified upper bound.")), h("section", { class: "claims", "aria-label": "Claims" }, h("h2", {}, "Theory and measurement"),
      h("p", { class: "soft" }, "The slope of log S against log n has a 95 % interval: 0 means constant, −0.5 a fall like 1/√n. A claim agrees if the whole interval satisfies the rule for these n, disagrees if none of it does, and is undecided otherwise: use more lengths or trials. “Our rule” marks wordsway’s own thresholds."), this.claims), this.table, this.exports.element);
    this.status.element.before(this.form);
    this.status.element.after(this.result);
    addEventListener("popstate", () => location.reload());
  }

  map(kind) {
    const own = this.chosen.find((one) => one.map === kind.name);
    const box = h("input", { type: "checkbox", checked: Boolean(own), "data-map": kind.name, "aria-label": kind.title });
    const options = kind.options.map((one) => h("input", { class: "opt", "data-option": one.name, placeholder: one.name + (one.default === null ? "" : ` ${one.default}`), "aria-label": `${kind.title}: ${one.name}. ${one.help}`, title: one.help, size: 8, value: own?.options[one.name] ?? "" }));
    return h("div", { class: "map", title: kind.about }, h("label", {}, box, h("span", { class: "swatch", "aria-hidden": "true", style: { background: inked(kind.colour) } }), h("b", {}, kind.title)),
      h("span", { class: "soft about" }, kind.about), options.length ? h("details", { class: "opts", open: Boolean(own && Object.keys(own.options).length) }, h("summary", {}, "options"), h("div", {}, options)) : null);
  }

  read() {
    const value = (text) => (text === "true" ? true : text === "false" ? false : text.trim() === "" || Number.isNaN(Number(text)) ? text.trim() : Number(text));
    this.chosen = [...this.maps.querySelectorAll("[data-map]:checked")].map((box) => ({
      map: box.dataset.map,
      options: Object.fromEntries([...box.closest(".map").querySelectorAll("[data-option]")].filter((one) => one.value.trim()).map((one) => [one.dataset.option, value(one.value)])),
    }));
    Object.assign(this.state, { maps: spell(this.chosen), n: this.n.value.replace(/\s/g, ""), d: this.d.value, data: this.data.value, trials: this.trials.value, seed: this.seed.value });
  }

  body() {
    const state = this.state;
    return { maps: parse(state.maps), n: state.n.split(",").filter(Boolean).map(Number), d: Number(state.d), data: state.data, trials: Number(state.trials), seed: Number(state.seed) };
  }

  save(push = false) {
    remember(this.state, push, FIRST);
  }

  async measure(push = true) {
    if (push) this.read();
    if (!this.chosen.length) { this.status.failed(new Error("Select at least one map.")); return; }
    this.save(push);
    if (await this.status.follow("/api/theory", this.body(), (event) => this.receive(event), this.result)) {
      this.status.done(this.plan.total === this.plan.kept ? `${plural(this.plan.total, "result")}, all from earlier runs` : `${plural(this.plan.total, "result")}, ${this.plan.total - this.plan.kept} of them computed now`);
    }
  }

  receive(event) {
    if (event.kind === "plan") { this.plan = event; this.exports.show(event.command, event.python); }
    if (event.series) { this.series = event.series.map((one) => ({ ...one, colour: inked(one.colour) })); this.draw(); }
    if (event.kind === "series") this.status.working(`${event.done} of ${event.done + event.left} results…`, event.done / (event.done + event.left));
    if (event.kind === "claims") this.drawClaims(event);
  }

  draw() {
    if (!this.series) return;
    const log = this.state.axes === "log";
    const shown = this.series.filter((one) => one.n.length);
    const lines = shown.flatMap((one) => [
      { name: `${one.name}: found; shaded up to the certified bound`, short: one.name, colour: one.colour, points: one.n.map((n, at) => [n, one.mean[at]]), sd: one.sd, upper: one.upper },
      ...one.references.map((line) => ({ name: `${one.name}: ${line.name}`, colour: one.colour, kind: { "--": "dashed", "-.": "dashdot" }[line.style] ?? "dotted", dots: false, points: line.x.map((x, place) => [x, line.y[place]]) })),
    ]);
    this.result.hidden = false;
    if (!lines.length) { this.plot.replaceChildren(h("p", { class: "soft waiting" }, "Computing the first result…")); return; }
    this.plot.replaceChildren(chart({ title: `S against the length of the text (d = ${this.state.d})`, series: lines, width: innerWidth < 640 ? 400 : 900, height: innerWidth < 640 ? 340 : 420, logx: log, logy: log, xlabel: "length of the text n", symbol: "n", ylabel: "S", xticks: this.body().n }));
    this.list();
  }

  drawClaims(event) {
    const names = { map: "map", claim: "claim", measured: "measured", rule: "agrees if", verdict: "verdict" };
    const look = (name, text) => (name === "verdict" ? `verdict ${["agrees", "disagrees"].includes(text) ? text : "open"}` : "");
    this.claims.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, Object.values(names).map((name) => h("th", {}, name)))),
      h("tbody", {}, event.claims.map((one) => h("tr", {}, Object.entries(names).map(([name, title]) => h("td", { "data-name": title, class: look(name, one[name]) }, one[name])))))));
    if (event.failures.length) this.status.failed(new Error(`Some results failed: ${event.failures.join("; ")}`));
  }

  list() {
    if (!this.table.open || !this.series) return;
    this.table.lastElementChild.replaceChildren(numbers(["map", "n", "S found", "± sd", "certified bound", "trials"], this.series.flatMap((one) => one.n.map((n, at) =>
      [one.name, String(n), number(one.mean[at]), number(one.sd[at]), number(one.upper[at]), String(one.trials[at])]))));
  }
}
