// Writes the TypeScript of pages of docs/clients/typescript as programs: FOLDER PAGE…. It is as printed, but its clients
// wait longer, because the machine of a test may be busy.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const [folder, ...pages] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
for (const page of pages) {
  const text = readFileSync(new URL(`../../docs/clients/typescript/${page}.md`, import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
  const printed = blocks.join("\n");
  const patient = printed.replace(/new Remit\((?:\{ (.*?) \})?\)/g, (_, given) => `new Remit({ timeoutMs: 30_000, ${given ?? ""} })`);
  if (patient === printed) throw new Error(`${page}.md makes no client`);
  writeFileSync(`${folder}/${page}.ts`, patient);
}
