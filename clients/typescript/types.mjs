// Writes src/api.ts from the OpenAPI document on stdin: of each answer, what a successful one contains.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const METHODS = ["get", "put", "post", "patch", "delete"];
const document = JSON.parse(await readFile("/dev/stdin", "utf8"), (name, value) => {
  if (name === "example" || name === "examples") return undefined;
  // Otherwise an object whose members the document does not list would be one that can have none.
  if ([value?.type].flat().includes("object") && !value.properties) return { additionalProperties: true, ...value };
  return value;
});
for (const path of Object.values(document.paths)) {
  for (const operation of METHODS.map((method) => path[method]).filter(Boolean)) {
    const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
    operation.responses = Object.fromEntries(
      answers.map(([status, { description, content }]) => [status, { description, content }]),
    );
    delete operation.description;
  }
}
// What an operation or a path does not have is left out, not listed as never.
const types = astToString(await openapiTS(document, { defaultNonNullable: false })).replace(/^ +\w+\?: never;\n/gm, "");
await writeFile(process.argv[2], `// Made by \`make client-types\`; do not edit.\n\n${types}`);
