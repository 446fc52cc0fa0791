// Progress and errors in one line, which screen readers announce.
// If the connection is lost, `again` is called once the server is back.
import { h } from "./dom.js";
import { ask } from "./stream.js";

export class Status {
  constructor(again = null) {
    this.again = again;
    this.line = h("p", { class: "status", role: "status" });
    this.bar = h("span", { class: "bar" });
    this.box = h("div", { class: "working" }, this.line, h("div", { class: "track", "aria-hidden": "true" }, this.bar));
    this.error = h("p", { class: "error", role: "alert", hidden: true });
    this.element = h("div", { class: "state" }, this.box, this.error);
    this.said = 0;
  }

  working(text, share = null) {
    this.waiting = null;
    this.error.hidden = true;
    this.box.classList.add("on");
    // Screen readers announce stages, not percentages.
    if (this.stage !== text) { this.line.textContent = text; this.stage = text; }
    this.bar.style.width = share === null ? "100%" : `${Math.round(100 * share)}%`;
    this.bar.classList.toggle("unknown", share === null);
  }

  // One request at a time: a new one cancels the one before it. Returns whether it was answered.
  async follow(path, body, receive, result = null, failed = (error) => this.failed(error)) {
    this.leaving?.abort();
    const mine = this.leaving = new AbortController();
    this.working("Waiting for the server…");
    if (result) result.dataset.state = "working";
    try {
      await ask(path, body, (event) => { if (event.kind === "progress") this.progress(event); else receive(event); }, mine.signal);
      if (result) result.dataset.state = "done";
      return true;
    } catch (error) {
      if (mine === this.leaving) failed(error);
      return false;
    }
  }

  progress(event) {
    const names = event.note ? `${event.stage}: ${event.note}` : event.stage;
    this.working(`${names}…`, event.total ? Math.min(1, event.done / event.total) : null);
  }

  done(text) {
    this.box.classList.remove("on");
    this.line.textContent = text;
    this.stage = text;
    this.bar.style.width = "0";
  }

  failed(error) {
    if (error.name === "AbortError") return;
    this.done("");
    this.error.textContent = error.message;
    this.error.hidden = false;
    if (error.reason?.gone && this.again) this.wait();
  }

  // A remedy next to the error.
  offer(name, action) {
    this.error.append(h("button", { type: "button", class: "plain small", onclick: action }, name));
  }

  async wait() {
    const mine = this.waiting = {};
    while (mine === this.waiting) {
      const back = await fetch("/healthz").then((answer) => answer.ok, () => false);
      if (mine !== this.waiting) return;
      if (back) { this.again(); return; }
      await new Promise((done) => { setTimeout(done, 1500); });
    }
  }
}
