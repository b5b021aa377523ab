"""The script of the page at /docs/api: it searches operations, and sends requests to this service only."""

SCRIPT = """
"use strict";
const SHOWN = 65536, narrow = matchMedia("(max-width: 50rem)");
const find = document.getElementById("find"), key = document.getElementById("key");
const menu = document.querySelector("nav details"), sections = [...document.querySelectorAll("main section")];
const nothing = document.getElementById("nothing");
const texts = new Map(sections.map(each => [each, each.textContent.toLowerCase()]));
const heads = new Map(sections.map(each =>
  [each, [...each.querySelectorAll("h3, h3 + p > b")].map(part => part.textContent.toLowerCase()).join(" ")]));

function search(asked) {
  const words = asked.toLowerCase().split(/\\s+/).filter(Boolean);
  const having = of => sections.filter(each => words.every(word => of.get(each).includes(word)));
  const named = having(heads), found = new Set(named.length ? named : having(texts));
  for (const each of sections) each.hidden = !found.has(each);
  nothing.hidden = found.size > 0;
  for (const link of menu.querySelectorAll("a"))
    link.hidden = document.getElementById(link.hash.slice(1)).hidden;
  for (const head of document.querySelectorAll("main h2, nav b")) head.hidden = words.length > 0;
}

async function send(form) {
  const shown = form.querySelector("output"), path = form.querySelector("input").value;
  const body = form.querySelector("textarea"), headers = {};
  if (!path.startsWith("/") || path.startsWith("//")) { shown.textContent = "A path begins with one slash."; return; }
  if (key.value) headers.Authorization = "Bearer " + key.value.trim();
  if (body) headers["Content-Type"] = "application/json";
  shown.textContent = "...";
  try {
    const options = {method: form.dataset.method, headers, credentials: "omit", cache: "no-store"};
    const answer = await fetch(path, body ? {...options, body: body.value} : options);
    const head = [answer.status + " " + answer.statusText], reader = answer.body.getReader();
    for (const name of ["etag", "x-next-cursor", "x-request-id", "retry-after"])
      if (answer.headers.has(name)) head.push(name + ": " + answer.headers.get(name));
    const decoder = new TextDecoder();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, {stream: true});
      shown.textContent = head.join("\\n") + "\\n\\n" + text.slice(0, SHOWN);
      if (text.length > SHOWN) { await reader.cancel(); break; }
    }
    try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is no JSON, and shown as it came */ }
    shown.textContent = head.join("\\n") + "\\n\\n" + text.slice(0, SHOWN);
  } catch (error) { shown.textContent = String(error); }
}

find.addEventListener("input", () => { menu.open = true; search(find.value); });
document.addEventListener("click", event => {
  if (event.target.matches("details.try button")) send(event.target.closest("details"));
  if (narrow.matches && event.target.closest("nav a")) menu.open = false;
});
menu.open = !narrow.matches;
"""
