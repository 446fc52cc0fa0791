/* The disc of all Δ in one plane: a handle to drag, S at every point behind it. */

export const FIELD = 41; // points across

/** S on a grid over the disc, a generator; NaN outside. */
export function* fieldOf(model) {
  const values = new Float64Array(FIELD * FIELD).fill(NaN);
  for (let row = 0; row < FIELD; row++) {
    for (let column = 0; column < FIELD; column++) {
      const x = (2 * column) / (FIELD - 1) - 1;
      const y = 1 - (2 * row) / (FIELD - 1);
      if (Math.hypot(x, y) > 1.08) continue;
      values[row * FIELD + column] = Math.sqrt(model.main.evaluate(model.delta(x, y)));
    }
    yield;
  }
  return values;
}

/** Paints the field, with lines of equal S. */
export function paintField(canvas, values, colours) {
  const size = FIELD;
  const context = canvas.getContext("2d");
  const scale = 8;
  canvas.width = canvas.height = size * scale;
  let top = 0;
  for (const value of values) if (value > top) top = value;
  const small = document.createElement("canvas");
  small.width = small.height = size;
  const pixels = new ImageData(size, size);
  const [paper, full] = colours.scale;
  values.forEach((value, m) => {
    const t = Number.isNaN(value) ? 0 : 0.75 * (value / (top || 1));
    const colour = paper.map((from, c) => Math.round(from + (full[c] - from) * t));
    pixels.data.set([...colour, 255], 4 * m);
  });
  small.getContext("2d").putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(small, 0, 0, size * scale, size * scale);
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  for (let level = 1; level < 5; level++) contour(context, values, (top * level) / 5, scale);
  return top;
}

/** Marching squares: the segments where the field crosses `level`. */
function contour(context, values, level, scale) {
  const at = (r, c) => values[r * FIELD + c];
  context.beginPath();
  for (let r = 0; r + 1 < FIELD; r++) {
    for (let c = 0; c + 1 < FIELD; c++) {
      const corners = [[r, c], [r, c + 1], [r + 1, c + 1], [r + 1, c]];
      if (corners.some(([a, b]) => Number.isNaN(at(a, b)))) continue;
      const cuts = [];
      corners.forEach(([r0, c0], side) => {
        const [r1, c1] = corners[(side + 1) % 4];
        const from = at(r0, c0) - level;
        const to = at(r1, c1) - level;
        if (from > 0 === to > 0) return;
        const t = from / (from - to);
        cuts.push([(c0 + t * (c1 - c0) + 0.5) * scale, (r0 + t * (r1 - r0) + 0.5) * scale]);
      });
      for (let k = 0; k + 1 < cuts.length; k += 2) {
        context.moveTo(...cuts[k]);
        context.lineTo(...cuts[k + 1]);
      }
    }
  }
  context.stroke();
}

/** Lets a pointer and the arrow keys move the handle; calls moved(x, y, done). */
export function listenToHandle(svg, handle, position, moved) {
  const place = (event) => {
    const box = svg.getBoundingClientRect();
    const half = svg.viewBox.baseVal.width / 2;
    const x = ((event.clientX - box.left) / box.width) * 2 * half - half;
    const y = half - ((event.clientY - box.top) / box.height) * 2 * half;
    const length = Math.max(1, Math.hypot(x, y));
    return [x / length, y / length];
  };
  let held = false;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = true;
    svg.setPointerCapture(event.pointerId);
    moved(...place(event), false);
    handle.focus({ preventScroll: true });
    event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => held && moved(...place(event), false));
  const release = () => {
    if (held) moved(...position(), true);
    held = false;
  };
  svg.addEventListener("pointerup", release);
  svg.addEventListener("pointercancel", release);
  handle.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 0.01 : 0.05;
    const steps = {
      ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step],
    };
    let [x, y] = position();
    if (event.key === "Home") [x, y] = [0, 0];
    else if (steps[event.key]) [x, y] = [x + steps[event.key][0], y + steps[event.key][1]];
    else return;
    event.preventDefault();
    const length = Math.max(1, Math.hypot(x, y));
    moved(x / length, y / length, true);
  });
}
