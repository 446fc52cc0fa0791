// Curves with bands as SVG: logarithmic or plain axes, numbers by pointer or arrow keys.
import { h, s, number } from "./dom.js";

const BOX = { left: 54, right: 16, top: 30, bottom: 42 };

function linearTicks(low, high, count = 5) {
  const span = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = power * [1, 2, 2.5, 5, 10].find((part) => span / (power * part) <= count);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(Number((at * step).toPrecision(12)));
  return found;
}

// Both ends are labels: the last one below the data and the first one above.
function logTicks(low, high) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) powers.push(power);
  const ticks = (digits) => {
    const all = powers.flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)));
    return all.filter((_, at) => !(all[at + 1] <= low) && !(all[at - 1] >= high));
  };
  return [[1, 2, 3, 5, 7], [1, 2, 5]].map(ticks).find((found) => found.length <= 7) ?? ticks([1]);
}

function axis(values, logarithmic, from, to, fromZero) {
  const good = values.filter((value) => Number.isFinite(value) && (!logarithmic || value > 0));
  let low = Math.min(...good);
  let high = Math.max(...good);
  if (!good.length) [low, high] = logarithmic ? [0.1, 1] : [0, 1];
  if (fromZero && !logarithmic) low = Math.min(0, low);
  if (low === high) [low, high] = logarithmic ? [low / 2, high * 2] : [low - (low ? Math.abs(low) / 2 : 0.5), high + (high ? Math.abs(high) / 2 : 0.5)];
  let ticks = logarithmic ? logTicks(low, high) : linearTicks(low, high);
  if (fromZero && logarithmic) [low, high] = [ticks[0], ticks.at(-1)];
  else if (fromZero) {
    const step = ticks.length > 1 ? ticks[1] - ticks[0] : high;
    if (high > ticks.at(-1)) ticks = [...ticks, Number((ticks.at(-1) + step).toPrecision(12))];
    high = Math.max(high, ticks.at(-1));
  }
  const size = (value) => (logarithmic ? Math.log(value) : value);
  const place = (value) => {
    const share = (size(Math.max(value, logarithmic ? low * 1e-3 : value)) - size(low)) / (size(high) - size(low));
    return from + (to - from) * Math.min(1.05, Math.max(-0.05, share));
  };
  return { place, ticks };
}

// series: [{ name, points: [[x, y]], upper: [y], bound, sd: [s], colour, dash, dots, note }]; `bound` says what `upper` is.
const limit = (one, at) => (one.upper?.[at] ? `, ${one.bound ?? "certified at most"} ${number(one.upper[at])}` : "");

export function chart({ title, series, width = 440, height = 240, xlabel, ylabel, logx = false, logy = false, mark = null, xticks = null, ceiling = null, symbol = "" }) {
  const every = series.flatMap((one) => one.points);
  const tops = series.flatMap((one) => (one.upper ?? []).filter((value) => value !== null));
  const lows = series.flatMap((one) => one.points.map(([, y], at) => y - (one.sd?.[at] ?? 0)));
  const x = axis([...every.map(([at]) => at), ...(xticks ?? [])], logx, BOX.left, width - BOX.right, false);
  const y = axis([...every.map(([, value]) => value), ...tops, ...lows, ...(ceiling === null ? [] : [ceiling])], logy, height - BOX.bottom, BOX.top, true);
  const parts = [];
  if (mark !== null) parts.push(s("rect", { class: "searched", x: x.place(mark) - 7, y: BOX.top, width: 14, height: height - BOX.top - BOX.bottom, rx: 3 }));
  for (const tick of y.ticks) {
    const at = y.place(tick);
    parts.push(s("path", { class: "grid", d: `M${BOX.left} ${at}H${width - BOX.right}` }),
      s("text", { x: BOX.left - 7, y: at + 4, "text-anchor": "end" }, String(tick)));
  }
  let free = Infinity;
  for (const tick of (xticks ?? x.ticks).toReversed()) {
    const half = 4 * String(tick).length;
    if (x.place(tick) + half > free) continue; // labels must not run into each other
    parts.push(s("text", { x: x.place(tick), y: height - BOX.bottom + 17, "text-anchor": "middle" }, String(tick)));
    free = x.place(tick) - half - 4;
  }
  parts.push(s("text", { x: (BOX.left + width - BOX.right) / 2, y: height - 7, "text-anchor": "middle" }, xlabel));
  if (ylabel) parts.push(s("text", { x: BOX.left, y: 14, class: "ylabel" }, ylabel));
  if (ceiling !== null) parts.push(s("path", { class: "ceiling", d: `M${BOX.left} ${y.place(ceiling)}H${width - BOX.right}` }));
  for (const one of series) parts.push(...drawSeries(one, x, y));
  const cross = s("path", { class: "cross", d: "" });
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: "0", "aria-label": title }, s("title", {}, title), ...parts, cross);
  const readout = h("p", { class: "readout", "aria-live": "polite" }, "\u00a0");
  watch(svg, readout, cross, series, x, width, height, symbol);
  return h("figure", { class: "plotted" }, h("figcaption", {}, title), svg, readout, keys(series, ceiling));
}

