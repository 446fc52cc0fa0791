// Elements from data. Text only ever becomes text nodes, so nothing that a user types is markup.
const SVG = "http://www.w3.org/2000/svg";
// Controls, overrides of the direction and halves of characters, as in core/escape.py.
const HARMFUL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export const readable = (text) => text.replace(/\r\n|[\r\u2028\u2029]/g, "\n").replace(HARMFUL, "\ufffd");

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value" && "value" in element) element.value = value;
    else if (name in element && !(element instanceof SVGElement) && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...shown.map((child) => (typeof child === "string" ? readable(child) : child)));
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Four significant digits, as everywhere else.
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0.000";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size > 5) return value.toExponential(3);
  return value.toFixed(Math.max(0, 3 - size));
}

export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export function option(value, text, chosen) {
  return h("option", { value, selected: value === chosen }, text);
}

export function field(label, control, more = "") {
  return h("label", { class: `field ${more}` }, h("span", {}, label), control);
}

// A field for a number in a range; the browser refuses other values.
export const numeric = (label, value, min, max, step = 1) => h("input", { type: "number", "aria-label": label, value, min, max, step, required: true, style: { width: "6.5em" } });

// One tooltip per document or shadow root: numbers of what is pointed at or has the focus; below it where it would cover a control above.
let tip = null;

function tipFor(element) {
  const root = element.getRootNode();
  let found = root.getElementById("tip");
  if (!found) {
    found = h("div", { id: "tip", class: "tip", role: "tooltip", hidden: true });
    (root.body ?? root).append(found);
  }
  return found;
}

export function hint(element, text) {
  const show = () => {
    tip = tipFor(element);
    tip.textContent = readable(text());
    tip.hidden = false;
    const box = element.getBoundingClientRect();
    const wide = tip.offsetWidth;
    const left = Math.min(Math.max(8, box.left + box.width / 2 - wide / 2), innerWidth - wide - 8);
    const high = tip.offsetHeight;
    const above = box.top - high - 8;
    const controls = [...element.getRootNode().querySelectorAll("a, button, input, select, textarea")].filter((one) => one !== element).map((one) => one.getBoundingClientRect());
    const clear = above > 4 && !controls.some((one) => one.left < left + wide && one.right > left && one.top < above + high && one.bottom > above);
    tip.style.left = `${left}px`;
    tip.style.top = `${clear ? above : box.bottom + 8}px`;
  };
  element.addEventListener("pointerenter", show);
  element.addEventListener("focus", show);
  for (const name of ["pointerleave", "blur"]) element.addEventListener(name, () => { if (tip) tip.hidden = true; });
}
addEventListener("keydown", (event) => { if (event.key === "Escape" && tip) tip.hidden = true; });
addEventListener("scroll", () => { if (tip) tip.hidden = true; }, { passive: true });

// The tab's storage, unless the browser blocks it.
function store() {
  try { return sessionStorage; } catch { return null; }
}

// The text last typed in this browser tab and its chosen word, on any page.
export const last = () => ({ text: store()?.getItem("text") || "I love her much", word: store()?.getItem("word") ?? "" });

export function keep(text, word = "") {
  store()?.setItem("text", text);
  store()?.setItem("word", word);
}

// The address holds the state, so that it can be shared and reloaded.
export function address(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) query.set(name, value);
  }
  return `${location.pathname}?${query}`;
}

// Values that are the usual ones are left out.
export function remember(values, push = false, usual = {}) {
  if (values.text) keep(values.text, values.word);
  const url = address(Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === usual[name] ? "" : value])));
  if (url !== location.pathname + location.search) history[push ? "pushState" : "replaceState"](null, "", url);
}

export const asked = () => Object.fromEntries(new URLSearchParams(location.search));
