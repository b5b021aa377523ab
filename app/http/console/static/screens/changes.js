// Changes: the trail, newest first.
import "../styles.js";
import { get } from "../api.js";
import { Action } from "../parts/action.js";
import { ChangeList } from "../parts/change_list.js";
import { TYPES } from "../parts/changes.js";
import { Problem, Skeleton } from "../parts/loading.js";
import { useRead } from "../parts/read.js";
import { param, setParams } from "../url.js";
import { html, useState } from "../vendor/preact.js";

const FILTERS = ["resource_type", "resource_id", "actor_id", "from", "to"];

export function Screen() {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, param(name)]).filter(([, value]) => value));
  const key = JSON.stringify(filters);
  const read = useRead(`changes ${key}`, async (signal) => await get("/v1/changes", { ...filters, limit: 50 }, signal));
  const first = read.data?.next ?? "";
  // Older pages continue this first one; once it ends elsewhere, there would be a gap between.
  const after = `${key} ${first}`;
  const [older, setOlder] = useState(
    /** @type {{after: string, changes: Change[], next: string}} */ ({ after: "", changes: [], next: "" }),
  );
  const more = older.after === after ? older : { after, changes: [], next: first };
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const load = async () => {
    const { data, next } = await get("/v1/changes", { ...filters, limit: 50, cursor: more.next });
    setOlder({ after, changes: [...more.changes, ...data], next });
  };
  return html`<div class="page"><div class="head"><h1>Changes</h1><p class="lead">Who changed what, and why. A change and its record are written in one step, so none is missing.</p></div>
    <div class="chips"><select data-filter aria-label="Kind of resource" value=${filters.resource_type ?? ""} onChange=${(/** @type {any} */ event) => setParams({ resource_type: event.target.value })}>
        <option value="">Everything</option>${Object.entries(TYPES).map(([type, words]) => html`<option value=${type}>${words}</option>`)}</select>
      <input aria-label="Resource" placeholder="Id of what changed" value=${filters.resource_id ?? ""} onChange=${(/** @type {any} */ event) => setParams({ resource_id: event.target.value })} />
      <input aria-label="Actor" placeholder="Id of the actor" value=${filters.actor_id ?? ""} onChange=${(/** @type {any} */ event) => setParams({ actor_id: event.target.value })} /></div>
    <${Problem} error=${!read.data && read.error} retry=${read.reload} />
    ${read.data ? html`<${ChangeList} changes=${[...read.data.data, ...more.changes]} />${more.next && html`<${Problem} error=${failed} /><${Action} act=${load} failed=${setFailed}>Older<//>`}` : read.slow && html`<${Skeleton} />`}</div>`;
}
