// A saved page: its embedded result in place of the blocks for readers without scripts.
import { measured } from "./measured.js";

const embedded = (id) => JSON.parse(document.getElementById(id).textContent);
const saved = measured(embedded("result"), embedded("drawn"));
document.getElementById("view").replaceChildren(saved.stage);
saved.facts.remove();
saved.draw();
