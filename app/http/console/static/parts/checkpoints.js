// The newest signed checkpoints of the log and of the trail: what they cover, who signed, and when witnesses did.
import { get, Refused } from "../api.js";
import { can } from "../session.js";
import { html } from "../vendor/preact.js";
import { CopyButton } from "./copy.js";
import { Problem } from "./loading.js";
import { useRead } from "./read.js";
import { Pill, Text, Time } from "./text.js";

/** Bytes of a witness's signature: the key's id, the seconds of its time, and Ed25519's 64. */
const COSIGNATURE = 76;

/** A signed note of C2SP, taken apart; no signature is checked here. @param {string} note */
function read(note) {
  const [head, signed = ""] = note.split("\n\n");
  const [origin, size, root] = head.split("\n");
  const signatures = signed.split("\n").flatMap((line) => {
    const [, name, value] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    if (!value) return [];
    const bytes = Uint8Array.from(atob(value), (each) => each.charCodeAt(0));
    const seconds = bytes.length === COSIGNATURE ? Number(new DataView(bytes.buffer).getBigUint64(4)) : null;
    return [{ name, at: seconds === null ? null : new Date(seconds * 1000).toISOString() }];
  });
  return { origin, size: Number(size), root, signatures };
}

/** The log or the trail does not continue what was signed. @param {{fork: Fork}} props */
export const Forked = ({
  fork: { tree, since, message },
}) => html`<div class="alert" role="alert"><div class="stack"><p><b>The ${tree === "log" ? "log" : "trail of changes"} has forked</b>: it is not signed any more since <${Time} at=${since} />.</p><p><${Text} value=${message} /></p>
  <p>The store was set back, a failover lost entries, or somebody has rewritten them. Decisions go on, but no checkpoint covers them. Find out what happened, keep the last checkpoint, which proves what is missing, and tell the auditor.</p>
  <p>Then an admin accepts it: <code>remit audit accept-fork --reason "…"</code>. From then on, the other history is signed, and whoever has only later checkpoints cannot see that anything is missing.</p></div></div>`;

export function Checkpoints() {
  return html`<section class="card stack"><h2>Signed checkpoints</h2>
    <p class="muted">Each stands for everything before it. Keep one elsewhere, and compare the log with it later; a witness's signature shows that it saw the log only grow. Other programs can check signatures and proofs, offline.</p>
    <${One} title="The log" path="/v1/audit-logs/checkpoint" things="entries" />
    ${can("audit") && html`<${One} title="The trail of changes" path="/v1/changes/checkpoint" things="changes" />`}</section>`;
}

/** @param {{title: string, path: string, things: string}} props */
function One({ title, path, things }) {
  const found = useRead(path, async (signal) => /** @type {string} */ ((await get(path, {}, signal)).data));
  if (found.error instanceof Refused && found.error.status === 404)
    return html`<p><b>${title}</b>: <span class="muted">no checkpoint is signed yet. The compactor signs with the key in <code>REMIT_CHECKPOINT_KEY_FILE</code>.</span></p>`;
  if (found.error) return html`<${Problem} error=${found.error} retry=${found.reload} />`;
  if (!found.data) return html`<p class="unready"></p>`;
  const { origin, size, root, signatures } = read(found.data);
  return html`<h3>${title}</h3><dl class="facts"><dt>Covers</dt><dd>${size.toLocaleString("en")} ${things}</dd><dt>Log</dt><dd><code><${Text} value=${origin} /></code></dd><dt>Root</dt><dd><code>${root}</code></dd>
      ${signatures.map((each) => html`<dt>${each.at ? "Witnessed" : "Signed"}</dt><dd><${Pill} is="intact" word=${each.at ? "witness" : "signature"} /> <code><${Text} value=${each.name} /></code> ${each.at && html`<span class="muted"><${Time} at=${each.at} /></span>`}</dd>`)}</dl>
    ${!signatures.some((each) => each.at) && html`<p class="small muted">No witness has signed it, so somebody with the key and the store could sign another history.</p>`}
    <div class="buttons start"><${CopyButton} class="" text=${found.data} label="Copy the checkpoint" /></div>`;
}
