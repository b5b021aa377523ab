// What an agent's calls were answered, and every change that concerned it: since when is it so, and by whom.
import "../styles.js";
import { get } from "../api.js";
import { policies } from "../names.js";
import { can, lacks } from "../session.js";
import { absolute } from "../time.js";
import { param, setParams, to } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { Action } from "./action.js";
import { ChangeList } from "./change_list.js";
import { Problem, Skeleton } from "./loading.js";
import { useRead } from "./read.js";
import { Pill } from "./text.js";

const DAY = 86_400_000;
/** @type {[string, string, number][]} */
const SPANS = [
  ["1d", "24 h", DAY],
  ["", "7 d", 7 * DAY],
  ["30d", "30 d", 30 * DAY],
  ["all", "all", 0],
];

/** @param {{agent: Agent}} props */
export function AgentHistory({ agent }) {
  const [name, , length] = SPANS.find(([each]) => each === param("since")) ?? SPANS[1];
  const until = param("to");
  const [now] = useState(Date.now);
  const from = length ? new Date((until ? Date.parse(until) : now) - length).toISOString() : "";
  const path = `/v1/agents/${agent.id}/history`;
  const key = `history ${agent.id} ${from} ${until}`;
  const read = useRead(
    key,
    async (signal) => /** @type {AgentHistory} */ ((await get(path, { from, to: until }, signal)).data),
  );
  const [older, setOlder] = useState({ after: "", changes: /** @type {Change[]} */ ([]), next: "" });
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    policies.all; // names of those that were changed
  }, []);
  if (!can("audit")) return html`<p class="muted">${lacks("audit")}.</p>`;
  if (read.error && !read.data) return html`<${Problem} error=${read.error} retry=${read.reload} />`;
  if (!read.data) return html`<${Skeleton} />`;
  const first = read.data.nextCursor ?? "";
  const after = `${key} ${first}`;
  const more = older.after === after ? older : { after, changes: [], next: first };
  const load = async () => {
    const { data } = await get(path, { from, to: until, cursor: more.next });
    setOlder({ after, changes: [...more.changes, ...data.changes], next: data.nextCursor ?? "" });
  };
  return html`<div class="line"><${Answered} agent=${agent} counts=${read.data.counts} span=${{ from, to: until }} /><span class="spring"></span>
      <div class="switch" role="group" aria-label="Span">${SPANS.map(([each, words]) => html`<button type="button" aria-pressed=${each === name} onClick=${() => setParams({ since: each })}>${words}</button>`)}</div></div>
    ${until && html`<p class="note calm">Up to ${absolute(until)}. <button type="button" class="link" onClick=${() => setParams({ to: null })}>Up to now</button></p>`}
    <${ChangeList} changes=${[...read.data.changes, ...more.changes]} empty=${`Nothing that concerns ${agent.name} was changed`} />
    ${more.next && html`<${Problem} error=${failed} /><${Action} act=${load} failed=${setFailed}>Older<//>`}
    ${!read.data.complete && html`<p class="muted">Older changes were not looked for: the trail is too long to be read so far back.</p>`}`;
}

/** How often the calls got which result, and why. @param {{agent: Agent, counts: AgentHistory["counts"], span: {from: string, to: string}}} props */
function Answered({ agent, counts, span }) {
  const results = [...new Set(counts.map((each) => each.result))];
  if (!results.length) return html`<p class="muted">No call was answered.</p>`;
  return html`<ul class="plain answered">${results.map((result) => {
    const own = counts.filter((each) => each.result === result);
    const sum = own.reduce((total, each) => total + Number(each.count), 0);
    const codes = own.filter((each) => each.code !== result);
    return html`<li><a href=${to("decisions", { agent_id: agent.id, result, ...span })}><${Pill} is=${result} /> <b class="number">${sum.toLocaleString("en")}</b></a>
      ${codes.map((each) => html` <span class="muted number"><code>${each.code}</code> ${Number(each.count).toLocaleString("en")}</span>`)}</li>`;
  })}</ul>`;
}
