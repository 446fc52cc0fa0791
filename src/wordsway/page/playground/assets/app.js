/* The page: a state changes, a model of it is built, and both are drawn. */

import { jobQueue } from "./jobs.js";
import { DENSE, buildModel, growthOf } from "./model.js";
import { fieldOf, listenToHandle } from "./plane.js";
import { after, before, draw, fieldShow, growthShow, readPalette } from "./show.js";
import {
  $, HOW, KINDS, ceilingHere, layerKey, measured, otherWorstS, page, shown, state, text, worstS,
} from "./store.js";
import { STEPS } from "./tour.js";

const WORK = ["search", "ceiling", "other", "field", "lengths", "growth"];
const jobs = jobQueue();
const growthTable = new Map();
let dirty = false;
let frames = 0;

/* ---- state ---- */

const temperatureAt = (slider) => Number((20 ** (slider / 52)).toPrecision(3));
const sliderAt = (temperature) => Math.round((52 * Math.log(temperature)) / Math.log(20));

function clean(wanted) {
  const whole = (value, least, most, otherwise) => {
    const number = Math.round(Number(value));
    return Number.isFinite(number) ? Math.min(most, Math.max(least, number)) : otherwise;
  };
  const merged = { ...state, ...wanted };
  const t = Number(merged.temperature);
  const inside = Number.isFinite(t) ? Math.min(HOW.hottest, Math.max(HOW.coldest, t)) : 1;
  const place = (value) => (Number.isFinite(Number(value)) ? Number(value) : 0);
  const length = Math.max(1, Math.hypot(place(merged.x), place(merged.y)));
  return {
    n: whole(merged.n, 1, 64, state.n),
    d: whole(merged.d, 2, 64, state.d),
    temperature: inside,
    scores: HOW.scores.includes(merged.scores) ? merged.scores : state.scores,
    seed: whole(merged.seed, 0, 4294967295, state.seed),
    x: place(merged.x) / length,
    y: place(merged.y) / length,
  };
}

/** Takes a new state; the layer is rebuilt if it differs. */
function set(wanted, where = page.pin) {
  const old = page.model && layerKey(state);
  Object.assign(state, clean(wanted));
  page.pin = where;
  if (layerKey(state) !== old) {
    rebuild();
    controlsShow();
  } else place();
  changed();
}

function rebuild() {
  jobs.clear();
  const model = buildModel(state);
  Object.assign(page, { model, field: null, cell: null, growth: { attention: {}, dense: {} } });
  const silent =
    "In this draw all features are zero, so that a relative change is undefined: take " +
    "another draw.";
  text("message", model.silent ? silent : "");
  place();
  if (!model.silent) {
    jobs.add("search", model.searchWorst(), () => {
      place();
      changed();
    });
    jobs.add("ceiling", model.findCeiling(HOW), changed);
    jobs.add("other", model.findOther(HOW), changed);
    jobs.add("field", fieldOf(model), (values) => {
      page.field = values;
      fieldShow();
    });
    jobs.add("lengths", model.findLengths(HOW), changed);
  }
  const record = (scores, n, found) => {
    page.growth[scores === DENSE ? "dense" : "attention"][n] = found;
  };
  jobs.add("growth", growthOf(state, HOW, growthTable, record), growthShow);
}

/** The handle where its pin says. */
function place() {
  const { pin, model } = page;
  if (pin === "zero") [state.x, state.y] = [0, 0];
  else if (pin === "attract") [state.x, state.y] = [1, 0];
  else if (pin === "worst") [state.x, state.y] = model.coordinates(model.worst);
}

/** Asks for one frame. */
function changed() {
  if (dirty) return;
  dirty = true;
  requestAnimationFrame(() => {
    dirty = false;
    frames++;
    if (page.glide) glideOn();
    draw();
  });
}

