// The catalogue: the tools that are known, as their servers describe them, and what people say that their calls do.
import "../styles.js";
import { ask, get, Refused } from "../api.js";
import { parse } from "../exact.js";
import { tools } from "../names.js";
import { Action } from "../parts/action.js";
import { Confirm } from "../parts/confirm.js";
import { Form } from "../parts/form.js";
import { Empty, Problem, Skeleton } from "../parts/loading.js";
import { ordered } from "../parts/table.js";
import { CONSEQUENCES, Tag, Text, Time } from "../parts/text.js";
import { MarkBar, ToolMarks } from "../parts/tool_marks.js";
import { Json } from "../parts/why.js";
import { lacks } from "../session.js";
import { param, setParams, to } from "../url.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";

const GRAVITY = Object.keys(CONSEQUENCES);
const COLUMNS = [
  { name: "Name", by: (/** @type {Tool} */ row) => row.name },
  { name: "Calls", by: (/** @type {Tool} */ row) => GRAVITY.indexOf(row.consequence ?? "") },
  { name: "Changed", by: (/** @type {Tool} */ row) => row.updatedAt ?? "" },
];

export function Screen() {
  const [seen, setSeen] = useState(/** @type {string | null} */ (null)); // the version of the list, while tools are imported
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const [removing, setRemoving] = useState(/** @type {Tool | null} */ (null));
  const pasted = useRef(""); // what was sent and is not in the catalogue yet: the list can be looked at before it is sent again
  useEffect(() => {
    tools.look();
  }, []);
  const text = param("q").toLowerCase();
  const unsaid = param("unsaid") === "1";
  const known = [...(tools.all?.values() ?? [])];
  const lacking = known.filter((each) => each.catalogued && (each.consequence === null || each.foreign === null));
  const [shown, sorts] = ordered(
    (unsaid ? lacking : known).filter((each) =>
      `${each.name} ${each.title ?? ""} ${each.description ?? ""}`.toLowerCase().includes(text),
    ),
    COLUMNS,
  );
  const why = lacks("policies");
  // The list is read after its version, so that what is shown is never older than what is named.
  const look = async () => {
    const { etag } = await get("/v1/catalog", { limit: 1 });
    await tools.refresh();
    if (tools.error) throw tools.error;
    return etag;
  };
  const overtaken = async (/** @type {unknown} */ error, /** @type {(seen: string | null) => void} */ see) => {
    if (!(error instanceof Refused) || error.status !== 412) throw error;
    see(await look());
    throw new Error(
      "Somebody else has changed the catalogue since you opened this. The list behind this is as it is now; what you gave stays if you close this to look at it.",
    );
  };
  return html`<div class="page"><div class="head"><h1>Catalogue</h1><span class="spring"></span><${Action} class="primary" disabled=${why !== undefined} title=${why} act=${async () => setSeen(await look())} failed=${setFailed}>Import tools…<//>
      <p class="lead">The tools that are known, and what people have said that their calls do. The service warns about a policy that does not fit them, and agents can ask which they may call.</p></div>
    <div class="chips"><input type="search" data-filter aria-label="Filter" placeholder="Name or description" value=${param("q")} onInput=${(/** @type {any} */ event) => setParams({ q: event.target.value })} />
      <button type="button" class="chip" aria-pressed=${unsaid} onClick=${() => setParams({ unsaid: unsaid ? null : "1" })}>Not said yet: ${lacking.length}</button>${sorts}</div>
    ${
      known.some((each) => each.catalogued) &&
      html`<${MarkBar} tools=${known.filter((each) => chosen.includes(each.name))} all=${() => setChosen(shown.filter((each) => each.catalogued).map((each) => each.name))} none=${() => setChosen([])} why=${why} look=${look} overtaken=${overtaken} failed=${setFailed} done=${() => {
        setChosen([]);
        tools.refresh();
      }} />`
    }
    <${Problem} error=${failed} /><${Problem} error=${!tools.all && tools.error} retry=${tools.refresh} />
    ${
      !tools.all
        ? !tools.error && html`<${Skeleton} />`
        : !shown.length
          ? html`<${Empty} icon="catalog" title=${text ? "Nothing matches" : "No tool is known yet"}><p>${text ? "" : "Import the answer of an MCP server's tools/list."}</p><//>`
          : html`<div class="list">${shown.map(
              (
                each,
              ) => html`<section class="item" key=${each.name}><header>${each.catalogued && html`<input type="checkbox" aria-label=${`Choose ${each.name}`} checked=${chosen.includes(each.name)} onChange=${() => setChosen((before) => (before.includes(each.name) ? before.filter((name) => name !== each.name) : [...before, each.name]))} />`}<code><${Text} value=${each.name} /></code>${each.title && html`<b><${Text} value=${each.title} /></b>`}${!each.catalogued && html`<${Tag} title="Known only from the log">only seen in the log<//>`}
        <span class="spring"></span>${each.catalogued && html`<${ToolMarks} tool=${each} />`}<a class="link" href=${to("decisions", { tool_name: each.name })}>Decisions</a>${each.catalogued && html`<button type="button" class="link" disabled=${why !== undefined} onClick=${() => setRemoving(each)}>Remove…</button>`}</header>
        ${each.description && html`<p class="muted"><${Text} value=${each.description} lines /></p>`}
        ${each.inputSchema && html`<details><summary class="small muted">Schema of its parameters${each.updatedAt ? html`, changed <${Time} at=${each.updatedAt} />` : ""}</summary><${Json} title="" value=${each.inputSchema} /></details>`}</section>`,
            )}</div>`
    }
    ${
      seen !== null &&
      html`<${Form} title="Import tools" button="Import" large close=${() => setSeen(null)} fields=${[{ name: "text", label: "The answer of tools/list, or a list of tools", lines: 14, required: true, value: pasted.current, note: "The tools given replace those that are there." }]}
      send=${async (/** @type {Record<string, string>} */ given, /** @type {string} */ reason) => {
        pasted.current = given.text;
        const value = parse(given.text);
        await ask("PUT", "/v1/catalog", {
          body: value.result ? value : { tools: Array.isArray(value) ? value : value.tools },
          reason,
          ifMatch: seen || undefined,
        }).catch((error) => overtaken(error, setSeen));
        pasted.current = "";
        setSeen(null);
        tools.refresh();
      }} />`
    }
    ${
      removing &&
      html`<${Confirm} title=${`Remove ${removing.name}`} button="Remove" danger close=${() => setRemoving(null)} act=${async (
        /** @type {string} */ reason,
      ) => {
        await ask("DELETE", `/v1/catalog/tool/${encodeURIComponent(removing.name)}`, { reason });
        setRemoving(null);
        tools.refresh();
      }}><p>Only the description goes. Policies decide about its calls as before.</p><//>`
    }</div>`;
}
