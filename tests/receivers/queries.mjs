// What Node's qs, alone and with dots, and its own readers read in each query of standard input, as a line of JSON each:
// [[path, text], …].
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import querystring from "node:querystring";

const qs = createRequire(import.meta.url)("qs");

function leaves(read, path) {
  return Object.entries(read).flatMap(([name, value]) => {
    const at = [...path, name];
    if (value !== null && typeof value === "object") return leaves(value, at);
    return [[at, String(value ?? "")]];
  });
}

const READERS = [
  (query) => leaves(qs.parse(query), []),
  (query) => leaves(qs.parse(query, { allowDots: true }), []),
  (query) => Object.entries(querystring.parse(query)).flatMap(([name, value]) => [value].flat().map((each) => [[name], each])),
  (query) => [...new URLSearchParams(query)].map(([name, value]) => [[name], value]),
];
for (const query of readFileSync(0, "utf8").split("\n").slice(0, -1))
  console.log(JSON.stringify(READERS.map((read) => read(query))));