function tourGo(step) {
  page.step = Math.min(STEPS.length - 1, Math.max(0, step));
  const { go, pin } = STEPS[page.step];
  const from = [state.x, state.y];
  if (Array.isArray(pin)) set({ ...go, x: pin[0], y: pin[1] }, null);
  else set(go, pin);
  startGlide(from);
  say();
}

/** The handle glides to its new place, unless the reader wants no motion. */
function startGlide(from) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  page.glide = { from, to: [state.x, state.y], since: performance.now() };
  changed();
}

function glideOn() {
  const { from, since } = page.glide;
  const t = Math.min(1, (performance.now() - since) / 550);
  const eased = t * t * (3 - 2 * t);
  if (page.pin) {
    place();
    page.glide.to = [state.x, state.y];
  }
  const { to } = page.glide;
  state.x = t < 1 ? from[0] + (to[0] - from[0]) * eased : to[0];
  state.y = t < 1 ? from[1] + (to[1] - from[1]) * eased : to[1];
  if (t >= 1) {
    page.glide = null;
    say();
  }
  changed();
}

/* ---- listening ---- */

function controlsShow() {
  $("n").value = state.n;
  $("d").value = state.d;
  $("t").value = sliderAt(state.temperature);
  text("n-value", String(state.n));
  text("d-value", String(state.d));
  text("t-value", String(state.temperature));
  $("t").setAttribute("aria-valuetext", String(state.temperature));
  if (document.activeElement !== $("seed")) $("seed").value = state.seed;
  $("t").disabled = state.scores === DENSE;
  text("kind-about", KINDS[state.scores][1]);
  for (const radio of document.querySelectorAll("#kinds input")) {
    radio.checked = radio.value === state.scores;
  }
}

/** What changed, for a screen reader and for the address; after the movement, not during it. */
function say() {
  clearTimeout(say.timer);
  say.timer = setTimeout(() => {
    const { now } = measured();
    const spoken = now && `change ${shown(now.S)}, ceiling ${shown(page.model.ceiling)}`;
    text("live", spoken ?? $("message").textContent);
    const at = { x: state.x.toFixed(4), y: state.y.toFixed(4) };
    const fields = { ...state, ...at, pin: page.pin ?? "", step: page.step + 1 };
    try {
      history.replaceState(null, "", `#${new URLSearchParams(fields)}`);
    } catch {
      /* a viewer without an address */
    }
    codeShow();
  }, 250);
}

function codeShow() {
  if (!$("check").open) return;
  const { delta, now } = measured();
  const { n, d, seed, scores, temperature } = state;
  text(
    "code",
    [
      "import wordsway as ws",
      "from wordsway.page.playground import instance",
      "",
      `phi, X = state = instance(n=${n}, d=${d}, seed=${seed}, scores="${scores}", temperature=${temperature})`,
      `delta = [${Array.from(delta).join(", ")}]`,
      "before, after = phi(X), phi(X.replaced(0, delta))",
      `print(float((after - before).norm() / before.norm()))  # here: ${now ? now.S : "undefined"}`,
      `print(state.ceiling())  # here: ${page.model.ceiling ?? "undefined"}`,
      "print(ws.sensitivity(phi, X, positions=0).upper)  # about the same, lower where n > d/2",
    ].join("\n"),
  );
}

