// What if: one call, or the calls of the last week, under a draft that is not stored.
import "../styles.js";
import { get } from "../api.js";
import { keepUnsaved, NEW, readSchema, together, unsaved, useDraft, written } from "../draft.js";
import { parse, write } from "../exact.js";
import { governing } from "../governing.js";
import { agents, policies } from "../names.js";
import { beginning, CallFields } from "../parts/call_fields.js";
import { Explained } from "../parts/explained.js";
import { Later, Problem, Skeleton } from "../parts/loading.js";
import { useRead } from "../parts/read.js";
import { Replay } from "../parts/replay.js";
import { Tabs } from "../parts/tabs.js";
import { Text } from "../parts/text.js";
import { can } from "../session.js";
import { param, place, setParams, to } from "../url.js";
import { Fragment, html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";

export function Screen() {
  useEffect(() => {
    agents.all;
    policies.all;
  }, []);
  const entry = useRead(`what if ${param("entry")}`, async (signal) =>
    param("entry") ? /** @type {Entry} */ ((await get(`/v1/audit-logs/${param("entry")}`, {}, signal)).data) : null,
  );
  // A draft of a policy that is stored begins with what is written of it.
  const [drafting, setDrafting] = useState(param("draft") !== "");
  const begins = useRef(drafting);
  const schema = useRead(drafting ? "schema" : "no schema", async (signal) => (drafting ? readSchema(signal) : null));
  if (schema.data) begins.current = false;
  const error = agents.error ?? policies.error ?? schema.error;
  if ((entry.data === undefined && !entry.error) || !agents.all || !policies.all || begins.current)
    return html`<div class="page"><h1>What if</h1>${
      error
        ? html`<${Problem} error=${error} retry=${() => {
            agents.refresh();
            policies.refresh();
            schema.reload();
          }} />`
        : html`<${Skeleton} />`
    }</div>`;
  return html`<${Page} key=${param("entry")} entry=${entry.data ?? null} schema=${schema} drafting=${drafting} setDrafting=${setDrafting} />`;
}

/** What a draft in place of this policy, or a new one, begins with: what is not saved yet, else what is stored. @param {string} id */
function begun(id) {
  const policy = policies.find(id);
  const stored = write(policy ? written(policy) : NEW);
  return { id: policy?.id ?? "", stored, version: Number(policy?.version ?? 0), text: stored, ...unsaved(policy?.id) };
}

/** @param {{entry: Entry | null, schema: import("../parts/read.js").Reading<any>, drafting: boolean, setDrafting: (drafting: boolean) => void}} props */
function Page({ entry, schema, drafting, setDrafting }) {
  const known = [...(agents.all?.values() ?? [])];
  const [agent, setAgent] = useState(
    entry?.agentId ??
      known.find((each) => each.id === param("agent") || each.alias === param("agent"))?.id ??
      known[0]?.id ??
      "",
  );
  const [from, setFrom] = useState(() => begun(param("draft")));
  const replaced = from.id;
  const draft = useDraft(from.text, { agentId: agent, id: replaced || undefined }, drafting);
  const begin = (/** @type {string} */ id) => {
    const next = begun(id);
    setFrom(next);
    draft.setText(next.text);
  };
  useLayoutEffect(() => {
    if (drafting) keepUnsaved(replaced || undefined, from.version, draft.text === from.stored ? null : draft.text);
  }, [draft.text, drafting]);
  const tab = param("tab") || "call";
  const governs = governing(agent);
  const entryOf = drafting && draft.policy ? { ...draft.policy, ...(replaced && { id: replaced }) } : null;
  const tabs = [["call", "One call"], ...(can("read", "audit") ? [["week", "Last week"]] : [])];
  return html`<div class="page wide-page"><div class="head"><h1>What if</h1><p class="lead">Ask what would be answered, with the policies in force and with a draft. Nothing is counted, logged or changed.</p></div>
    <div class="two"><section class="stack"><label>Agent<select value=${agent} data-filter onChange=${(
      /** @type {any} */ event,
    ) => {
      setAgent(event.target.value);
      begin("");
    }}>${known.map((each) => html`<option value=${each.id}>${each.name}</option>`)}</select></label>${agents.all && !known.length && html`<p class="muted small">There is no agent yet.</p>`}
      <label class="check"><input type="checkbox" checked=${drafting} onChange=${(/** @type {any} */ event) => setDrafting(event.target.checked)} /> Also with a draft policy</label>
      ${
        drafting &&
        !schema.data &&
        (schema.error ? html`<${Problem} error=${schema.error} retry=${schema.reload} />` : html`<${Skeleton} />`)
      }${
        drafting &&
        schema.data &&
        html`<${Fragment}><label>The draft<select value=${replaced} onChange=${(/** @type {any} */ event) => begin(event.target.value)}><option value="">is a new policy of this agent</option>${governs.map((each) => html`<option value=${each.id}>replaces ${each.name}</option>`)}</select></label>
        <div class="editor"><${Later} load=${() => import("../editor/json_editor.js")} name="JsonEditor" text=${draft.text} change=${draft.setText} marks=${draft.marks} schema=${schema.data} start=${schema.data.$defs.PolicyEntry} label="The draft as JSON" /></div>
        ${draft.error && html`<p class="note">Not JSON yet: ${draft.error}</p>`}${draft.marks.map((mark) => html`<p class=${mark.warning ? "warned small" : "error small"}><${Text} value=${mark.message} /></p>`)}
        <p><a href=${replaced ? to(`policies/${replaced}`, { as: "json" }) : to("policies/new", { agent, as: "json" })}>Open in Policies, to save it</a></p><//>`
      }</section>
    <section class="stack"><${Tabs} label="What is tried" tabs=${tabs} shown=${tab} at=${(/** @type {string} */ name) => `${place.value.path}?${new URLSearchParams({ ...Object.fromEntries(place.value.query), tab: name })}`} />
      ${
        tab === "call"
          ? html`<${Call} agent=${agent} entry=${entry} draft=${entryOf} />`
          : html`<${Replay} agent=${agent} set=${
              entryOf &&
              together(
                governs.filter((each) => each.agentId === agent),
                entryOf,
              )
            } about=${replaced ? "The draft replaces the chosen policy." : "The draft is added to the agent's own policies."} />`
      }</section></div></div>`;
}

/** @param {{agent: string, entry: Entry | null, draft: any}} props */
function Call({ agent, entry, draft }) {
  const [tool, setTool] = useState(entry?.toolName ?? param("tool"));
  // What the tool requires, until something else has been written.
  const [given, setGiven] = useState(entry ? write(entry.parameters ?? {}) : null);
  const begins = beginning(tool);
  const parameters = given ?? begins;
  const [context, setContext] = useState(write(entry?.context ?? {}));
  const [asked, setAsked] = useState(/** @type {{body: any, draft: any} | null} */ (null));
  const [bad, setBad] = useState("");
  const run = (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      setAsked({
        body: {
          agent_id: agent,
          tool_name: tool,
          parameters: parse(parameters || "{}"),
          context: parse(context || "{}"),
          ...(entry && entry.action !== "authorize" && { action: entry.action }),
        },
        draft,
      });
      setBad("");
    } catch (error) {
      setBad(`Parameters and context must be JSON objects: ${/** @type {Error} */ (error).message}`);
    }
  };
  return html`<form class="card stack" onSubmit=${run}><label>Tool<input list="known-tools" value=${tool} required onInput=${(
    /** @type {any} */ event,
  ) => {
    setTool(event.target.value);
    setParams({ tool: event.target.value });
  }} /></label>
      <${CallFields} tool=${tool} text=${parameters} set=${(/** @type {string} */ text) => setGiven(text === begins ? null : text)} />
      <details open=${context !== "{}"}><summary class="muted small">Context, such as session and user</summary><textarea class="mono" rows="3" aria-label="Context as JSON" spellcheck=${false} value=${context} onInput=${(/** @type {any} */ event) => setContext(event.target.value)}></textarea></details>
      ${bad && html`<p class="error" role="alert">${bad}</p>`}<div class="buttons start"><button class="primary">Ask</button></div></form>
    ${asked && html`<${Explained} key=${asked} asked=${asked} />`}`;
}
