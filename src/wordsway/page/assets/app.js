// Which place this address is, and its module.
const place = location.pathname.slice(1);
for (const link of document.querySelectorAll("nav a")) {
  if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}
const names = { words: "Words", attention: "Attention", theory: "Theory", audit: "Audit" };
document.title = `${names[place] ?? "Page"} · wordsway`;
const main = document.getElementById("place");
try {
  const { open } = await import(`/assets/${place}.js`);
  await open(main);
  document.documentElement.dataset.ready = place;
} catch (error) {
  const said = document.createElement("p");
  said.className = "error";
  said.setAttribute("role", "alert");
  said.textContent = `This page could not be drawn: ${error.message}. Reload it to try again.`;
  main.prepend(said);
}