function listen() {
  for (const name of HOW.scores) {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "scores", value: name });
    const title = document.createElement("span");
    title.textContent = KINDS[name][0];
    label.append(radio, title);
    radio.addEventListener("change", () => act({ scores: name }));
    $("kinds").append(label);
  }
  const act = (wanted, where = page.pin) => {
    page.glide = null;
    set(wanted, where);
    say();
  };
  for (const name of ["n", "d"]) {
    $(name).addEventListener("input", () => act({ [name]: $(name).value }));
  }
  $("t").addEventListener("input", () => act({ temperature: temperatureAt(Number($("t").value)) }));
  $("seed").addEventListener("change", () => act({ seed: $("seed").value }));
  $("redraw").addEventListener("click", () => act({ seed: (state.seed + 1) % 4294967296 }));
  for (const button of document.querySelectorAll("[data-pin]")) {
    button.addEventListener("click", () => {
      const from = [state.x, state.y];
      act({}, button.dataset.pin);
      startGlide(from);
    });
  }
  listenToHandle($("plane"), $("handle"), () => [state.x, state.y], (x, y) => act({ x, y }, null));
  for (const [id, view] of [["before", before], ["after", after]]) {
    const canvas = $(id);
    const point = (cell) => {
      page.cell = cell;
      changed();
    };
    canvas.addEventListener("pointermove", (event) => point(view.cellAt(event)));
    canvas.addEventListener("pointerdown", (event) => point(view.cellAt(event)));
    canvas.addEventListener("keydown", (event) => {
      const ways = {
        ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      };
      const by = ways[event.key];
      if (!by) return;
      event.preventDefault();
      const inside = (value, count) => Math.min(count - 1, Math.max(0, value));
      const [rows, columns] = view.shape();
      const [r, c] = page.cell ? [page.cell[0] + by[0], page.cell[1] + by[1]] : [0, 0];
      point([inside(r, rows), inside(c, columns)]);
      setTimeout(() => text("live", $("cell").textContent), 50);
    });
    canvas.setAttribute("aria-label", `Attention ${id} the change; its numbers are in the text below`);
  }
  STEPS.forEach((step, k) => {
    const item = document.createElement("li");
    const dot = document.createElement("button");
    dot.type = "button";
    dot.textContent = String(k + 1);
    dot.setAttribute("aria-label", `Step ${k + 1}: ${step.title}`);
    dot.addEventListener("click", () => tourGo(k));
    item.append(dot);
    $("tour-dots").append(item);
  });
  $("tour-back").addEventListener("click", () => tourGo(page.step - 1));
  $("tour-next").addEventListener("click", () => tourGo((page.step + 1) % STEPS.length));
  $("tour").addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") tourGo(page.step + 1);
    else if (event.key === "ArrowLeft") tourGo(page.step - 1);
    else return;
    event.preventDefault();
  });
  $("check").addEventListener("toggle", codeShow);
  $("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText($("code").textContent);
      text("copy", "Copied");
    } catch {
      getSelection().selectAllChildren($("code"));
      text("copy", "Selected: press Ctrl+C");
    }
    setTimeout(() => text("copy", "Copy"), 2000);
  });
  const repaint = () => {
    readPalette();
    fieldShow();
    changed();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("resize", () => {
    growthShow();
    changed();
  });
  addEventListener("hashchange", fromAddress);
  repaint();
}

function fromAddress() {
  const fields = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const where = ["zero", "attract", "worst"].includes(fields.pin) ? fields.pin : null;
  if (!fields.n) return tourGo(0);
  page.step = Math.min(STEPS.length, Math.max(1, Math.round(Number(fields.step)) || 1)) - 1;
  return set(fields, where);
}

/** For checks from outside: the state, and every number of it once it is computed. */
window.playground = {
  state: () => ({ ...state }),
  set: (wanted, where = null) => set(wanted, where),
  frames: () => frames,
  /** Whether one of the named pieces of work is still to be done; any of them without a name. */
  busy: (...names) => (names.length ? names : WORK).some(jobs.has),
  /** Resolves when they are done. */
  async done(...names) {
    while (this.busy(...names)) await new Promise((resolve) => setTimeout(resolve, 5));
  },
  numbers() {
    const { delta, now, other } = measured();
    const { model, growth } = page;
    return {
      ...state,
      delta: Array.from(delta),
      S: now?.S ?? null,
      features: now ? Array.from(now.features) : null,
      worst: worstS(),
      worstDelta: Array.from(model.worst),
      ceiling: model.ceiling,
      lengths: [...model.lengths],
      ceilingHere: ceilingHere(),
      otherS: other?.S ?? null,
      otherWorst: otherWorstS(),
      otherCeiling: model.otherCeiling,
      growth,
    };
  },
};

listen();
fromAddress();
