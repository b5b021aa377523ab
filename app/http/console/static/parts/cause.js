// Since when the rule that decided is in force, by whom and why, what was changed then, and the way back.
import "../styles.js";
import { ask, get } from "../api.js";
import { write } from "../exact.js";
import { policies } from "../names.js";
import { fixed } from "../session.js";
import { moment } from "../time.js";
import { to } from "../url.js";
import { html, useState } from "../vendor/preact.js";
import { ChangeList } from "./change_list.js";
import { Confirm } from "./confirm.js";
import { Problem } from "./loading.js";
import { PolicyDiff } from "./policy_diff.js";
import { useRead } from "./read.js";
import { Text } from "./text.js";

/** More versions than are read at first: nearly always the rule is no older. */
const AT_FIRST = 5;

/** True if this version decided by the rule. @param {Version} version @param {string} rule */
const has = ({ policy }, rule) =>
  policy.enabled && policy.mode === "enforce" && policy.rules.some((/** @type {Rule} */ each) => write(each) === rule);

/** The versions of a policy, newest first: at least those from now back to the one that decided, and to the one that brought its rule.
 * @param {string} id @param {number} decided @param {number} index @param {AbortSignal} signal */
async function history(id, decided, index, signal) {
  const path = `/v1/policies/${id}/versions`;
  const newest = policies.find(id)?.version;
  const limit = newest === undefined ? undefined : Number(newest) - decided + AT_FIRST;
  for (let most = limit; ; most = undefined) {
    const versions = /** @type {Version[]} */ ((await get(path, { limit: most }, signal)).data);
    const at = versions.findIndex((each) => Number(each.version) === decided);
    const rule = at < 0 ? "" : write(versions[at].policy.rules[index]);
    let first = at;
    while (versions[first + 1] && has(versions[first + 1], rule)) first++;
    if (versions[first + 1] || most === undefined || versions.length < most) {
      const since = at < 0 ? undefined : versions[first];
      const later = versions.slice(0, Math.max(at, 0)).reverse();
      return { now: versions[0], since, before: versions[first + 1], gone: later.find((each) => !has(each, rule)) };
    }
  }
}

/** Of the rule of a decision. @param {{policyId: string, version: number, index: number}} props */
export function Cause({ policyId, version, index }) {
  const read = useRead(`cause ${policyId} ${version} ${index}`, (signal) => history(policyId, version, index, signal));
  const [open, setOpen] = useState(false);
  const [asking, setAsking] = useState(false);
  const [done, setDone] = useState("");
  const found = read.data;
  if (read.error && !found)
    return html`<p class="cause muted"><${Text} value=${/** @type {Error} */ (read.error).message} /></p>`;
  if (!found) return html`<p class="cause muted">In force since…</p>`;
  const { now, since, before, gone } = found;
  if (!since) return html`<p class="cause muted">Version ${version} of the policy is no longer kept.</p>`;
  const policy = now.policy;
  const why = fixed(policy);
  const undo = async (/** @type {string} */ reason) => {
    const how = { reason, ifMatch: policy.version };
    const { data } = await (
      before
        ? ask("POST", `/v1/policies/${policyId}/rollback`, { ...how, body: { version: before.version } })
        : ask("PATCH", `/v1/policies/${policyId}`, { ...how, body: { enabled: false } })
    ).catch((error) => {
      read.reload();
      throw error;
    });
    setAsking(false);
    setDone(before ? `Restored as version ${data.version}: it binds every later decision.` : "The guardrail is off.");
    await policies.refresh();
    read.reload();
  };
  return html`<div class="cause"><p>In force since <b>${since.timestamp ? moment(since.timestamp) : "before the trail began"}</b>, v${since.version}${
    since.actorName && html` by <b><${Text} value=${since.actorName} /></b>`
  }${since.reason && html`: <${Text} value=${since.reason} />`}${gone && html`, until ${moment(gone.timestamp ?? "")}, v${gone.version}${gone.actorName && html` by <${Text} value=${gone.actorName} />`}`}</p>
    ${
      done
        ? html`<p class="done" role="status">${done}</p>`
        : (before || gone || policy.kind === "guardrail") &&
          html`<p class="buttons start">
      ${before && html`<button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>What changed</button>`}
      ${gone ? html`<a class="button" href=${to(`policies/${policyId}`, { tab: "versions" })}>Versions</a>` : (before || policy.kind === "guardrail") && html`<button type="button" disabled=${why} title=${why} onClick=${() => setAsking(true)}>${before ? "Restore…" : "Turn off…"}</button>`}</p>`
    }
    ${open && before && html`<${PolicyDiff} before=${before.policy} after=${since.policy} />`}
    ${
      asking &&
      (before
        ? html`<${Confirm} title=${`Restore version ${before.version} of ${policy.name}`} button="Restore" close=${() => setAsking(false)} act=${undo}>
        <p>Makes version ${Number(policy.version) + 1} with the content of version ${before.version}. It binds every later decision.</p>
        <${PolicyDiff} before=${policy} after=${before.policy} /><//>`
        : html`<${Confirm} title=${`Turn off ${policy.name}`} button="Turn off" close=${() => setAsking(false)} act=${undo}>
        <p>The guardrail was created with this rule. Turned off, it denies and escalates nothing, on every replica.</p><//>`)
    }</div>`;
}

const WEEK = 7 * 86_400_000;

/** Of a refusal that no rule gave: what was changed last before it, of all that concerns the agent. @param {{agentId: string, at: string}} props */
export function LastChange({ agentId, at }) {
  const from = new Date(Date.parse(at) - WEEK).toISOString();
  const read = useRead(
    `last change ${agentId} ${at}`,
    async (signal) =>
      /** @type {AgentHistory} */ (
        (await get(`/v1/agents/${agentId}/history`, { from, to: at, limit: 1 }, signal)).data
      ),
  );
  if (!read.data) return null;
  return html`<section class="stack"><h3>The last change before it</h3>${
    read.data.changes.length
      ? html`<${ChangeList} changes=${read.data.changes} />`
      : html`<p class="muted">Nothing that concerns the agent was changed in the 7 days before.</p>`
  }</section>`;
}
