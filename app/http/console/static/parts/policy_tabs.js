// The versions of a policy, and what it would change as a shadow.
import { ask, get } from "../api.js";
import { policies } from "../names.js";
import { fixed } from "../session.js";
import { to } from "../url.js";
import { html, useState } from "../vendor/preact.js";
import { Confirm } from "./confirm.js";
import { useLatest } from "./latest.js";
import { Problem, Skeleton } from "./loading.js";
import { PolicyDiff } from "./policy_diff.js";
import { useRead } from "./read.js";
import { Pill, Tag, Text, Time } from "./text.js";

/** @param {{policy: Policy, done: () => void}} props */
export function VersionsTab({ policy: given, done }) {
  const [policy, again, meanwhile] = useLatest(given);
  const read = useRead(
    `versions ${policy.id}`,
    async (signal) => /** @type {Version[]} */ ((await get(`/v1/policies/${policy.id}/versions`, {}, signal)).data),
  );
  const [open, setOpen] = useState(/** @type {number | null} */ (null));
  const [restoring, setRestoring] = useState(/** @type {Version | null} */ (null));
  if (!read.data)
    return read.error ? html`<${Problem} error=${read.error} retry=${read.reload} />` : html`<${Skeleton} />`;
  const versions = [...read.data].sort((a, b) => b.version - a.version);
  const why = fixed(policy);
  return html`<ol class="timeline">${versions.map(
    (
      each,
      index,
    ) => html`<li key=${each.version}><span class=${`dot-kind ${index ? "updated" : "created"}`} aria-hidden="true"></span><div class="stack">
      <p><b>Version ${each.version}</b> ${each.version === policy.version && html`<${Pill} is="active" word="in force" />`} ${each.actorName && html`by <${Text} value=${each.actorName} />`} <span class="muted"><${Time} at=${each.timestamp} none="" /></span></p>
      ${each.reason && html`<p class="quote"><${Text} value=${each.reason} /></p>`}
      <p class="small">${each.changed.map((name) => html`<${Tag}>${name}<//> `)}${versions[index + 1] && html`<button type="button" class="link" aria-expanded=${open === each.version} onClick=${() => setOpen(open === each.version ? null : each.version)}>What changed</button>`}
        ${each.version !== policy.version && html` <button type="button" class="link" disabled=${why !== undefined} title=${why} onClick=${() => setRestoring(each)}>Restore…</button>`}</p>
      ${open === each.version && html`<${PolicyDiff} before=${versions[index + 1].policy} after=${each.policy} />`}</div></li>`,
  )}</ol>
    ${
      restoring &&
      html`<${Confirm} title=${`Restore version ${restoring.version}`} button="Restore" reason="needed" close=${() => setRestoring(null)}
      act=${async (/** @type {string} */ reason) => {
        await ask("POST", `/v1/policies/${policy.id}/rollback`, {
          body: { version: restoring.version },
          reason,
          ifMatch: policy.version,
        }).catch(again);
        await policies.refresh();
        setRestoring(null);
        done();
      }}>
      ${meanwhile}<p>Makes version ${policy.version + 1} with the content of version ${restoring.version}. It binds every later decision.</p><${PolicyDiff} before=${policy} after=${restoring.policy} /><//>`
    }`;
}

/** @param {{policy: Policy, done: () => void}} props */
export function ShadowTab({ policy: given, done }) {
  const [policy, again, meanwhile] = useLatest(given);
  const read = useRead(
    `divergence ${policy.id}`,
    async (signal) => /** @type {Divergence} */ ((await get(`/v1/policies/${policy.id}/divergence`, {}, signal)).data),
  );
  const [asking, setAsking] = useState(false);
  if (policy.mode !== "shadow")
    return html`<p class="muted">It is enforced, so there is nothing that it would change. Save it as a shadow to try a new version without any effect.</p>`;
  if (!read.data)
    return read.error ? html`<${Problem} error=${read.error} retry=${read.reload} />` : html`<${Skeleton} />`;
  const results = ["allowed", "escalated", "denied"];
  const count = (/** @type {string} */ was, /** @type {string} */ is) =>
    read.data?.counts.find((each) => each.result === was && each.shadowResult === is)?.count ?? 0;
  return html`<div class="card stack"><h2>${read.data.total ? `It would have changed ${read.data.total.toLocaleString("en")} decisions` : "It would have changed no decision"} since <${Time} at=${read.data.since} /></h2>
    ${
      read.data.total > 0 &&
      html`<table class="matrix"><thead><tr><th scope="col">was</th>${results.map((each) => html`<th scope="col">would be <${Pill} is=${each} /></th>`)}</tr></thead>
      <tbody>${results.map((was) => html`<tr><th scope="row"><${Pill} is=${was} /></th>${results.map((is) => html`<td class=${`number${was === is ? " same" : count(was, is) ? " some" : ""}`}>${was === is ? "–" : count(was, is) || "0"}</td>`)}</tr>`)}</tbody></table>
      <p><a href=${to("decisions", { shadow: policy.id })}>Show these decisions</a></p>`
    }
    <div class="buttons start"><button type="button" class="primary" disabled=${fixed(policy) !== undefined} title=${fixed(policy)} onClick=${() => setAsking(true)}>Enforce…</button></div></div>
    ${
      asking &&
      html`<${Confirm} title=${`Enforce ${policy.name}`} button="Enforce" reason="needed" close=${() => setAsking(false)} act=${async (
        /** @type {string} */ reason,
      ) => {
        await ask("PATCH", `/v1/policies/${policy.id}`, {
          body: { mode: "enforce" },
          reason,
          ifMatch: policy.version,
        }).catch(again);
        await policies.refresh();
        setAsking(false);
        done();
      }}>${meanwhile}<p>From now on it binds every decision, on every replica.${read.data.total && policy === given ? ` Since its last change it would have changed ${read.data.total} of them.` : ""}</p><//>`
    }`;
}
