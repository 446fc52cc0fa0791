// Audit: does a model react to the word that matters? Leaderboard, blind spots, new audits.
import { asked, field, h, number, option, remember } from "./dom.js";
import { ask, get } from "./stream.js";
import { Status } from "./status.js";
import { Export } from "./export.js";

const DATA = { everyday: "everyday sentences", medical: "medical", legal: "legal", packaged: "all packaged sentences", imdb: "IMDb reviews" };

export async function open(main) {
  const place = new Place(main, asked());
  try {
    const models = await get("/api/models");
    let known;
    await ask("/api/audits", {}, (event) => { if (event.kind === "audits") known = event; });
    // The newest audit by default.
    place.build(known, models.models);
    place.state.folder ??= known.audits[0]?.folder;
    place.list();
  } catch (error) { place.status.failed(error); return; }
  if (place.state.folder) place.show();
}

class Place {
  constructor(main, given) {
    this.state = given;
    this.status = new Status(() => { if (this.asked) this.listen(...this.asked); else location.reload(); });
    main.replaceChildren(h("h1", {}, "Does the model react to the word that matters?"),
      h("p", { class: "lead" }, "Sentences are edited in ways that are known to change or to preserve their meaning. Does a “not” move the model more than a synonym?"), this.status.element);
  }

  build(known, models) {
    this.known = known;
    this.folders = h("div", { class: "folders" });
    this.folder = h("input", { "aria-label": "Folder", value: this.state.folder ?? "audit-new", size: 14, pattern: "[A-Za-z0-9][A-Za-z0-9._\\/\\-]*", required: true });
    this.models = h("div", { class: "checks", role: "group", "aria-label": "Models" }, models.filter((one) => one.here).map((one, at) => h("label", {}, h("input", { type: "checkbox", value: one.name, checked: at === 0, "data-model": one.name }), h("bdi", {}, one.name.split("/").at(-1)))));
    this.kinds = h("div", { class: "checks", role: "group", "aria-label": "Kinds of edits" }, known.kinds.map((one) => h("label", { title: one.about }, h("input", { type: "checkbox", value: one.name, "data-kind": one.name }), one.name)));
    this.data = h("select", { "aria-label": "Sentences" }, Object.entries(DATA).map(([value, name]) => option(value, name, "everyday")));
    this.texts = h("input", { "aria-label": "Texts per kind", value: "20", size: 4, inputmode: "numeric", pattern: "[0-9]{1,3}" });
    this.start = h("details", { class: "card ask start", open: !this.state.folder && !known.audits.length }, h("summary", {}, "Start an audit"),
      h("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); this.begin(); } },
        h("div", { class: "field" }, h("span", {}, "Models"), this.models), h("div", { class: "field" }, h("span", {}, "Kinds of edits (all by default)"), this.kinds),
        h("div", { class: "controls" }, field("Sentences", this.data), field("Texts per kind", this.texts), field("Folder", this.folder), h("div", { class: "go" }, h("button", { type: "submit", class: "primary" }, "Start")))));
    this.exports = new Export(this.status, () => ({ audit: { folder: this.state.folder } }));
    this.leaderboard = h("div", { class: "scroll leaderboard" });
    this.spots = h("div", { class: "spots" });
    this.about = h("div", { class: "headline" });
    this.result = h("div", { class: "result", hidden: true }, this.about, h("h2", {}, "Leaderboard"), this.leaderboard, h("p", { class: "soft" }, known.wording.auc, " Orange is above 0.5, blue below."), h("h2", { class: "gap" }, "Blind spots"),
      h("p", { class: "soft" }, "Meaning-changing edits that move the model less than a meaning-preserving one.", " ", known.wording.blind), this.spots, this.exports.element);
    this.status.element.before(this.folders, this.start);
    this.status.element.after(this.result);
    this.list();
    addEventListener("popstate", () => location.reload());
  }

  list() {
    const found = this.known.audits;
    this.folders.replaceChildren(found.length
      ? h("div", { class: "colours" }, h("span", { class: "soft" }, "Stored audits"), found.map((one) => h("a", { class: "chip", href: `/audit?folder=${encodeURIComponent(one.folder)}`, "aria-current": one.folder === this.state.folder ? "page" : null }, one.folder)))
      : h("p", { class: "soft" }, "No audits yet: start one here, or run wordsway audit in this folder."));
  }

  async listen(path, body) {
    this.asked = [path, body];
    this.leaving?.abort();
    const mine = this.leaving = new AbortController();
    this.result.dataset.state = "working";
    this.status.working("Waiting for the server…");
    try {
      await ask(path, body, (event) => this.receive(event), mine.signal);
      this.status.done("");
      this.result.dataset.state = "done";
    } catch (error) {
      if (mine === this.leaving) this.status.failed(error);
    }
  }

