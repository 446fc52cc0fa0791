/* S against the length of the text: attention and fully connected features, as one small chart. */

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** points: {n: {S, ceiling}} for each of the two layers; n: the present length. */
export function drawGrowth(svg, sizes, layers, n) {
  const width = Math.max(280, Math.round(svg.clientWidth));
  const narrow = width < 520; // names stand above the ends of their lines then
  const [height, left, right, top, bottom] = [300, 40, narrow ? 12 : 160, 16, 44];
  const most = Math.max(
    1e-9,
    ...layers.flatMap(({ points }) => Object.values(points).map((p) => p?.ceiling ?? 0)),
  );
  const last = Math.log2(sizes[sizes.length - 1]);
  const at = (size) => left + (Math.log2(size) / last) * (width - left - right);
  const up = (S) => height - bottom - (S / (1.05 * most)) * (height - top - bottom);
  const parts = [];
  const step = niceStep(most / 4);
  for (let S = 0; S <= 1.05 * most; S += step) {
    const y = up(S);
    parts.push(element("line", { class: "grid", x1: left, x2: width - right, y1: y, y2: y }));
    const label = step < 1 ? S.toFixed(step < 0.1 ? 2 : 1) : String(S);
    parts.push(element("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, label));
  }
  for (const size of sizes) {
    const centre = { x: at(size), y: height - bottom + 20, "text-anchor": "middle" };
    parts.push(element("text", centre, String(size)));
  }
  const middle = (left + width - right) / 2;
  const under = { x: middle, y: height - 4, "text-anchor": "middle" };
  parts.push(element("text", under, "words in the text, n"));
  const here = { class: "here", x1: at(n), x2: at(n), y1: top, y2: height - bottom };
  parts.push(element("line", here));
  let lastLabel = Infinity;
  const labelled = [];
  for (const { name, className, points } of layers) {
    const known = sizes.filter((size) => points[size]);
    for (const what of ["ceiling", "S"]) {
      const line = known.map((size) => `${at(size)},${up(points[size][what])}`).join(" ");
      parts.push(element("polyline", { class: `${className} ${what}`, points: line }));
    }
    for (const size of known) {
      const y = up(points[size].S);
      parts.push(element("circle", { class: className, cx: at(size), cy: y, r: 4 }));
    }
    const end = known[known.length - 1];
    if (end) {
      const under = known.filter((size) => at(size) > at(end) - 9 * name.length - 30);
      const highest = Math.max(...under.map((size) => points[size].S));
      const near = under.map((size) => points[size].ceiling).filter((S) => up(highest) - up(S) < 24);
      const y = up(narrow ? Math.max(highest, ...near) : points[end].S);
      labelled.push({ name, className, x: at(end) + (narrow ? 4 : 12), y });
    }
  }
  labelled.sort((a, b) => b.y - a.y);
  for (const { name, className, x, y } of labelled) {
    const placed = Math.min(narrow ? y - 12 : y + 4, lastLabel - 18);
    lastLabel = placed;
    const anchor = narrow ? "end" : "start";
    const where = { class: `name ${className}`, x, y: placed, "text-anchor": anchor };
    parts.push(element("text", where, name));
  }
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren(...parts);
}

function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
}
