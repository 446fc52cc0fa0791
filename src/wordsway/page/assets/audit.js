// Audit: is a rewording closer than a change of meaning? Scores, thresholds, blind spots, new audits.
import { asked, field, h, number, numeric, option, remember } from "./dom.js";
import { ask, get } from "./stream.js";
import { Status } from "./status.js";
import { Export } from "./export.js";

const DATA = { gold: "gold triples", everyday: "everyday", medical: "medical", legal: "legal", finance: "finance", support: "customer support", imdb: "IMDb reviews", own: "my own table" };
// Halves are rounded up, as in the saved page; 14.499999999999998 is 100 · 0.145.
const rounded = (value, digits) => (Math.round(value * 10 ** digits + 1e-7) / 10 ** digits).toFixed(digits);
const COLUMNS = "text,rewording,change,kind";

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
    this.title = h("h1", {}, "Is a rewording closer than a change of meaning?");
    this.lead = h("p", { class: "lead" }, "Each text has a rewording with the same meaning and a small edit that changes the meaning. A model that represents meaning places the rewording closer to the text.");
    main.replaceChildren(this.title, this.lead, this.status.element);
  }

  build(known, models) {
    this.known = known;
    this.folders = h("div", { class: "folders" });
    this.folder = h("input", { "aria-label": "Folder", value: this.state.folder ?? "audit-new", size: 14, pattern: "[A-Za-z0-9][A-Za-z0-9._\\/\\-]*", required: true });
    this.models = h("div", { class: "checks", role: "group", "aria-label": "Models" }, models.filter((one) => one.here).map((one, at) => h("label", {}, h("input", { type: "checkbox", value: one.name, checked: at === 0, "data-model": one.name }), h("bdi", {}, one.name.split("/").at(-1)))));
    this.kinds = h("div", { class: "checks", role: "group", "aria-label": "Kinds of edits" }, known.kinds.map((one) => h("label", { title: one.about }, h("input", { type: "checkbox", value: one.name, "data-kind": one.name }), one.name)));
    this.data = h("select", { "aria-label": "Texts", onchange: () => this.choose() }, Object.entries(DATA).map(([value, name]) => option(value, name, "gold")));
    this.table = h("textarea", { "aria-label": "Table", rows: 6, placeholder: `${COLUMNS}\nThe shop is open.,The store is open.,The shop is closed.,antonyms`, spellcheck: false });
    this.upload = h("input", { type: "file", accept: ".csv,text/csv", "aria-label": "CSV file", onchange: async () => { if (this.upload.files[0]) this.table.value = await this.upload.files[0].text(); } });
    this.own = h("div", { class: "field", hidden: true }, h("span", {}, `Your table: ${COLUMNS} (or a,b,kind; query,document,query2,document2; text), pasted or from a file`), this.table, this.upload);
    this.texts = numeric("Texts per kind", "60", 4, 200);
    this.start = h("details", { class: "card ask start", open: !this.state.folder && !known.audits.length }, h("summary", {}, "Start an audit"),
      h("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); this.begin(); } },
        h("div", { class: "field" }, h("span", {}, "Models"), this.models), h("div", { class: "field" }, h("span", {}, "Kinds of changes (all by default)"), this.kinds), this.own,
        h("div", { class: "controls" }, field("Texts", this.data), field("Texts per kind", this.texts), field("Folder", this.folder), h("div", { class: "go" }, h("button", { type: "submit", class: "primary" }, "Start")))));
    this.exports = new Export(this.status, () => ({ audit: { folder: this.state.folder } }));
    this.leaderboard = h("div", { class: "scroll leaderboard" });
    this.byKind = h("div", { class: "scroll leaderboard" });
    this.thresholds = h("div", { class: "scroll leaderboard" });
    this.spots = h("div", { class: "spots" });
    this.about = h("div", { class: "headline" });
    this.flips = h("div");
    this.what = h("p", { class: "soft" });
    this.levels = h("p", { class: "soft" });
    // An audit of labels has neither thresholds nor blind spots.
    this.ofMeaning = h("div", {}, h("h2", { class: "gap" }, "Errors if a cosine threshold decides which texts mean the same"), this.thresholds,
      h("h2", { class: "gap" }, "Blind spots"), h("p", { class: "soft" }, "Edits that change the meaning, but move the model less than an edit of the same text that preserves the meaning."), this.spots);
    this.scores = h("div", {}, h("h2", { class: "gap" }, "By level"), this.leaderboard, this.levels, h("h2", { class: "gap" }, "By kind of change"), this.byKind);
    this.result = h("div", { class: "result", hidden: true }, this.about, this.what, this.flips, this.scores, this.ofMeaning, this.exports.element);
    this.status.element.before(this.folders, this.start);
    this.status.element.after(this.result);
    this.list();
    addEventListener("popstate", () => location.reload());
  }

  choose() { this.own.hidden = this.data.value !== "own"; }

  list() {
    const found = this.known.audits;
    this.folders.replaceChildren(found.length
      ? h("div", { class: "colours" }, h("span", { class: "soft" }, "Stored audits"), found.map((one) => h("a", { class: "chip", href: `/audit?folder=${encodeURIComponent(one.folder)}`, "aria-current": one.folder === this.state.folder ? "page" : null }, one.folder)))
      : h("p", { class: "soft" }, "No audits yet. Start one below, or run wordsway audit on the command line."));
  }

  async listen(path, body) {
    this.asked = [path, body];
    if (await this.status.follow(path, body, (event) => this.receive(event), this.result)) this.status.done("");
  }

  show() { return this.listen("/api/audit", { folder: this.state.folder }); }

  async begin() {
    const ticked = (box, name) => [...box.querySelectorAll(":checked")].map((one) => one.dataset[name]);
    const models = ticked(this.models, "model");
    if (!models.length) { this.status.failed(new Error("Select at least one model.")); return; }
    const kinds = ticked(this.kinds, "kind");
    const own = this.data.value === "own";
    if (own && !this.table.value.trim()) { this.status.failed(new Error(`Paste a table with the columns ${COLUMNS}, or choose a file.`)); return; }
    this.state.folder = this.folder.value;
    remember({ folder: this.state.folder }, true);
    await this.listen("/api/audit/start", { folder: this.state.folder, models, ...(own ? { table: this.table.value } : { data: this.data.value }), texts: Number(this.texts.value), ...(kinds.length ? { kinds } : {}) });
    try { await ask("/api/audits", {}, (event) => { if (event.kind === "audits") { this.known = event; this.list(); } }); } catch (error) { this.status.failed(error); }
  }

  receive(event) {
    if (event.command) this.exports.show(event.command, event.python);
    if (event.kind === "started") this.status.working("Running the audit. Closing the page stops the audit; start it again to resume.");
    if (event.kind === "audit") this.draw(event.result);
  }

  draw(result) {
    const short = (model) => model.name.split("/").at(-1);
    const labels = result.target === "logits";
    const { wording } = this.known;
    const { title, what } = wording[labels ? "label" : "meaning"];
    this.title.textContent = title;
    this.what.textContent = result.flips ? `${result.flips.counts} ${what}` : what;
    this.levels.textContent = `${wording.levels.map((one) => `${one.title}: ${one.about} `).join("")}matched overlap: ${wording.matched} Scores above 0.5 are orange, scores below are blue; names of baselines are grey.`;
    this.lead.hidden = this.ofMeaning.hidden = labels;
    const baselines = result.baselines ?? [];
    const every = [...result.models, ...baselines];
    const levels = wording.levels.filter((one) => every.some((model) => model.levels[one.name]));
    const kinds = [...new Set(result.models.flatMap((model) => model.kinds.map((one) => one.kind)))];
    this.about.replaceChildren(...result.models.map((model) => h("p", {}, h("b", {}, h("bdi", {}, short(model))), ` ${model.verdict ?? ""}`)), ...(result.flips?.said ?? (result.differences ?? []).map((one) => one.said)).map((said) => h("p", {}, said)),
      h("p", { class: "soft" }, `${result.texts.toLocaleString("en")} texts (${DATA[result.data] ?? result.data}), seed ${result.seed}; change measured by ${result.target === "cosine" ? "1 − cosine of the embeddings" : `the relative change of ${result.target}`}`));
    const cell = (score) => {
      if (!score) return h("td", { class: "num" }, "–");
      const few = score.texts < wording.point;
      const tint = h("span", { class: few ? "" : `auc ${score.score >= 0.5 ? "good" : "poor"}` }, `${rounded(score.score, 2)} `, h("span", { class: "within" }, `(${rounded(score.low, 2)}–${rounded(score.high, 2)})${few ? `, ${score.texts} text${score.texts === 1 ? "" : "s"}` : ""}`));
      tint.style.setProperty("--share", Math.min(1, Math.abs(score.score - 0.5) * 2).toFixed(3));
      return h("td", { class: "num", title: `${score.texts} texts, median overlap ${rounded(score.overlap, 2)}` }, tint);
    };
    const table = (heads, rows) => h("table", {}, h("thead", {}, h("tr", {}, heads.map((head, at) => h("th", { class: at && !head.text ? "num" : "", title: head.about ?? null }, head.title)))), h("tbody", {}, rows));
    const name = (model) => h("th", { scope: "row" }, model.rank && result.models.length > 1 && !result.flips ? `${model.rank}. ` : "", h("bdi", { class: baselines.includes(model) ? "soft" : "" }, short(model)));
    const flips = ({ heads, rows, choice }) => [h("h2", { class: "gap" }, "Labels that change"), h("p", { class: "soft" }, choice), h("div", { class: "scroll leaderboard tight" },
      table(heads, rows.map((row) => h("tr", {}, row.map((cell, at) => h(at ? "td" : "th", { class: at && !heads[at].text ? "num" : "" }, h("bdi", {}, at ? cell : short({ name: cell }))))))))];
    this.flips.replaceChildren(...(result.flips ? flips(result.flips) : []));
    this.scores.hidden = !kinds.length;
    this.leaderboard.replaceChildren(table([{ title: "model" }, ...levels, { title: "matched overlap", about: wording.matched }],
      every.map((model) => h("tr", {}, name(model), levels.map((one) => cell(model.levels[one.name])), cell(model.matched)))));
    this.byKind.replaceChildren(table([{ title: "kind of change" }, ...every.map((model) => ({ title: short(model) }))],
      kinds.map((kind) => h("tr", {}, h("th", { scope: "row" }, kind), every.map((model) => cell(model.kinds.find((one) => one.kind === kind)?.levels[result.level]))))));
    const percent = (share) => rounded(100 * share, 0);
    const error = (share, low, high) => h("td", { class: "num" }, `${percent(share)} %`, h("span", { class: "within" }, low == null ? "" : ` (${percent(low)}–${percent(high)} %)`));
    const errors = (one) => one ? [error(one.accepted_changes, one.accepted_low, one.accepted_high), error(one.rejected_rewordings, one.rejected_low, one.rejected_high)] : [h("td"), h("td")];
    this.thresholds.replaceChildren(...(result.models[0]?.thresholds.length ? [table([{ title: "threshold" }, ...result.models.flatMap((model) => [{ title: `${short(model)}: changes accepted` }, { title: "rewordings rejected" }])],
      result.models[0].thresholds.map((one, at) => h("tr", {}, h("th", { scope: "row" }, one.threshold.toFixed(2)), result.models.flatMap((model) => errors(model.thresholds[at]))))),
      ...result.models.filter((model) => model.equal_sentence).map((model) => h("p", {}, h("b", {}, h("bdi", {}, short(model))), `: ${model.equal_sentence}`))] : [h("p", { class: "soft" }, "No text has a rewording.")]));
    this.spots.replaceChildren(...result.models.map((model) => h("details", { open: result.models.length === 1 }, h("summary", {}, h("bdi", {}, short(model)), model.closer_sentence ? `: ${model.closer_sentence}` : ""),
      h("ol", { class: "blind" }, (model.blind_spots ?? []).map((one) => this.spot(one))))));
    this.result.hidden = false;
  }

  // The text with its change of meaning, then the edit that preserves the meaning and is further away.
  spot(one) {
    const tail = one.text.slice(one.start + one.before.length);
    return h("li", {}, h("p", { dir: "auto" }, one.text.slice(0, one.start), one.before.trim() ? h("del", {}, one.before) : null, one.after.trim() ? h("ins", {}, one.after) : null, /^\w/.test(tail) && !/\s$/.test(one.after) ? " " : "", tail, h("span", { class: "soft" }, ` ${one.kind}: change ${number(one.change)}`)),
      h("p", { dir: "auto" }, one.keeping_text, h("span", { class: "soft" }, ` ${one.keeping}: change ${number(one.keeping_change)}`)));
  }
}
