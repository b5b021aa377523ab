// What people say in the catalogue of a tool's calls, or what its annotations and name suggest; and the bar that says it of several.
import "../styles.js";
import { ask } from "../api.js";
import { html, useState } from "../vendor/preact.js";
import { Action } from "./action.js";
import { Confirm } from "./confirm.js";
import { CONSEQUENCES, Text } from "./text.js";

const FOREIGN = { true: "may hold strangers' text", false: "no strangers' text" };
const HINT = "Suggested by its server or its name; it does not count until somebody confirms it";

/** @param {boolean | null | undefined} foreign */
const foreignly = (foreign) => (foreign === null || foreign === undefined ? null : FOREIGN[`${foreign}`]);
/** @param {string | null | undefined} consequence */
const inWords = (consequence) => (consequence ? CONSEQUENCES[consequence] : null);

/** The two columns of a tool: what was said, or in grey what is suggested. @param {{tool: Tool}} props */
export function ToolMarks({ tool }) {
  const cell = (/** @type {string | null} */ said, /** @type {string | null} */ hint, /** @type {string} */ of) =>
    said
      ? html`<span class=${said === CONSEQUENCES.irreversible ? "grave" : ""}>${said}</span>`
      : html`<span class="muted" title=${hint ? HINT : undefined}>${hint ? `${hint}?` : of}</span>`;
  return html`<span class="tool-said">${cell(inWords(tool.consequence), inWords(tool.suggested?.consequence), "calls: not said")}
    ${cell(foreignly(tool.foreign), foreignly(tool.suggested?.foreign), "results: not said")}</span>`;
}

/** What a choice says of a tool; an empty choice says what is suggested, where nothing has been said.
 * @param {Tool} tool @param {string} consequence @param {string} foreign @returns {{consequence?: string, foreign?: boolean}} */
function marksOf(tool, consequence, foreign) {
  const what = consequence || (tool.consequence === null ? tool.suggested?.consequence : null);
  const whose = foreign ? foreign === "true" : tool.foreign === null ? tool.suggested?.foreign : null;
  return { ...(what && { consequence: what }), ...(typeof whose === "boolean" && { foreign: whose }) };
}

/** look: reads the catalogue anew and returns its version. done: told once the tools are marked.
 * @param {{tools: Tool[], all: () => void, none: () => void, why: string | undefined, look: () => Promise<string | null>, overtaken: (error: unknown, see: (seen: string | null) => void) => Promise<void>, done: () => void, failed: (error: unknown) => void}} props */
export function MarkBar({ tools, all, none, why, look, overtaken, done, failed }) {
  const [consequence, setConsequence] = useState("");
  const [foreign, setForeign] = useState("");
  const [seen, setSeen] = useState(/** @type {string | null | undefined} */ (undefined));
  const marked = tools
    .map((tool) => ({ tool, said: marksOf(tool, consequence, foreign) }))
    .filter(({ said }) => Object.keys(said).length);
  const select = (
    /** @type {string} */ label,
    /** @type {string} */ value,
    /** @type {(value: string) => void} */ set,
    /** @type {[string, string][]} */ options,
  ) =>
    html`<select aria-label=${label} value=${value} onChange=${(/** @type {any} */ event) => set(event.target.value)}><option value="">${label}: as suggested</option>${options.map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select>`;
  return html`<div class="chips mark-bar" role="group" aria-label="Say what calls of tools do"><b class="small">${tools.length} chosen</b>
      <button type="button" class="link" onClick=${all}>Choose all shown</button>${tools.length > 0 && html`<button type="button" class="link" onClick=${none}>Choose none</button>`}<span class="spring"></span>
      ${select("Calls", consequence, setConsequence, Object.entries(CONSEQUENCES))}
      ${select("Results", foreign, setForeign, Object.entries(FOREIGN))}
      <${Action} class="primary" disabled=${why !== undefined || !marked.length} title=${why ?? (tools.length ? (marked.length ? undefined : "Nothing is suggested of these; choose what to say") : "Choose tools first")} act=${async () => setSeen(await look())} failed=${failed}>Confirm…<//></div>
    ${
      seen !== undefined &&
      html`<${Confirm} title=${`Say what calls of ${marked.length === 1 ? "this tool" : `${marked.length} tools`} do`} button="Confirm" close=${() => setSeen(undefined)} act=${async (
        /** @type {string} */ reason,
      ) => {
        await ask("PATCH", "/v1/catalog", {
          body: { tools: Object.fromEntries(marked.map(({ tool, said }) => [tool.name, said])) },
          reason,
          ifMatch: seen || undefined,
        }).catch((error) => overtaken(error, setSeen));
        setSeen(undefined);
        done();
      }}><p>It holds until a tool's schema or description changes. No decision reads it; warnings, proposals and approvals do.</p>
      <ul class="marked-tools">${marked.map(({ tool, said }) => html`<li><code><${Text} value=${tool.name} /></code> <span>${[inWords(said.consequence), foreignly(said.foreign)].filter(Boolean).join(", ")}</span></li>`)}</ul>
      ${marked.length < tools.length && html`<p class="muted small">${tools.length - marked.length} of the chosen tools stay as they are: nothing new is said of them.</p>`}<//>`
    }`;
}
