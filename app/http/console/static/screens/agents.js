// Agents: who they are, whether they may do anything, and the buttons that stop many at once.
import "../styles.js";
import { ask } from "../api.js";
import { Icon } from "../icons.js";
import { agents } from "../names.js";
import { DayCount, ToolCounts, useDayCounts } from "../parts/agent_counts.js";
import { Form } from "../parts/form.js";
import { Empty, Problem } from "../parts/loading.js";
import { StopDialog } from "../parts/stop_dialog.js";
import { Stops } from "../parts/stops.js";
import { Table } from "../parts/table.js";
import { Pill, Tag, Text, Time } from "../parts/text.js";
import { can, lacks } from "../session.js";
import { go, param, setParams, to } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";

export function Screen() {
  const [dialog, setDialog] = useState(/** @type {null | "new" | "stop"} */ (null));
  useEffect(() => {
    agents.look();
  }, []);
  const day = useDayCounts(can("read", "audit"));
  const text = param("q").toLowerCase();
  const status = param("status");
  const found = [...(agents.all?.values() ?? [])].filter(
    (each) =>
      (!status || each.status === status) &&
      (!text || `${each.name} ${each.alias ?? ""} ${each.groups.join(" ")}`.toLowerCase().includes(text)),
  );
  /** @type {import("../parts/table.js").Column<Agent>[]} */
  const columns = [
    {
      name: "Name",
      by: (row) => row.name,
      width: "minmax(140px, 1.6fr)",
      class: "c-tool",
      cell: (row) => html`<b><${Text} value=${row.name} /></b>`,
    },
    {
      name: "Status",
      by: (row) => row.status,
      width: "120px",
      class: "c-result",
      cell: (row) =>
        html`<${Pill} is=${row.status} />${row.tripped && html` <${Tag} title="A denial breaker suspended it">breaker<//>`}`,
    },
    {
      name: "Alias",
      by: (row) => row.alias ?? "",
      width: "minmax(90px, 1fr)",
      class: "c-time",
      cell: (row) => html`<code>${row.alias ?? ""}</code>`,
    },
    {
      name: "Groups",
      by: (row) => row.groups.join(" "),
      width: "minmax(100px, 1.2fr)",
      class: "c-agent",
      cell: (row) => html`<${Groups} names=${row.groups} />`,
    },
    {
      name: "Tools",
      width: "minmax(150px, 1.6fr)",
      class: "c-why",
      cell: (row) => html`<${ToolCounts} agent=${row} />`,
    },
    ...(day
      ? [
          {
            name: "Last 24 h",
            by: (/** @type {Agent} */ row) => day.calls.get(row.id) ?? 0,
            width: "140px",
            class: "number c-then",
            cell: (/** @type {Agent} */ row) => html`<${DayCount} agent=${row} day=${day} />`,
          },
        ]
      : []),
    {
      name: "Changed",
      by: (row) => row.updatedAt,
      width: "90px",
      class: "muted c-then",
      cell: (row) => html`<${Time} at=${row.updatedAt} />`,
    },
  ];
  return html`<div class="page full"><div class="head"><h1>Agents</h1><span class="spring"></span>
      <div class="buttons"><button type="button" class="danger" disabled=${lacks("policies")} title=${lacks("policies")} onClick=${() => setDialog("stop")}><${Icon} name="stop" />Stop many…</button>
      <button type="button" class="primary" disabled=${lacks("policies")} title=${lacks("policies")} onClick=${() => setDialog("new")}><${Icon} name="plus" />New agent</button></div></div>
    <${Stops} /><${Problem} error=${!agents.all && agents.error} retry=${agents.refresh} />
    <div class="chips"><input type="search" data-filter aria-label="Filter" placeholder="Name, alias or group" value=${param("q")} onInput=${(/** @type {any} */ event) => setParams({ q: event.target.value })} />
      ${["active", "suspended", "revoked"].map((each) => html`<button type="button" class="chip" aria-pressed=${status === each} onClick=${() => setParams({ status: status === each ? null : each })}>${each}</button>`)}</div>
    <${Table} label="Agents" tall phone=${76} columns=${columns} rows=${found} id=${(/** @type {Agent} */ row) => row.id} open=${(/** @type {Agent} */ row) => go(to(`agents/${row.alias ?? row.id}`))} loading=${!agents.all && !agents.error}
      empty=${agents.all && html`<${Empty} icon="agents" title=${agents.all?.size ? "Nothing matches" : "No agent yet"}><p>${agents.all?.size ? "" : "An agent is a program whose calls of tools are judged: create one, give it a policy, and let it ask."}</p><//>`} />
    ${dialog === "stop" && html`<${StopDialog} close=${() => setDialog(null)} />`}
    ${dialog === "new" && html`<${NewAgent} close=${() => setDialog(null)} />`}</div>`;
}

/** As many as fit into a row; the rest is counted. @param {{names: string[]}} props */
function Groups({ names }) {
  const shown = names.slice(0, names.length > 2 ? 1 : 2);
  const rest = names.slice(shown.length);
  return html`${shown.map((each) => html`<${Tag} title=${each}>${each}<//> `)}${rest.length > 0 && html`<${Tag} title=${rest.join(", ")}>+${rest.length}<//>`}`;
}

/** @param {{close: () => void}} props */
function NewAgent({ close }) {
  return html`<${Form} title="New agent" button="Create" close=${close} fields=${[
    { name: "name", label: "Name", required: true },
    {
      name: "alias",
      label: "Alias (optional)",
      note: "A short name that calls may use instead of the id, such as refund-bot",
    },
    {
      name: "groups",
      label: "Groups (optional)",
      note: "Separated by spaces; policies of a group govern all its agents",
    },
    { name: "description", label: "Description (optional)", lines: 3 },
  ]}
    send=${async (/** @type {Record<string, string>} */ given, /** @type {string} */ reason) => {
      const body = {
        name: given.name,
        ...(given.alias && { alias: given.alias }),
        ...(given.description && { description: given.description }),
        groups: given.groups.split(/[\s,]+/).filter(Boolean),
      };
      const { data } = await ask("POST", "/v1/agents", { body, reason });
      await agents.refresh();
      go(to(`agents/${data.alias ?? data.id}`));
    }} />`;
}
