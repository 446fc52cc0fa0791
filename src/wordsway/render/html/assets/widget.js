// A text as a heat map to click in. Everything that comes from the text is set as text, never as HTML.
function element(name, look, text) {
  const made = document.createElement(name);
  if (look) made.className = look;
  if (text !== undefined) made.textContent = text;
  return made;
}
function digits(value) {
  return Math.abs(value) >= 0.001 || value === 0 ? value.toPrecision(3) : value.toExponential(1);
}
function layers(word) {
  const table = element("table");
  const head = table.appendChild(element("tr"));
  for (const title of ["layer", "change", "noise"]) head.appendChild(element("th", "", title));
  word.profile.forEach((change, layer) => {
    const row = table.appendChild(element("tr"));
    row.appendChild(element("td", "", String(layer)));
    row.appendChild(element("td", "", digits(change)));
    row.appendChild(element("td", "", word.noise.length ? digits(word.noise[layer]) : ""));
  });
  return table;
}
function render({ model, el }) {
  const told = model.get("told");
  const box = element("div", "wordsway-widget");
  box.appendChild(element("p", "", told.title));
  const flow = box.appendChild(element("p", "flow"));
  const about = box.appendChild(element("div", "about"));
  about.setAttribute("aria-live", "polite");
  const buttons = [];
  let done = 0;
  const letters = Array.from(told.text);
  told.words.forEach((word, place) => {
    flow.appendChild(document.createTextNode(letters.slice(done, word.start).join("")));
    const button = flow.appendChild(element("button", "", letters.slice(word.start, word.end).join("")));
    button.type = "button";
    button.style.backgroundColor = `rgba(230, 97, 1, ${0.06 + 0.74 * word.shade})`;
    button.addEventListener("click", () => { model.set("chosen", word.index); model.save_changes(); });
    buttons.push(button);
    done = word.end;
  });
  flow.appendChild(document.createTextNode(letters.slice(done).join("")));
  function choose() {
    const place = told.words.findIndex((word) => word.index === model.get("chosen"));
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === place)));
    about.replaceChildren();
    if (place < 0) return;
    const word = told.words[place];
    about.appendChild(element("b", "", word.text));
    for (const [title, value, error] of word.numbers) {
      about.appendChild(element("p", "", `${title}: ${digits(value)} ± ${digits(error)}`));
    }
    if (word.profile.length) about.appendChild(layers(word));
  }
  model.on("change:chosen", choose);
  choose();
  el.appendChild(box);
}
export default { render };
