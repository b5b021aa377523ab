// What somebody else has made of a policy meanwhile: who, when, what they changed, and how to go on.
import { get, Refused } from "../api.js";
import { write } from "../exact.js";
import { Fragment, html, useState } from "../vendor/preact.js";
import { placeOf } from "./lacking.js";
import { Problem, Skeleton } from "./loading.js";
import { PolicyDiff } from "./policy_diff.js";
import { useRead } from "./read.js";
import { merged } from "./rule_changes.js";
import { Text, Time } from "./text.js";

/** Its versions, newest first. @param {string} id @param {AbortSignal} [signal] */
const versionsOf = async (id, signal) =>
  /** @type {Version[]} */ ((await get(`/v1/policies/${id}/versions`, {}, signal)).data);

/** The policy as it was last read; what reads it again after a refusal, which it passes on; and what others have changed, to be shown.
 * @param {Policy} given @returns {[Policy, (error: unknown) => Promise<never>, any]} */
export function useLatest(given) {
  const [newer, setNewer] = useState(/** @type {Version[]} */ ([]));
  const again = async (/** @type {unknown} */ error) => {
    if (error instanceof Refused && error.status === 412)
      setNewer((await versionsOf(given.id)).filter((each) => each.version > given.version));
    throw error;
  };
  const policy = /** @type {Policy} */ (newer[0]?.policy ?? given);
  return [
    policy,
    again,
    policy !== given &&
      html`<${Saved} versions=${newer} /><p>The next press is on that version.</p><${PolicyDiff} before=${given} after=${policy} />`,
  ];
}

/** @param {{versions: Version[]}} props */
const Saved = ({ versions }) =>
  html`<ul class="plain">${versions.map((each) => html`<li><b><${Text} value=${each.actorName ?? "Somebody else"} /></b> saved version ${each.version} <${Time} at=${each.timestamp} none="meanwhile" />${each.reason && html`: “<${Text} value=${each.reason} />”`}</li>`)}</ul>`;

/** Above a draft that was made from an older version. take: goes on with the text that it is given, on their version; discard: with theirs.
 * @param {{policy: Policy, from: number, draft: any, written: (policy: any) => any, take: (text: string) => void, discard: () => void}} props */
export function Overtaken({ policy, from, draft, written, take, discard }) {
  const read = useRead(`versions ${policy.id} ${policy.version}`, (signal) => versionsOf(policy.id, signal));
  const [isOpen, setOpen] = useState(false);
  const base = read.data?.find((each) => each.version === from)?.policy;
  const both = base && draft && merged(written(base), written(policy), written(draft));
  return html`<section class="note stack" role="status" aria-label="Saved meanwhile">
    ${read.data ? html`<${Saved} versions=${read.data.filter((each) => each.version > from)} />` : read.error ? html`<${Problem} error=${read.error} retry=${read.reload} />` : html`<${Skeleton} rows=${1} />`}
    <p>Your changes are not saved yet. They were made from version ${from}; saving them as they are replaces version ${policy.version}.</p>
    ${both?.lost.length > 0 && html`<p>You both changed ${both.lost.map((/** @type {string} */ each) => (each.startsWith("rule") || each.startsWith("the ") ? each : placeOf([each]))).join(", ")}: theirs stays there.</p>`}
    <div class="buttons start">${both && html`<button type="button" class="primary" onClick=${() => take(write(both.policy))}>Take theirs, keep mine where we do not touch</button>`}
      ${base && html`<button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>What each of us changed</button>`}<button type="button" onClick=${discard}>Discard mine</button></div>
    ${isOpen && base && html`<${Fragment}><h2>They changed</h2><${PolicyDiff} before=${written(base)} after=${written(policy)} /><h2>You changed</h2><${PolicyDiff} before=${written(base)} after=${draft} /><//>`}</section>`;
}
