// The log: whether it is intact, how far it is sealed, what is signed, and a verification on demand.
import "../styles.js";
import { get } from "../api.js";
import { Problem, Skeleton } from "../parts/loading.js";
import { Archive } from "../parts/archive.js";
import { Checkpoints, Forked } from "../parts/checkpoints.js";
import { useRead } from "../parts/read.js";
import { Pill, Time } from "../parts/text.js";
import { Finding, Verify, words } from "../parts/verify.js";
import { duration } from "../time.js";
import { html } from "../vendor/preact.js";

const count = (/** @type {unknown} */ value) => Number(value).toLocaleString("en");

export function Screen() {
  const status = useRead(
    "log status",
    async (signal) => /** @type {any} */ ((await get("/v1/audit-logs/status", {}, signal)).data),
  );
  const data = status.data;
  return html`<div class="page"><div class="head"><h1>Log</h1><p class="lead">Every answer has an entry, sealed into segments that form a chain. Entries are numbered without a gap, so none can go missing unnoticed.</p></div>
    <${Problem} error=${!data && status.error} retry=${status.reload} />
    ${data ? html`<${Chain} status=${data} />` : !status.error && html`<div class="unready">${status.slow && html`<${Skeleton} rows=${4} />`}</div>`}
    ${data?.forks.map((/** @type {Fork} */ fork) => html`<${Forked} fork=${fork} key=${fork.tree} />`)}
    <${Verify} total=${data?.lastSequence ?? 0} />
    <${Checkpoints} />
    <${Archive} /></div>`;
}

/** @param {{status: any}} props */
function Chain({ status }) {
  const entries = Math.max(0, Number(status.lastSequence) - Number(status.firstSequence) + 1);
  const verified = Math.max(0, Number(status.intactUpTo) - Number(status.firstSequence) + 1);
  const all = words(entries, "entry", "entries");
  return html`<section class="card stack"><h2 class="line">${status.verification?.finding ? html`<${Pill} is="damaged" />` : status.intactAt && html`<${Pill} is="intact" />`}<span>${status.intactAt ? html`${verified < entries ? `${count(verified)} of ` : ""}${all} verified <${Time} at=${status.intactAt} />` : `${all}, not verified yet`}; ${Number(status.unsealed) ? `${count(status.unsealed)} not sealed yet` : "all sealed"}</span></h2>
    <dl class="facts"><dt>Sealed</dt><dd>${Number(status.segments) ? `${words(status.segments, "segment")}, up to entry ${count(status.sealedSequence)}` : "nothing yet"}</dd>
      <dt>Not sealed yet</dt><dd>${words(status.unsealed, "entry", "entries")}${Number(status.lagSeconds) > 0 ? `, the oldest for ${duration(Number(status.lagSeconds))}` : ""}</dd>
      ${Number(status.firstSequence) > 1 && html`<dt>Retention</dt><dd>dropped the entries before ${count(status.firstSequence)}</dd>`}
      ${Number(status.poison) > 0 && html`<dt>Replaced</dt><dd class="error">${words(status.poison, "entry", "entries")} could not be sealed unchanged; placeholders say where</dd>`}
      <dt>Verified</dt><dd>${status.intactAt ? html`found intact <${Time} at=${status.intactAt} />, up to entry ${count(status.intactUpTo)}` : "not yet; the background process does it from time to time"}</dd></dl>
    ${status.verification?.finding && html`<${Finding} finding=${status.verification.finding} />`}</section>`;
}
