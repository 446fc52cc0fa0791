// A square matrix as a picture; the pointer or the arrow keys select the cell whose value is shown.
import { h, number } from "./dom.js";

const ROOM = 92;

export class Matrix {
  constructor(title) {
    this.canvas = h("canvas", { role: "img", tabindex: "0", class: "matrix" });
    this.readout = h("p", { class: "readout", "aria-live": "polite" }, "\u00a0");
    this.title = title;
    this.element = h("figure", { class: "plotted" }, h("figcaption", {}, title), this.canvas, this.readout);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.show(null));
    this.canvas.addEventListener("keydown", (event) => this.walk(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  set(tokens, rows, matrix, signed = false) {
    Object.assign(this, { tokens, rows, matrix, signed });
    const names = rows.map((row) => tokens[row]).join(" ");
    this.canvas.setAttribute("aria-label", `${this.title}: ${tokens.length} by ${tokens.length} tokens, attention to ${names}; use the arrow keys to read the values`);
    this.draw();
    this.show(this.at);
  }

  draw() {
    if (!this.matrix) return;
    const count = this.tokens.length;
    const wide = Math.max(200, Math.min(this.element.clientWidth || 420, 560));
    const room = Math.min(ROOM, 16 + 6.6 * Math.max(...this.tokens.map((token) => Math.min(11, token.length))));
    const cell = this.cell = Math.max(2, (wide - room - 4) / count);
    const scale = devicePixelRatio || 1;
    const side = room + cell * count + 4;
    Object.assign(this, { room });
    if (this.canvas.width !== Math.round(side * scale)) {
      this.canvas.width = this.canvas.height = Math.round(side * scale);
      this.canvas.style.width = this.canvas.style.height = `${side}px`;
    }
    const look = getComputedStyle(document.documentElement);
    const [ink, soft, line, heat, cold] = ["--ink", "--soft", "--line", "--heat", "--cold"].map((name) => look.getPropertyValue(name).trim());
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, side, side);
    const top = this.signed ? Math.max(0.05, ...this.matrix.flat().map(Math.abs)) : 1;
    for (let row = 0; row < count; row += 1) {
      for (let column = 0; column < count; column += 1) {
        const value = this.matrix[row][column];
        pen.fillStyle = `rgba(${value >= 0 ? heat : cold},${(0.04 + 0.9 * Math.min(1, Math.abs(value) / top)).toFixed(3)})`;
        pen.fillRect(room + column * cell, room + row * cell, cell - (cell > 6 ? 1 : 0), cell - (cell > 6 ? 1 : 0));
        if (cell >= 34) {
          pen.fillStyle = ink;
          pen.font = "11px system-ui, sans-serif";
          pen.textAlign = "center";
          pen.fillText(Math.abs(value) < 0.005 ? "0" : value.toFixed(2), room + (column + 0.5) * cell, room + (row + 0.5) * cell + 4);
        }
      }
    }
    const size = Math.max(7, Math.min(12.5, cell));
    const every = Math.ceil(size / cell);
    for (let at = 0; at < count; at += 1) {
      if (at % every && !this.rows.includes(at)) continue;
      const chosen = this.rows.includes(at);
      pen.font = `${chosen ? "bold " : ""}${size}px system-ui, sans-serif`;
      pen.fillStyle = chosen ? ink : soft;
      const label = this.tokens[at].length > 11 ? `${this.tokens[at].slice(0, 10)}…` : this.tokens[at];
      pen.textAlign = "right";
      pen.fillText(label, room - 6, room + (at + 0.5) * cell + size / 3);
      pen.save();
      pen.translate(room + (at + 0.5) * cell + size / 3, room - 6);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.fillText(label, 0, 0);
      pen.restore();
    }
    pen.strokeStyle = line;
    pen.strokeRect(room - 0.5, room - 0.5, cell * count, cell * count);
    if (this.at) {
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      pen.strokeRect(room + this.at[1] * cell - 0.5, room + this.at[0] * cell - 0.5, cell, cell);
      pen.lineWidth = 1;
    }
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.room) / this.cell);
    const row = Math.floor((event.clientY - box.top - this.room) / this.cell);
    const inside = (at) => at >= 0 && at < this.tokens.length;
    this.show(inside(row) && inside(column) ? [row, column] : null);
  }

  walk(event) {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const last = this.tokens.length - 1;
    const from = this.at ?? [0, -step[1]];
    this.show(from.map((value, at) => Math.min(last, Math.max(0, value + step[at]))));
  }

  show(at) {
    this.at = at;
    this.draw();
    this.readout.textContent = at ? `${this.tokens[at[0]]} attends to ${this.tokens[at[1]]}: ${number(this.matrix[at[0]][at[1]])}` : "\u00a0";
  }
}
