// The parameters of a call: fields made from the tool's schema, or JSON.
import { parse, write } from "../exact.js";
import { tools } from "../names.js";
import { html, useState } from "../vendor/preact.js";
import { blank } from "./policy_form.js";
import { SchemaField } from "./schema_field.js";

/** What a call of the tool begins with, as JSON: what it requires. @param {string} tool */
export function beginning(tool) {
  const schema = /** @type {any} */ (tools.find(tool)?.inputSchema);
  return schema?.properties ? write(blank(schema, schema)) : "{}";
}

/** @param {{tool: string, text: string, set: (text: string) => void}} props */
export function CallFields({ tool, text, set }) {
  const [asJson, setAsJson] = useState(false);
  const schema = /** @type {any} */ (tools.find(tool)?.inputSchema);
  let value;
  try {
    value = parse(text || "{}");
  } catch {
    value = undefined;
  }
  const fields = schema?.properties && value !== undefined && !asJson;
  return html`<datalist id="known-tools">${[...(tools.all?.keys() ?? [])].map((name) => html`<option value=${name} />`)}</datalist>
    <div class="stack"><p class="line"><b>Parameters</b><span class="spring"></span>${schema?.properties && html`<button type="button" class="link small" onClick=${() => setAsJson(!asJson)}>${asJson ? "As fields" : "As JSON"}</button>`}</p>
    ${
      fields
        ? html`<${SchemaField} key=${tool} root=${schema} schema=${schema} value=${value} set=${(/** @type {any} */ next) => set(write(next))} path=${["parameters"]} marks=${[]} />`
        : html`<textarea class="mono" rows="7" aria-label="Parameters as JSON" spellcheck=${false} value=${text} onInput=${(/** @type {any} */ event) => set(event.target.value)}></textarea>`
    }</div>`;
}
