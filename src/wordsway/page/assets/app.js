// Loads the module of this page, which has the name of the path.
const place = location.pathname.slice(1);
for (const link of document.querySelectorAll("nav a")) {
  if (link.pathname !== location.pathname) continue;
  link.setAttribute("aria-current", "page");
  document.title = `${link.textContent} · wordsway`;
}
const main = document.getElementById("place");
try {
  const { open } = await import(`/assets/${place}.js`);
  await open(main);
  document.documentElement.dataset.ready = place;
} catch (error) {
  const said = document.createElement("p");
  said.className = "error";
  said.setAttribute("role", "alert");
  said.textContent = `This page failed to load: ${error.message}. Reload it to try again.`;
  main.prepend(said);
}
