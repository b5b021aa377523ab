// The drawer "Why": one entry of the log, and each rule's part in it.
import { get, Refused } from "../api.js";
import { write } from "../exact.js";
import { useKeys } from "../keys.js";
import { AgentName, KeyName, PolicyName } from "../names.js";
import { can } from "../session.js";
import { absolute } from "../time.js";
import { setParams, to } from "../url.js";
import { Fragment, html, useState } from "../vendor/preact.js";
import { Action } from "./action.js";
import { CopyButton, curl, save } from "./copy.js";
import { Drawer } from "./drawer.js";
import { happened } from "./entries.js";
import { Later, Problem, Skeleton } from "./loading.js";
import { useRead } from "./read.js";
import { Pill, Tag, Text, Time } from "./text.js";
import { Trace } from "./trace.js";

const causes = () => import("./cause.js");

/** @typedef {{id: string, close: () => void, known?: Entry, about?: Entry[], previous?: () => void, next?: () => void}} Props */

/** Another entry is another drawer, at once: the next key may follow. @param {Props} props */
export const Why = (props) => html`<${One} key=${props.id} ...${props} />`;

/** @param {Props} props */
function One({ id, close, known, about = [], previous, next }) {
  const entry = useRead(
    `entry ${id}`,
    async (signal) => /** @type {Entry} */ (known ?? (await get(`/v1/audit-logs/${id}`, {}, signal)).data),
  );
  const isDecision = entry.data !== undefined && !entry.data.type;
  const why = useRead(`why ${id} ${isDecision}`, async (signal) =>
    isDecision
      ? /** @type {PastExplanation} */ ((await get(`/v1/audit-logs/${id}/explanation`, {}, signal)).data)
      : undefined,
  );
  const link = () => location.href;
  useKeys({
    y: () => navigator.clipboard.writeText(link()),
    e: () => navigator.clipboard.writeText(curl("GET", `/v1/audit-logs/${id}/explanation`)),
  });
  const [unproved, setUnproved] = useState(/** @type {unknown} */ (null));
  const [testing, setTesting] = useState(false);
  const prove = async () => save(`${id}.tlog-proof`, (await get(`/v1/audit-logs/${id}/proof`)).data);
  const data = entry.data;
  const title = data
    ? html`<${Fragment}>${data.type ? html`<${Tag}>${data.type}: ${happened(data)}<//>` : html`<${Pill} is=${data.result} />`} <code><${Text} value=${data.toolName} /></code><//>`
    : "Decision";
  const actions =
    data &&
    html`<${Fragment}>
    ${can("read", "policies") && !data.type && html`<a class="button" href=${to("what-if", { entry: id })}>What if…</a>`}
    ${can("read", "policies") && !data.type && html`<button type="button" aria-expanded=${testing} onClick=${() => setTesting(!testing)}>Make a test</button>`}
    <${Action} act=${prove} failed=${setUnproved}>Proof<//>
    <${CopyButton} class="" label="Copy link" text=${link} />
    <${CopyButton} class="" label="Copy JSON" text=${() => write(data)} />
    <${CopyButton} class="" label="Copy as curl" text=${() => curl("GET", `/v1/audit-logs/${id}/explanation`)} /><//>`;
  return html`<${Drawer} label="Why" title=${title} close=${close} previous=${previous} next=${next} actions=${actions}>
    ${entry.error !== undefined && html`<${Problem} error=${entry.error} retry=${entry.reload} />`}
    <${Problem} error=${unproved} />
    ${data && testing && html`<${Later} load=${() => import("./make_test.js")} name="MakeTest" entry=${data} />`}
    ${!data && entry.slow && html`<${Skeleton} />`}
    ${data && html`<${Body} entry=${data} why=${why} about=${about} />`}<//>`;
}

