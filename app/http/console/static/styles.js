// Importing this waits for the styles that the first screens do without.
const href = new URL("screens.css", import.meta.url).href;
if (![...document.styleSheets].some((each) => each.href === href)) {
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  const loaded = new Promise((resolve) => {
    link.onload = link.onerror = resolve;
  });
  document.head.append(link);
  await loaded;
}
