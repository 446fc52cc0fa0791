// The words of a measured text: a heat map whose cards show what the result has.
import { WordCard, widest } from "./card.js";
import { HeatMap } from "./heat.js";

const LISTED = 12;

class SavedCard extends WordCard {
  open(index, which) {
    Object.assign(this, { index, which });
    const { result, numbers } = this.text;
    const word = result.words[index];
    this.drawTitle(word);
    this.drawNumbers(numbers[index]);
    this.curve.replaceChildren();
    this.profile.replaceChildren();
    if (word.curve) this.drawCurve(word);
    if (word.profile) this.drawProfile(word, result.layer);
    const swaps = result.swaps.filter((one) => one.index === word.index);
    const random = (word.real?.changes ?? []).map((change, at) => ({ word: word.real.words[at], change })).sort((a, b) => b.change - a.change);
    const top = widest([random, ...swaps.map((one) => one.swaps)].flat());
    const list = (title, remark, words) => this.drawWords(title, remark, words.slice(0, LISTED), null, top);
    this.real.replaceChildren(
      ...swaps.flatMap((one) => list(`Largest changes found (of ${one.evaluated.toLocaleString("en")} words searched)`, `${one.evaluated.toLocaleString("en")} of ${one.candidates.toLocaleString("en")} candidates were evaluated; these change ${one.target} most.`, one.swaps)),
      ...(random.length ? list("Random words", `The largest of ${word.real.draws} changes by random real words.`, random) : []));
    this.chosen?.(word.index);
  }
}

/** The heat map of a result with its data for the browser; the word that leads is open. */
export function measured(result, drawn) {
  const card = new SavedCard();
  const map = new HeatMap(card);
  card.text = { result, ...drawn };
  map.texts[0] = card.text;
  map.stage.classList.add("saved");
  map.table.open = true;
  map.draw();
  const { shades, ranks } = drawn.views[result.tier];
  const top = shades.reduce((best, shade, at) => (ranks[at] !== "–" && shade > (shades[best] ?? -1) ? at : best), -1);
  if (top >= 0) map.choose(top, 0);
  return map;
}
