// Exports the result of a page: link, files, command line, Python.
import { h } from "./dom.js";
import { ask } from "./stream.js";

export function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// A table: its first column is a name, the others are numbers.
export function numbers(heads, rows) {
  const line = (cells, tag) => h("tr", {}, cells.map((cell, at) => h(tag, { class: at ? "num" : "" }, cell)));
  return h("table", {}, h("thead", {}, line(heads, "th")), h("tbody", {}, rows.map((row) => line(row, "td"))));
}

const TYPES = { json: "application/json", csv: "text/csv", svg: "image/svg+xml" };

export class Export {
  // `request()` returns the part of the request body that names the file.
  constructor(status, request) {
    this.status = status;
    this.request = request;
    this.command = this.code("Command line");
    this.python = this.code("Python");
    const files = ["json", "csv", "svg"].map((ending) =>
      h("button", { type: "button", class: "plain", "data-file": ending, onclick: () => this.file(ending) }, ending.toUpperCase()));
    this.link = h("button", { type: "button", class: "plain", "data-link": "", onclick: () => this.copy(location.href, this.link) }, "Copy link");
    this.element = h("section", { class: "export card", "aria-label": "Export" },
      h("div", { class: "buttons" }, h("h2", {}, "Export"), this.link, files), this.command.box, this.python.box);
  }

  code(title) {
    const text = h("code");
    const copy = h("button", { type: "button", class: "plain small", onclick: () => this.copy(text.textContent, copy) }, "Copy");
    return { text, box: h("details", { class: "code" }, h("summary", {}, title), h("div", { class: "codebox" }, h("pre", {}, text), copy)) };
  }

  show(command, python) {
    this.command.text.textContent = command;
    this.python.text.textContent = python;
  }

  async copy(text, button) {
    const before = button.dataset.name ??= button.textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Copying failed"; }
    setTimeout(() => { button.textContent = before; }, 1600);
  }

  async file(ending) {
    try {
      await ask("/api/file", { ending, ...this.request() }, (event) => {
        if (event.kind === "file") save(event.name, event.text, TYPES[ending]);
        else this.status.progress(event);
      });
      this.status.done(`${ending.toUpperCase()} saved`);
    } catch (error) { this.status.failed(error); }
  }
}
