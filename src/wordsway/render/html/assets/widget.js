// The notebook widget: the heat map in a shadow root, so that its style touches nothing else.
import { h } from "./dom.js";
import { measured } from "./measured.js";

function render({ model, el }) {
  const { result, drawn, style } = model.get("data");
  const map = measured(result, drawn);
  const place = () => result.words.findIndex((word) => word.index === model.get("chosen"));
  map.card.chosen = (index) => { if (index !== model.get("chosen")) { model.set("chosen", index); model.save_changes(); } };
  model.on("change:chosen", () => { if (place() >= 0 && place() !== map.card.index) map.choose(place(), 0); });
  if (map.card.index !== null) map.card.chosen(result.words[map.card.index].index);
  const root = el.attachShadow({ mode: "open" });
  root.append(h("style", {}, style), h("div", { class: "widget" }, map.stage));
}

export default { render };