  show() { return this.listen("/api/audit", { folder: this.state.folder }); }

  async begin() {
    const ticked = (box, name) => [...box.querySelectorAll(":checked")].map((one) => one.dataset[name]);
    const models = ticked(this.models, "model");
    if (!models.length) { this.status.failed(new Error("Select at least one model.")); return; }
    const kinds = ticked(this.kinds, "kind");
    this.state.folder = this.folder.value;
    remember({ folder: this.state.folder }, true);
    await this.listen("/api/audit/start", { folder: this.state.folder, models, data: this.data.value, texts: Number(this.texts.value), ...(kinds.length ? { kinds } : {}) });
    try { await ask("/api/audits", {}, (event) => { if (event.kind === "audits") { this.known = event; this.list(); } }); } catch (error) { this.status.failed(error); }
  }

  receive(event) {
    if (event.kind === "progress") this.status.progress(event);
    if (event.command) this.exports.show(event.command, event.python);
    if (event.kind === "started") this.status.working("Running the audit. Closing the page stops it; starting it again resumes it.");
    if (event.kind === "audit") this.draw(event.result);
  }

  draw(result) {
    const kinds = [...new Set(result.models.flatMap((model) => model.kinds.map((one) => one.kind)))];
    this.about.replaceChildren(...result.models.map((model) => this.best(model)).filter(Boolean), h("p", { class: "soft" }, `${result.texts.toLocaleString("en")} texts (${DATA[result.data] ?? result.data}), seed ${result.seed}; change measured by ${result.target === "cosine" ? "1 − cosine of the embeddings" : `the relative change of ${result.target}`}`));
    const cell = (score) => {
      if (!score) return h("td", { class: "num" }, "–");
      const part = Math.min(1, Math.abs(score.auc - 0.5) * 2);
      const tint = h("span", { class: `auc ${score.auc >= 0.5 ? "good" : "poor"}` }, `${score.auc.toFixed(3)} `, h("span", { class: "within" }, `(${score.low.toFixed(2)}–${score.high.toFixed(2)})`));
      tint.style.setProperty("--share", part.toFixed(3));
      return h("td", { class: "num", title: `${score.texts} texts; ${(100 * score.blind).toFixed(0)} % blind spots` }, tint);
    };
    this.leaderboard.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "kind of edit"), result.models.map((model) => h("th", { class: "num" }, h("bdi", {}, model.name.split("/").at(-1)))))),
      h("tbody", {}, kinds.map((kind) => h("tr", {}, h("th", { scope: "row" }, kind, h("span", { class: "soft why" }, this.known.kinds.find((one) => one.name === kind)?.about ?? "")), result.models.map((model) => cell(model.kinds.find((one) => one.kind === kind))))),
        h("tr", {}, h("th", { scope: "row" }, "mean"), result.models.map((model) => h("td", { class: "num" }, h("b", {}, number(model.mean_auc))))))));
    this.spots.replaceChildren(...result.models.map((model) => h("details", { open: result.models.length === 1 }, h("summary", {}, h("bdi", {}, model.name.split("/").at(-1)), `: worst ${(model.blind_spots ?? []).length}`),
      h("ol", { class: "blind" }, (model.blind_spots ?? []).map((one) => this.spot(one))))));
    this.result.hidden = false;
  }

  // The best and the worst kind of edit in one sentence, without kinds that have few texts.
  best(model) {
    const order = model.kinds.filter((one) => one.texts >= this.known.few).sort((a, b) => b.auc - a.auc);
    if (!order.length) return null;
    const said = (one) => `${one.kind} (${Math.round(100 * one.auc)} of 100 comparisons)`;
    const rest = order.length > 1 ? `, and least often for ${said(order.at(-1))}` : "";
    return h("p", {}, h("b", {}, h("bdi", {}, model.name.split("/").at(-1))), ` most often reacts more strongly than to a harmless edit for ${said(order[0])}${rest}. ${this.known.wording.rewording}`);
  }

  spot(one) {
    const end = one.start + one.before.length;
    const tail = one.text.slice(end);
    return h("li", {}, h("p", { dir: "auto" }, one.text.slice(0, one.start), one.before.trim() ? h("del", {}, one.before) : null, one.after.trim() ? h("ins", {}, one.after) : null, /^\w/.test(tail) && !/\s$/.test(one.after) ? " " : "", tail),
      h("p", { class: "soft" }, `${one.kind}: change ${number(one.change)}, while `, h("del", {}, one.keeping_before.trim() || "nothing"), " → ", h("ins", {}, one.keeping_after.trim() || "nothing"), ` (${one.keeping}) changes it by ${number(one.keeping_change)}`));
  }
}