/** @param {{entry: Entry, why: import("./read.js").Reading<PastExplanation | undefined>, about: Entry[]}} props */
function Body({ entry, why, about }) {
  const filter = (/** @type {Record<string, string | null>} */ changes) => () =>
    setParams({ entry: null, ...changes }, { replace: false });
  const explained = why.data;
  const context = /** @type {Record<string, any>} */ (entry.context ?? {});
  const { policyId, policyVersion, rule } = entry;
  const cause =
    policyId && policyVersion && rule && can("read", "policies")
      ? html`<${Later} load=${causes} name="Cause" policyId=${policyId} version=${Number(policyVersion)} index=${Number(rule.index)} />`
      : null;
  return html`<p class="reason"><${Text} value=${entry.reason} /></p>
    <dl class="facts">
      <dt>Agent</dt><dd><${AgentName} id=${entry.agentId} link /> <button type="button" class="link small" onClick=${filter({ agent_id: entry.agentId })}>only this one</button></dd>
      ${!entry.type && can("audit") && html`<dt>Before it</dt><dd><a href=${to(`agents/${entry.agentId}`, { tab: "changes", to: entry.timestamp })}>what was changed</a></dd>`}
      ${entry.action !== "authorize" && html`<dt>Action</dt><dd><code><${Text} value=${entry.action} /></code></dd>`}
      ${entry.code && html`<dt>Code</dt><dd><code>${entry.code}</code></dd>`}
      ${
        entry.policyId &&
        html`<dt>Policy</dt><dd><${PolicyName} id=${entry.policyId} />${entry.policyVersion ? html` <${Tag}>v${entry.policyVersion}<//>` : ""}
        ${entry.rule && html` <span class="muted">rule ${entry.rule.index + 1}, <code>${entry.rule.type}</code></span>`}</dd>`
      }
      ${!entry.type && html`<dt title="Of the same agent and tool, with the same result, code and policy">First of its kind</dt><dd><${Later} load=${() => import("./first.js")} name="First" entry=${entry} instead=${html`<span class="muted">looking…</span>`} /></dd>`}
      <dt>Key</dt><dd><${KeyName} id=${entry.keyId} /> <button type="button" class="link small" onClick=${filter({ key_id: entry.keyId })}>only this one</button></dd>
      ${entry.subject && html`<dt>Workload</dt><dd><code><${Text} value=${entry.subject} /></code></dd>`}
      ${["session", "user"].map((name) => typeof context[name] === "string" && html`<dt>${name === "user" ? "User" : "Session"}</dt><dd><code><${Text} value=${context[name]} /></code></dd>`)}
      ${entry.approvalId && html`<dt>Approval</dt><dd><a href=${to(`approvals/${entry.approvalId}`)}>show it</a></dd>`}
      ${entry.suspendedBy && html`<dt>Breaker</dt><dd><${PolicyName} id=${entry.suspendedBy} /> suspended the agent on this denial</dd>`}
      ${entry.trippedBy && html`<dt>Breaker</dt><dd><${PolicyName} id=${entry.trippedBy} /> is full since this denial</dd>`}
      ${entry.decisionId && html`<dt>Decision</dt><dd><a href=${to("decisions", { entry: entry.decisionId })}>show it</a></dd>`}
      ${about.map((each) => html`<dt>Then</dt><dd><${Tag}>${happened(each)}<//> <${Text} value=${each.reason} /> <span class="muted"><${Time} at=${each.timestamp} /></span></dd>`)}
      <dt>When</dt><dd>${absolute(entry.timestamp)}</dd>
      ${!entry.type && html`<dt>Took</dt><dd class="number">${entry.latencyMs} ms</dd>`}
      <dt>Entry</dt><dd><code>${entry.id}</code></dd>
    </dl>
    <${Json} title="Parameters" value=${entry.parameters} />
    ${entry.context !== undefined && html`<${Json} title="Context" value=${entry.context} />`}
    ${entry.records && html`<${Json} title="Records" value=${entry.records} />`}
    ${entry.shadow && html`<p class="note">With the shadow policy <${PolicyName} id=${entry.shadow.policyId} /> it would have been <b>${entry.shadow.result}</b>.</p>`}
    ${
      !entry.type &&
      entry.result !== "allowed" &&
      !policyId &&
      can("audit") &&
      html`<${Later} load=${causes} name="LastChange" agentId=${entry.agentId} at=${entry.timestamp} />`
    }
    ${
      !entry.type &&
      html`<section class="stack"><h3>Rule by rule</h3>
      ${explained ? html`<${Trace} policies=${explained.policies} decidedBy=${explained.policyId} rule=${explained.rule} unknown=${explained.unknown} cause=${cause} />` : why.error ? html`<${NoTrace} error=${why.error} />` : html`<${Skeleton} rows=${4} />`}</section>`
    }`;
}

/** @param {{error: unknown}} props */
function NoTrace({ error }) {
  if (error instanceof Refused && error.code === "VERSION_NOT_KEPT")
    return html`<p class="note calm"><${Text} value=${error.message} /></p>`;
  return html`<${Problem} error=${error} />`;
}

/** @param {{title: string, value: unknown}} props */
export function Json({ title, value }) {
  const text = write(value);
  return html`<section class="stack"><h3>${title}</h3>${text === "{}" ? html`<p class="muted">none</p>` : html`<pre class="json" tabindex="0" role="region" aria-label=${title}><${Text} value=${text} lines /></pre>`}</section>`;
}
