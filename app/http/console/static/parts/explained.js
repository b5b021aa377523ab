// The answer that a call would get: with the policies in force and, beside it, with a draft.
import { ask } from "../api.js";
import { write } from "../exact.js";
import { duration } from "../time.js";
import { html } from "../vendor/preact.js";
import { CopyButton, curl } from "./copy.js";
import { Problem, Skeleton } from "./loading.js";
import { useRead } from "./read.js";
import { Pill, Text } from "./text.js";
import { Trace } from "./trace.js";

/** @param {{asked: {body: any, draft: any}}} props */
export function Explained({ asked }) {
  const explain = (/** @type {any} */ body) => async (/** @type {AbortSignal} */ signal) =>
    /** @type {Explanation} */ ((await ask("POST", "/v1/explain", { body, signal })).data);
  const now = useRead(`now ${write(asked.body, 0)}`, explain(asked.body));
  const drafted = useRead(
    `draft ${write(asked, 0)}`,
    asked.draft ? explain({ ...asked.body, policies: [asked.draft] }) : async () => null,
  );
  if (now.error) return html`<${Problem} error=${now.error} />`;
  if (!now.data) return html`<${Skeleton} />`;
  return html`<div class=${asked.draft ? "beside" : "stack"}>
    <${One} title=${asked.draft ? "In force" : "Answer"} of=${now.data} />
    ${asked.draft && (drafted.error ? html`<${Problem} error=${drafted.error} />` : drafted.data ? html`<${One} title="With the draft" of=${drafted.data} other=${now.data} />` : html`<${Skeleton} />`)}</div>
    <div class="buttons start"><${CopyButton} class="" label="Copy as curl" text=${() => curl("POST", "/v1/explain", write({ ...asked.body, ...(asked.draft && { policies: [asked.draft] }) }, 0))} /></div>`;
}

/** @param {{title: string, of: Explanation, other?: Explanation}} props */
function One({ title, of, other }) {
  return html`<section class="stack"><h2 class="line">${title} <${Pill} is=${of.result} />${other && other.result !== of.result && html`<${Pill} is="deciding" word=${`was ${other.result}`} />`}</h2>
    <p><${Text} value=${of.reason} /></p>${of.retryAfterSeconds !== null && html`<p class="small muted">Room again in ${duration(Number(of.retryAfterSeconds))}.</p>`}${of.agentMessage && html`<p class="quote"><${Text} value=${of.agentMessage} /></p>`}
    ${of.shadow?.changes && html`<p class="note">With the shadow policies it would be <b>${of.shadow.result}</b>.</p>`}
    <${Trace} policies=${of.policies} decidedBy=${of.policyId} rule=${of.rule} other=${other?.policies} still /></section>`;
}
