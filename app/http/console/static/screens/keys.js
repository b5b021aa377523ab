// Keys: what each may do, how long, and when it was last used. A new key is shown once.
import "../styles.js";
import { ask, Refused } from "../api.js";
import { Icon } from "../icons.js";
import { keys } from "../names.js";
import { Confirm } from "../parts/confirm.js";
import { Empty, Problem } from "../parts/loading.js";
import { NewKey } from "../parts/new_key.js";
import { Secret } from "../parts/secret.js";
import { Table } from "../parts/table.js";
import { Text, Time } from "../parts/text.js";
import { now } from "../time.js";
import { param, setParams } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";

const DAY = 86_400_000;

export function Screen() {
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState(/** @type {ApiKey | null} */ (null));
  const [rotating, setRotating] = useState(/** @type {ApiKey | null} */ (null));
  const [secret, setSecret] = useState(/** @type {{name: string, key: string} | null} */ (null));
  useEffect(() => {
    keys.look();
  }, []);
  const text = param("q").toLowerCase();
  const shown = [...(keys.all?.values() ?? [])].filter((each) =>
    `${each.name} ${each.prefix} ${each.scopes.join(" ")} ${each.id}`.toLowerCase().includes(text),
  );
  /** @type {import("../parts/table.js").Column<ApiKey>[]} */
  const columns = [
    {
      name: "Name",
      by: (row) => row.name,
      width: "minmax(150px, 1.6fr)",
      class: "c-tool",
      cell: (row) => html`<b><${Text} value=${row.name} /></b>`,
    },
    {
      name: "Begins with",
      width: "104px",
      class: "c-time",
      cell: (row) => html`<code class="muted">${row.prefix}…</code>`,
    },
    {
      name: "Scopes",
      by: (row) => row.scopes.join(" "),
      width: "minmax(120px, 1.2fr)",
      class: "c-result c-words",
      cell: (row) => row.scopes.join(", "),
    },
    {
      name: "Last used",
      by: (row) => row.lastUsedAt ?? "",
      width: "84px",
      class: "muted c-agent",
      cell: (row) => html`<${Time} at=${row.lastUsedAt} none="never used" />`,
    },
    {
      name: "Expires",
      by: (row) => row.expiresAt ?? "",
      width: "72px",
      class: "muted c-then",
      cell: (row) => html`<${Time} at=${row.expiresAt} />`,
    },
    {
      name: "Notes",
      width: "156px",
      class: "c-mark",
      cell: (row) => marks(row, now.peek()).map((each) => html`<span class="tag warn">${each}</span> `),
    },
    {
      name: "Actions",
      width: "172px",
      class: "right c-why",
      cell: (row) =>
        html`<button type="button" class="quiet" onClick=${() => setRotating(row)}>Rotate…</button><button type="button" class="quiet" onClick=${() => setEnding(row)}>Revoke…</button>`,
    },
  ];
  return html`<div class="page full"><div class="head"><h1>Keys</h1><span class="spring"></span><button type="button" class="primary" onClick=${() => setMaking(true)}><${Icon} name="plus" />New key</button></div>
    <${Problem} error=${!keys.all && keys.error} retry=${keys.refresh} />
    <div class="chips"><input type="search" data-filter aria-label="Filter" placeholder="Name, beginning, scope or id" value=${param("q")} onInput=${(/** @type {any} */ event) => setParams({ q: event.target.value })} /></div>
    <${Table} label="API keys" tall columns=${columns} rows=${shown} id=${(/** @type {ApiKey} */ row) => row.id} loading=${!keys.all && !keys.error} phone=${96} empty=${keys.all && html`<${Empty} icon="keys" title="Nothing matches" />`} />
    ${
      making &&
      html`<${NewKey} close=${() => setMaking(false)} made=${(/** @type {{name: string, key: string}} */ made) => {
        setMaking(false);
        setSecret(made);
        keys.refresh();
      }} />`
    }
    ${
      secret &&
      html`<${Secret} title=${`The key ${secret.name}`} lines=${[
        ["The key", secret.key],
        ["For a shell", `export REMIT_API_KEY=${secret.key}`],
      ]} close=${() => setSecret(null)} />`
    }
    ${
      ending &&
      html`<${Confirm} title=${`Revoke ${ending.name}`} button="Revoke" danger reason="needed" close=${() => setEnding(null)}
      act=${async (/** @type {string} */ reason) => {
        await ask("DELETE", `/v1/api-keys/${ending.id}`, { reason }).catch(explain);
        setEnding(null);
        keys.refresh();
      }}>
      <p>Every later request with it is refused with 401, on every replica, and sessions that were made from it end. ${ending.lastUsedAt ? html`It was last used <${Time} at=${ending.lastUsedAt} />.` : "It was never used."} This is final.</p><//>`
    }
    ${
      rotating &&
      html`<${Rotate} of=${rotating} close=${() => setRotating(null)} made=${(
        /** @type {{name: string, key: string}} */ made,
      ) => {
        setRotating(null);
        setSecret(made);
        keys.refresh();
      }} />`
    }</div>`;
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof Refused && error.code === "LAST_ADMIN_KEY")
    error.message =
      "It is the last key with the scope admin: without it nobody could administer the workspace. Create another one first.";
  throw error;
}

/** What deserves a look. @param {ApiKey} key @param {number} at */
function marks(key, at) {
  const used = Date.parse(key.lastUsedAt ?? key.createdAt);
  const ends = key.expiresAt ? Date.parse(key.expiresAt) : Infinity;
  return [
    ends < at && "expired",
    ends > at && ends < at + 7 * DAY && "expires soon",
    at - used > 30 * DAY && "unused for 30 days",
    ends === Infinity && key.scopes.includes("admin") && "admin, never expires",
  ].filter(Boolean);
}

/** @param {{of: ApiKey, close: () => void, made: (made: {name: string, key: string}) => void}} props */
function Rotate({ of, close, made }) {
  const [overlap, setOverlap] = useState("3600");
  return html`<${Confirm} title=${`Rotate ${of.name}`} button="Rotate" close=${close}
      act=${async (/** @type {string} */ reason) => {
        const { data } = await ask("POST", `/v1/api-keys/${of.id}/rotate`, {
          body: { overlapSeconds: Number(overlap) },
          reason,
        });
        const key = data.key?.key ? data.key : data;
        made({ name: key.name ?? of.name, key: key.key });
      }}>
    <label>The old key goes on working for<select value=${overlap} onChange=${(/** @type {any} */ event) => setOverlap(event.target.value)}><option value="0">no time at all</option><option value="3600">1 hour</option><option value="86400">1 day</option><option value="604800">7 days</option></select></label>
    <p>A new key with the same name, scopes and agents is made and shown once.</p><//>`;
}
