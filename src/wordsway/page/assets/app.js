// Which place this address is, and its module.
const place = location.pathname.slice(1);
for (const link of document.querySelectorAll("nav a")) {
  if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}
const names = { words: "Words", attention: "Attention", theory: "Theory", audit: "Audit" };
document.title = `${names[place] ?? "Page"} · wordsway`;
const { open } = await import(`/assets/${place}.js`);
await open(document.getElementById("place"));
document.documentElement.dataset.ready = place;
