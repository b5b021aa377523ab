// People: the sessions of this workspace, and the button that ends one.
import "../styles.js";
import { ask, get } from "../api.js";
import { Confirm } from "../parts/confirm.js";
import { Empty, Problem } from "../parts/loading.js";
import { useRead } from "../parts/read.js";
import { Table } from "../parts/table.js";
import { Tag, Text, Time } from "../parts/text.js";
import { session } from "../session.js";
import { html, useState } from "../vendor/preact.js";

export function Screen() {
  const read = useRead("sessions", async (signal) => (await get("/v1/sessions", {}, signal)).data);
  const [ending, setEnding] = useState(/** @type {any} */ (null));
  const columns = [
    {
      name: "Who",
      width: "minmax(180px, 2.4fr)",
      class: "c-tool",
      cell: (/** @type {any} */ row) =>
        html`<b><${Text} value=${row.name} /></b> ${row.id === session.value?.id && html`<${Tag}>you<//>`}`,
    },
    {
      name: "Scopes",
      by: (/** @type {any} */ row) => row.scopes.join(" "),
      width: "minmax(120px, 1.4fr)",
      class: "c-result c-words",
      cell: (/** @type {any} */ row) => row.scopes.join(", "),
    },
    { name: "Through", width: "100px", class: "c-time", cell: (/** @type {any} */ row) => row.via },
    {
      name: "Since",
      by: (/** @type {any} */ row) => row.createdAt,
      width: "110px",
      class: "muted c-then",
      cell: (/** @type {any} */ row) => html`<${Time} at=${row.createdAt} />`,
    },
    {
      name: "Last seen",
      by: (/** @type {any} */ row) => row.lastUsedAt ?? row.createdAt,
      width: "110px",
      class: "muted c-agent",
      cell: (/** @type {any} */ row) => html`<${Time} at=${row.lastUsedAt ?? row.createdAt} />`,
    },
    {
      name: "Ends",
      by: (/** @type {any} */ row) => row.until ?? "",
      width: "100px",
      class: "muted c-then",
      cell: (/** @type {any} */ row) => html`<${Time} at=${row.until} />`,
    },
    {
      name: "Actions",
      width: "90px",
      class: "right c-why",
      cell: (/** @type {any} */ row) =>
        html`<button type="button" class="quiet" onClick=${() => setEnding(row)}>End…</button>`,
    },
  ];
  return html`<div class="page full"><div class="head"><h1>People</h1><p class="lead">Everybody who is signed in. A session ends after 8 hours, when it has not been used for 30 minutes, or with the key that it was made from.</p></div>
    <${Problem} error=${!read.data && read.error} retry=${read.reload} />
    <${Table} label="Sessions" tall columns=${columns} rows=${read.data ?? []} id=${(/** @type {any} */ row) => row.id} loading=${!read.data && !read.error} phone=${96} empty=${read.data && html`<${Empty} icon="people" title="Nobody is signed in" />`} />
    ${
      ending &&
      html`<${Confirm} title=${`End the session of ${ending.name}`} button="End session" danger close=${() => setEnding(null)}
      act=${async (/** @type {string} */ reason) => {
        await ask("DELETE", `/v1/sessions/${ending.id}`, { reason });
        setEnding(null);
        read.reload();
      }}><p>Every later request with it is refused, and its pages ask for a new sign-in.</p><//>`
    }</div>`;
}
