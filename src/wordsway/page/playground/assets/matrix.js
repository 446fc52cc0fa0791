/* Attention as a picture: n×n cells before and after, or the features where there is no attention. */

const SHADES = 1024;

/** Colours of shares as bytes of a picture: paper at 0, full at 1, by the square root, so that
    small shares show. */
function shadesOf([paper, full]) {
  const bytes = new Uint8ClampedArray(4 * (SHADES + 1));
  for (let k = 0; k <= SHADES; k++) {
    const t = Math.sqrt(k / SHADES);
    for (let c = 0; c < 3; c++) bytes[4 * k + c] = paper[c] + (full[c] - paper[c]) * t;
    bytes[4 * k + 3] = 255;
  }
  return new Uint32Array(bytes.buffer);
}

/** Draws `values` (rows×columns, 0 … 1) into a canvas; numbers in the cells where they fit. */
export function matrixView(canvas) {
  const context = canvas.getContext("2d");
  const small = document.createElement("canvas");
  let shape = [1, 1];
  let drawn = []; // what the canvas shows now
  let shades = null;
  return {
    shape: () => shape,
    draw(values, rows, columns, colours, { mark, cell }) {
      shape = [rows, columns];
      const ratio = Math.min(3, window.devicePixelRatio || 1);
      const side = Math.max(40, Math.round(canvas.clientWidth * ratio));
      const wanted = [values, colours, side, cell, mark];
      if (wanted.every((part, k) => part === drawn[k])) return;
      if (colours !== drawn[1]) shades = shadesOf(colours.scale);
      drawn = wanted;
      if (canvas.width !== side) canvas.width = canvas.height = side;
      if (small.width !== columns || small.height !== rows) {
        small.width = columns;
        small.height = rows;
      }
      const pixels = new ImageData(columns, rows);
      const cells = new Uint32Array(pixels.data.buffer);
      for (let m = 0; m < rows * columns; m++) {
        cells[m] = shades[Math.round(SHADES * Math.min(1, values[m]))];
      }
      small.getContext("2d").putImageData(pixels, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(small, 0, 0, side, side);
      const wide = side / columns;
      const high = side / rows;
      if (columns <= 16 && wide >= 18.5 * ratio) {
        context.font = `${Math.min(15 * ratio, wide / 2)}px system-ui, sans-serif`;
        context.textAlign = "center";
        context.textBaseline = "middle";
        for (let m = 0; m < rows * columns; m++) {
          context.fillStyle = values[m] > 0.3 ? colours.onFull : colours.onPaper;
          const text = String(Math.round(values[m] * 100));
          const x = ((m % columns) + 0.5) * wide;
          context.fillText(text, x, (Math.floor(m / columns) + 0.5) * high);
        }
      }
      context.lineWidth = 2 * ratio;
      if (mark && wide >= 9 * ratio) {
        context.strokeStyle = colours.ink;
        context.strokeRect(ratio, ratio, wide - 2 * ratio, side - 2 * ratio);
      }
      if (cell) {
        context.strokeStyle = colours.accent;
        context.lineWidth = 3 * ratio;
        context.strokeRect(cell[1] * wide, cell[0] * high, wide, high);
      }
    },
    /** The cell under a pointer. */
    cellAt(event) {
      const box = canvas.getBoundingClientRect();
      const part = (at, from, size, count) =>
        Math.min(count - 1, Math.max(0, Math.floor(((at - from) / size) * count)));
      return [
        part(event.clientY, box.top, box.height, shape[0]),
        part(event.clientX, box.left, box.width, shape[1]),
      ];
    },
  };
}
