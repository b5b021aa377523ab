// Rule by rule: the part of every policy in an answer, in the order of evaluation. cause: shown in the rule that decided.
import { to } from "../url.js";
import { Fragment, html, useEffect, useRef } from "../vendor/preact.js";
import { duration } from "../time.js";
import { Quota } from "./quota.js";
import { Pill, Tag, Text, Value } from "./text.js";

/** @type {Record<string, string>} */
const MARKS = { passed: "✓", failed: "✕", abstained: "–", not_reached: "·", unknown: "?", off: "○" };
/** @type {Record<string, string>} */
const WORDS = {
  passed: "passed",
  failed: "failed",
  abstained: "does not apply",
  not_reached: "not reached",
  unknown: "unknown",
  off: "off",
};

/** @param {{policies: PolicyPart[], decidedBy: string | null, rule: RuleRef | null, unknown?: string[], other?: PolicyPart[], still?: boolean, cause?: any}} props */
export function Trace({ policies, decidedBy, rule, unknown = [], other, still = false, cause }) {
  if (!policies.length) return html`<p class="muted">No policy governs this agent, so every call is denied.</p>`;
  return html`<div class="trace">${policies.map(
    (policy) => html`<${Policy} policy=${policy} unknown=${unknown} still=${still} cause=${cause}
    decides=${policy.id !== null && policy.id === decidedBy ? rule : null} other=${other?.find((each) => each.id === policy.id && each.name === policy.name)} />`,
  )}</div>`;
}

/** @param {{policy: PolicyPart, decides: RuleRef | null, unknown: string[], other?: PolicyPart, still: boolean, cause?: any}} props */
function Policy({ policy, decides, unknown, other, still, cause }) {
  const governs = policy.group ? `group ${policy.group}` : policy.governs;
  return html`<section class=${`trace-policy ${policy.part}${decides ? " decides" : ""}`}>
    <header>${policy.id ? html`<a href=${to(`policies/${policy.id}`)}><${Text} value=${policy.name} /></a>` : html`<b><${Text} value=${policy.name} /></b>`}
      <${Tag}>${policy.kind}<//>${policy.kind === "grant" && html`<${Tag} title="Higher priorities are evaluated first">priority ${policy.priority}<//>`}
      <${Tag}>${governs}<//>${policy.version !== null ? html`<${Tag}>v${policy.version}<//>` : html`<${Tag}>draft<//>`}
      ${policy.mode === "shadow" && html`<${Tag} title="Evaluated, but changes no answer">shadow<//>`}
      <span class="spring"></span><span class=${`part ${policy.part}`}>${WORDS[policy.part]}</span></header>
    <ol>${policy.rules.map(
      (
        each,
      ) => html`<${Rule} rule=${each} decides=${decides?.index === each.index} unknown=${unknown} still=${still} cause=${cause}
      differs=${other !== undefined && other.rules[each.index]?.part !== each.part} />`,
    )}</ol></section>`;
}

/** @param {{rule: RulePart, decides: boolean, unknown: string[], differs: boolean, still: boolean, cause?: any}} props */
function Rule({ rule, decides, unknown, differs, still, cause }) {
  const row = useRef(/** @type {HTMLLIElement | null} */ (null));
  useEffect(() => {
    if (decides && !still) row.current?.scrollIntoView({ block: "center" });
  }, []);
  const hidden = rule.values.filter((each) => unknown.includes(each.name)).map((each) => each.name);
  return html`<li ref=${row} class=${`${rule.part}${decides ? " deciding" : ""}${differs ? " differs" : ""}`}>
    <span class=${`mark-${rule.part} rule-mark`} aria-hidden="true">${MARKS[rule.part]}</span>
    <div><p><code>${rule.type}</code> <span class=${`part ${rule.part}`}>${WORDS[rule.part]}</span>
        ${rule.pattern && html` <span class="muted">for</span> <code><${Text} value=${rule.pattern} /></code>`}
        ${decides && html` <${Pill} is="deciding" word="decides" />`}
        ${rule.part === "failed" && rule.onFailure !== "denied" && html` <span class="muted">→ ${rule.onFailure}${rule.approvedBy ? html`: <${Text} value=${rule.approvedBy} /> must approve` : ""}</span>`}
        ${differs && html` <${Pill} is="escalated" word="differs" />`}</p>
      ${rule.reason && html`<p class="why"><${Text} value=${rule.reason} /></p>`}
      ${rule.part === "unknown" && html`<p class="why">The log does not contain what this rule reads${hidden.length ? `: ${hidden.join(", ")}` : ""}. It was redacted or shortened.</p>`}
      ${rule.values.map(
        (each) =>
          html`<p class="read"><code><${Text} value=${each.name} /></code> ${
            "value" in each
              ? html`<${Fragment}>= <${Value} value=${each.value} /><//>`
              : html`<span class="muted">is missing</span>`
          }</p>`,
      )}
      ${rule.quota && html`<p><${Quota} level=${rule.quota} of=${rule.type === "budget" ? "" : rule.type === "rate_limit" ? "calls" : "denials"} /></p>`}
      ${rule.record && html`<p class="read"><code><${Text} value=${rule.record.of} /></code> ${rule.record.fields === null ? html`<span class="muted">was not reported in this session</span>` : html`<${Fragment}>was reported with <${Value} value=${rule.record.fields} /><//>`}</p>`}
      ${rule.session?.map(
        (mark) =>
          html`<p class="read"><code><${Text} value=${mark.tool} /></code> ${
            mark.allowedSecondsAgo === null
              ? "was not allowed in this session"
              : `was allowed ${duration(Number(mark.allowedSecondsAgo))} ago in this session`
          }${mark.forbids ? ", which would forbid this call" : ", which must come first"}</p>`,
      )}
      ${decides && cause}
    </div></li>`;
}
