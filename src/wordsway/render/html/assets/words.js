(() => {
  const panel = document.getElementById("chosen"), words = [...document.querySelectorAll("a.w")];
  const choose = (word) => {
    const card = document.querySelector(word.hash).cloneNode(true), row = document.querySelector(word.hash).closest("details");
    card.removeAttribute("id");
    const title = document.createElement("h2");
    title.append("“", row.querySelector(".name").firstChild.cloneNode(true), "”, word " + row.querySelector(".index").textContent);
    panel.replaceChildren(title, card);
    panel.hidden = false;
    for (const one of words) one.setAttribute("aria-pressed", one === word);
  };
  const narrow = () => matchMedia("(max-width: 959px)").matches;
  words.forEach((word, at) => {
    word.setAttribute("role", "button");
    word.setAttribute("aria-pressed", "false");
    word.setAttribute("aria-controls", "chosen");
    word.addEventListener("click", (event) => {
      event.preventDefault();
      choose(word);
      if (narrow()) panel.scrollIntoView({ block: "nearest", behavior: "smooth" });
    });
    word.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key] * (getComputedStyle(word).direction === "rtl" ? -1 : 1);
      if (event.key === " ") word.click();
      else if (step && words[at + step]) words[at + step].focus();
      else return;
      event.preventDefault();
    });
  });
  const first = document.querySelector("details.word[open]");
  const top = first && words.find((word) => first.querySelector(word.hash));
  if (top) {
    document.querySelector(".stage").classList.add("live");
    first.open = false;
    choose(top);
  }
})();