function drawSeries(one, x, y) {
  const style = one.colour ? { color: one.colour } : {};
  const line = (points) => points.map(([a, b]) => `${x.place(a).toFixed(1)},${y.place(b).toFixed(1)}`).join(" ");
  const parts = [];
  const sure = one.points.map(([a, b], at) => [a, b, one.upper?.[at] ?? null]).filter(([, , top]) => top !== null);
  if (sure.length > 1) {
    parts.push(s("polygon", { class: `band ${one.kind ?? ""}`, style, points: `${line(sure.map(([a, b]) => [a, b]))} ${line(sure.map(([a, , top]) => [a, top]).reverse())}` }),
      s("polyline", { class: `certified ${one.kind ?? ""}`, style, points: line(sure.map(([a, , top]) => [a, top])) }));
  }
  (one.sd ?? []).forEach((sd, at) => {
    const [a, b] = one.points[at];
    if (sd) parts.push(s("path", { class: "error", style, d: `M${x.place(a).toFixed(1)} ${y.place(b - sd).toFixed(1)}V${y.place(b + sd).toFixed(1)}` }));
  });
  if (one.points.length > 1) parts.push(s("polyline", { class: `line ${one.kind ?? ""}`, style, points: line(one.points) }));
  if (one.dots !== false) {
    for (const [at, [a, b]] of one.points.entries()) {
      parts.push(s("circle", { class: `dot ${one.kind ?? ""}`, style, cx: x.place(a).toFixed(1), cy: y.place(b).toFixed(1), r: 3 },
        s("title", {}, `${one.name}, ${a}: ${number(b)}${limit(one, at)}`)));
    }
  }
  return parts;
}

function keys(series, ceiling) {
  const items = series.map((one) => h("li", {}, s("svg", { class: "chart key", viewBox: "0 0 22 8", "aria-hidden": "true" },
    s("path", { class: `line ${one.kind ?? ""}`, style: one.colour ? { color: one.colour } : {}, d: "M1 4H21" })), one.name));
  if (ceiling !== null) items.push(h("li", {}, s("svg", { class: "chart key", viewBox: "0 0 22 8", "aria-hidden": "true" }, s("path", { class: "ceiling", d: "M1 4H21" })), "certified ceiling"));
  return h("ul", { class: "keys" }, items);
}

// The numbers of the x that is nearest to the pointer, or to which the arrow keys went.
function watch(svg, readout, cross, series, x, width, height, symbol) {
  const places = [...new Set(series.filter((one) => one.dots !== false).flatMap((one) => one.points.map(([a]) => a)))].sort((a, b) => a - b);
  let at = -1;
  const show = (index) => {
    if (index < 0 || index >= places.length || index === at) return;
    at = index;
    const found = series.filter((one) => one.dots !== false).flatMap((one) => one.points.map(([a, b], point) => [a, b, point, one])
      .filter(([a]) => a === places[at]).map(([, b, point, one]) => `${one.short ?? one.name} ${number(b)}${limit(one, point)}`));
    readout.textContent = `${symbol ? `${symbol} = ` : ""}${places[at]}: ${found.join(" · ")}`;
    cross.setAttribute("d", `M${x.place(places[at]).toFixed(1)} ${BOX.top}V${height - BOX.bottom}`);
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const where = ((event.clientX - box.left) / box.width) * width;
    let best = 0;
    places.forEach((value, index) => { if (Math.abs(x.place(value) - where) < Math.abs(x.place(places[best]) - where)) best = index; });
    show(best);
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(Math.min(places.length - 1, Math.max(0, at + step)));
  });
}
