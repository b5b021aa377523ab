// Saving a policy: what changes, what is warned about, a reason, and the choice to try it as a shadow first.
import { ask, Refused, Waits } from "../api.js";
import { keepUnsaved, together, unwritten, written } from "../draft.js";
import { policies } from "../names.js";
import { can } from "../session.js";
import { kept } from "../test_cases.js";
import { go, to } from "../url.js";
import { html, useState } from "../vendor/preact.js";
import { Confirm } from "./confirm.js";
import { Later } from "./loading.js";
import { PolicyDiff } from "./policy_diff.js";
import { Text } from "./text.js";

/** @param {{policy: Policy | null, draft: any, owner: {agentId: string | null, group: string | null}, warnings: {message: string}[], close: () => void, done: () => void}} props */
export function SavePolicy({ policy, draft, owner, warnings, close, done }) {
  const guardrail = draft.kind === "guardrail";
  const others = [...(policies.all?.values() ?? [])].filter(
    (each) => each.agentId === owner.agentId && each.group === owner.group,
  );
  // An agent without a policy in force is denied everything, so a shadow would not let its first policy do anything.
  const isFirst = !others.some((each) => each.kind === "grant" && each.mode === "enforce" && each.enabled);
  const [mode, setMode] = useState(
    guardrail || (!policy && isFirst) ? "enforce" : policy ? (draft.mode ?? "enforce") : "shadow",
  );
  const [replaying, setReplaying] = useState(false);
  const before = policy ? written(policy) : {};
  const after = written({ ...draft, mode });
  const enforced = together(others, { ...draft, mode: "enforce", ...(policy && { id: policy.id }) });
  const save = async (/** @type {string} */ reason) => {
    const body = { ...draft, mode };
    try {
      if (!policy) {
        const { data } = await ask("POST", "/v1/policies", {
          body: {
            ...body,
            ...(owner.agentId && { agentId: owner.agentId }),
            ...(owner.group && { group: owner.group }),
          },
          reason,
        });
        keepUnsaved(undefined, 0, null);
        await policies.refresh();
        go(to(`policies/${data.id}`), { replace: true });
        return;
      }
      await ask("PATCH", `/v1/policies/${policy.id}`, {
        body: { ...unwritten(), ...body },
        reason,
        ifMatch: policy.version,
      });
      keepUnsaved(policy.id, 0, null);
      await policies.refresh();
      close();
      done();
    } catch (error) {
      if (error instanceof Waits) {
        keepUnsaved(policy?.id, 0, null);
        go(to(`reviews/${error.review.id}`));
        return;
      }
      if (!policy || !(error instanceof Refused) || error.status !== 412) throw error;
      close();
      done(); // the page says who saved meanwhile
    }
  };
  return html`<${Confirm} title=${policy ? "Save a new version" : "Create the policy"} button=${mode === "shadow" ? "Save as shadow" : "Save"} reason=${policy ? "needed" : "wanted"} close=${close} act=${save}>
    <${PolicyDiff} before=${before} after=${after} />
    <${Later} load=${() => import("./meaning.js")} name="Meaning" owner=${owner} after=${enforced} />
    ${warnings.length > 0 && html`<ul class="marks">${warnings.map((each) => html`<li class="warning"><${Text} value=${each.message} /></li>`)}</ul>`}
    ${owner.agentId && kept(owner.agentId).trim() && html`<${Later} load=${() => import("./policy_tests.js")} name="TestsInShort" agent=${owner.agentId} draft=${{ ...draft, ...(policy && { id: policy.id }) }} />`}
    ${
      owner.agentId &&
      can("read", "audit") &&
      (replaying
        ? html`<${Later} load=${() => import("./replay.js")} name="Replay" agent=${owner.agentId} set=${enforced} about="The calls of this time, with the policy as it is here." />`
        : html`<p><button type="button" class="link" onClick=${() => setReplaying(true)}>What would it have changed lately?</button></p>`)
    }
    ${
      !guardrail &&
      html`<fieldset><legend>Mode</legend>
      <label class="check"><input type="radio" name="mode" checked=${mode === "shadow"} onChange=${() => setMode("shadow")} /><span><b>Shadow</b> <span class="muted">changes no answer; shows what it would change</span></span></label>
      <label class="check"><input type="radio" name="mode" checked=${mode === "enforce"} onChange=${() => setMode("enforce")} /><span><b>Enforce</b> <span class="muted">binds every later decision on every replica</span></span></label></fieldset>`
    }<//>`;
}
