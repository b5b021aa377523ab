// Writes the TypeScript of pages of docs/clients/typescript, exactly as printed, as programs: FOLDER PAGE….
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const [folder, ...pages] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
for (const page of pages) {
  const text = readFileSync(new URL(`../../docs/clients/typescript/${page}.md`, import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
  writeFileSync(`${folder}/${page}.ts`, blocks.join("\n"));
}
