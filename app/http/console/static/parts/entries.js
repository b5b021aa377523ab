// The table of audit entries, wherever decisions are listed, and a field that filters them.
import { AgentName } from "../names.js";
import { isLocal } from "../time.js";
import { setParams } from "../url.js";
import { html, useEffect, useMemo, useState } from "../vendor/preact.js";
import { Table } from "./table.js";
import { Clock, Pill, Tag, Text } from "./text.js";

/** Entries that say what became of a decision, by the decision's id and by the approval's.
 * @param {Entry[]} entries */
function followersOf(entries) {
  /** @type {Map<string, Entry[]>} */
  const found = new Map();
  for (const each of entries) {
    const about = each.type ? (each.decisionId ?? each.approvalId) : undefined;
    if (about) found.set(about, [...(found.get(about) ?? []), each]);
  }
  return found;
}

/** What an entry that is not a decision says happened. @param {Entry} entry */
export const happened = (entry) => (entry.code ?? entry.type ?? "").replace(/^approval_/, "").replaceAll("_", " ");

/** @param {{entries: Entry[], all: boolean, open: (entry: Entry) => void, selected?: string, end?: () => void, moved?: (top: number) => void,
 *   loading?: boolean, empty?: any, tall?: boolean, agent?: boolean}} props */
export function Entries({ entries, all, agent = true, ...rest }) {
  const followers = useMemo(() => followersOf(entries), [entries]);
  const rows = useMemo(() => (all ? entries : entries.filter((each) => !each.type)), [entries, all]);
  /** @type {import("./table.js").Column<Entry>[]} */
  const columns = [
    {
      name: isLocal.value ? "Time (local)" : "Time (UTC)",
      width: "112px",
      class: "c-time",
      cell: (row) => html`<${Clock} at=${row.timestamp} />`,
    },
    {
      name: "Result",
      width: "92px",
      class: "c-result",
      cell: (row) =>
        row.type
          ? html`<${Tag}>${row.type}<//>`
          : html`<${Pill} is=${row.result} word=${row.result ?? "unreadable"} />`,
    },
    ...(agent
      ? [
          {
            name: "Agent",
            width: "minmax(90px, .8fr)",
            class: "c-agent",
            cell: (/** @type {Entry} */ row) => html`<${AgentName} id=${row.agentId} />`,
          },
        ]
      : []),
    {
      name: "Tool",
      width: "minmax(110px, .9fr)",
      class: "c-tool",
      cell: (row) => html`<code><${Text} value=${row.toolName} /></code>`,
    },
    {
      name: "Why",
      width: "minmax(160px, 2.6fr)",
      class: "c-why muted",
      cell: (row) =>
        html`<span title=${row.reason}><${Text} value=${row.type ? `${happened(row)}: ${row.reason}` : row.reason} /></span>`,
    },
    {
      name: "Then",
      width: "112px",
      class: "c-then",
      cell: (row) => {
        const after = row.type
          ? []
          : [...(followers.get(row.id) ?? []), ...(row.approvalId ? (followers.get(row.approvalId) ?? []) : [])];
        return after.length
          ? html`<${Tag} title=${after.map(happened).join(", ")}>${happened(after[0])}<//>`
          : row.shadow
            ? html`<${Tag} title="A shadow policy would have decided otherwise">shadow: ${row.shadow.result}<//>`
            : "";
      },
    },
  ];
  return html`<${Table} label="Decisions" columns=${columns} rows=${rows} id=${(/** @type {Entry} */ row) => row.id} phone=${86} ...${rest} />`;
}

/** What is typed stays while entries come, and is a filter once it is complete. @param {{name: string, value?: string, [prop: string]: any}} props */
export function FilterField({ name, value = "", ...rest }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return html`<input ...${rest} value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} onChange=${() => setParams({ [name]: text || null })} />`;
}
