// One policy: written as a form or as JSON, its versions, and what it would change as a shadow.
import "../styles.js";
import { ask, get } from "../api.js";
import { keepUnsaved, NEW, readSchema, unsaved, useDraft, written } from "../draft.js";
import { write } from "../exact.js";
import { Icon } from "../icons.js";
import { AgentName, agents, policies } from "../names.js";
import { Later, Problem, Skeleton } from "../parts/loading.js";
import { Confirm } from "../parts/confirm.js";
import { lacking, placeOf } from "../parts/lacking.js";
import { Overtaken, useLatest } from "../parts/latest.js";
import { PolicyForm } from "../parts/policy_form.js";
import { SavePolicy } from "../parts/policy_save.js";
import { ShadowTab, VersionsTab } from "../parts/policy_tabs.js";
import { useRead } from "../parts/read.js";
import { Tabs } from "../parts/tabs.js";
import { Pill, Tag, Text } from "../parts/text.js";
import { fixed, lacks } from "../session.js";
import { address, param, place, setParams, to } from "../url.js";
import { html, useEffect, useLayoutEffect, useState } from "../vendor/preact.js";

const TABS = [
  ["edit", "Policy"],
  ["tests", "Tests"],
  ["versions", "Versions"],
  ["shadow", "Shadow"],
];

/** @param {{id: string}} props */
export function Screen({ id }) {
  const fresh = id === "new";
  const read = useRead(
    `policy ${id}`,
    async (signal) =>
      /** @type {Policy | null} */ (
        fresh ? null : (await get(`/v1/policies/${encodeURIComponent(id)}`, {}, signal)).data
      ),
    { once: true },
  );
  // What is only looked at needs no schema.
  const isWritten = fresh || !["versions", "shadow"].includes(param("tab")) || unsaved(id) !== null;
  const schema = useRead(
    isWritten ? "schema" : "no schema",
    async (signal) => (isWritten ? readSchema(signal) : null),
    { once: true },
  );
  useEffect(() => {
    agents.all;
    policies.all;
  }, []);
  if (read.data === undefined || schema.data === undefined)
    return html`<div class="page"><div class="head"><${Back} /><h1>Policy</h1></div><${Problem} error=${read.error ?? schema.error} retry=${() => {
      read.reload();
      schema.reload();
    }} />${(read.slow || schema.slow) && html`<${Skeleton} />`}</div>`;
  return html`<${Page} key=${`${id} ${read.data?.version} ${isWritten}`} policy=${read.data} schema=${schema.data} reload=${read.reload} />`;
}

const Back = () =>
  html`<a class="quiet square" href=${to("policies")} aria-label="All policies"><${Icon} name="back" /></a>`;

/** schema: null while the policy is not written. @param {{policy: Policy | null, schema: any, reload: () => void}} props */
function Page({ policy, schema, reload }) {
  const [chosen, setOwner] = useState(/** @type {string | null} */ (null));
  const known = [...(agents.all?.values() ?? [])];
  const named = !param("agent")
    ? known.length === 1 && known[0]
    : [...(agents.all?.values() ?? [])].find((each) => each.id === param("agent") || each.alias === param("agent"));
  const owner =
    chosen ??
    (policy
      ? policy.agentId
        ? `agent ${policy.agentId}`
        : policy.group
          ? `group ${policy.group}`
          : ""
      : named
        ? `agent ${named.id}`
        : "?");
  const stored = write(policy && schema ? written(policy) : NEW);
  const owns = {
    agentId: owner.startsWith("agent ") ? owner.slice(6) : null,
    group: owner.startsWith("group ") ? owner.slice(6) : null,
    id: policy?.id,
  };
  const [kept, setKept] = useState(() => unsaved(policy?.id));
  const draft = useDraft(kept?.text ?? stored, owns, schema !== null && owner !== "?");
  const [saving, setSaving] = useState(false);
  const changed = draft.text !== stored;
  const madeFrom = Number(changed && kept ? kept.version : (policy?.version ?? 0));
  // Before the next press, which may leave the page.
  useLayoutEffect(() => keepUnsaved(policy?.id, madeFrom, changed ? draft.text : null), [draft.text, madeFrom]);
  const discard = () => {
    setKept(null);
    draft.setText(stored);
  };
  const tabs = policy ? TABS : TABS.slice(0, 2);
  const tab = tabs.some(([name]) => name === param("tab")) ? param("tab") : "edit";
  const asJson = param("as") === "json" || draft.policy === undefined;
  const managed = policy?.managedBy;
  const why = fixed(policy);
  const [taking, setTaking] = useState(false);
  const missing = [
    ...(owner === "?" ? ["what it governs"] : []),
    ...(draft.policy && schema ? lacking(schema, schema.$defs.PolicyEntry, draft.policy).map(placeOf) : []),
  ];
  const notYet =
    why ??
    (draft.error
      ? "It is not JSON yet"
      : missing.length
        ? `Missing: ${missing.join("; ")}`
        : policy && !changed
          ? "Nothing is changed yet"
          : !draft.checked
            ? "Checking…"
            : draft.valid
              ? ""
              : "The service refuses it, and says why at its field");
  const groups = [...new Set([...(agents.all?.values() ?? [])].flatMap((each) => each.groups))].sort();
  return html`<div class="page"><div class="head"><${Back} /><h1>${policy ? html`<${Text} value=${policy.name} />` : "New policy"}</h1>
      ${policy && html`<${Tag}>${policy.kind}<//>${policy.mode === "shadow" && html`<${Pill} is="shadow" />`}${!policy.enabled && html`<${Pill} is="off" />`}<${Tag}>v${policy.version}<//>`}<span class="spring"></span>
      ${
        tab === "edit" &&
        html`<div class="switch" role="group" aria-label="Written as"><button type="button" aria-pressed=${!asJson} disabled=${draft.policy === undefined} onClick=${() => setParams({ as: null })}>Form</button><button type="button" aria-pressed=${asJson} onClick=${() => setParams({ as: "json" })}>JSON</button></div>
      <a class="button" href=${to("what-if", { agent: owns.agentId ?? "", draft: policy?.id ?? "new" })}>What if…</a>
      <button type="button" class="primary" disabled=${notYet !== ""} aria-describedby="not-yet" onClick=${() => setSaving(true)}>Save…</button>`
      }</div>
    ${tab === "edit" && html`<p class="not-yet muted small" id="not-yet">${notYet}</p>`}
    ${policy && html`<p class="about">Governs ${owner === "" ? "the whole workspace" : owns.group ? `the group ${owns.group}` : html`<${AgentName} id=${String(owns.agentId)} link />`} <span class="muted">policy <code>${policy.id}</code></span></p>`}
    <${Tabs} label="Parts of the policy" tabs=${tabs} shown=${tab} at=${(/** @type {string} */ name) => address(place.value.path, { tab: name, agent: param("agent") })} />
    ${
      policy &&
      changed &&
      (madeFrom === policy.version
        ? html`<div class="note calm line"><p>Your changes are not saved yet.</p><span class="spring"></span><button type="button" onClick=${discard}>Discard them</button></div>`
        : html`<${Overtaken} policy=${policy} from=${madeFrom} draft=${draft.policy} written=${written} discard=${discard} take=${(
            /** @type {string} */ text,
          ) => {
            setKept({ version: policy.version, text });
            draft.setText(text);
          }} />`)
    }
    ${policy && managed && html`<div class="note line"><p>Managed by <b><${Text} value=${managed} /></b>, so it is changed there: the next <code>remit policy apply</code> would undo a change made here.</p><span class="spring"></span><button type="button" disabled=${lacks("policies")} title=${lacks("policies")} onClick=${() => setTaking(true)}>Edit here from now on…</button></div>`}
    ${taking && policy && html`<${TakeOver} policy=${policy} close=${() => setTaking(false)} done=${reload} />`}
    ${
      tab === "tests"
        ? html`<${Later} load=${() => import("../parts/policy_tests.js")} name="PolicyTests" owner=${owns} draft=${draft.policy} changed=${changed || !policy} />`
        : tab === "versions" && policy
          ? html`<${VersionsTab} policy=${policy} done=${reload} />`
          : tab === "shadow" && policy
            ? html`<${ShadowTab} policy=${policy} done=${reload} />`
            : html`
      ${
        !policy &&
        html`<label class="owner-choice">Governs<select value=${owner} onChange=${(/** @type {any} */ event) => setOwner(event.target.value)}><option value="?" disabled>Choose…</option><option value="">the whole workspace (guardrails only)</option>
        ${groups.map((each) => html`<option value=${`group ${each}`}>group ${each}</option>`)}${[...(agents.all?.values() ?? [])].map((each) => html`<option value=${`agent ${each.id}`}>${each.name}</option>`)}</select></label>`
      }
      ${
        asJson
          ? html`<div class="editor"><${Later} load=${() => import("../editor/json_editor.js")} name="JsonEditor" text=${draft.text} change=${draft.setText} marks=${draft.marks} schema=${schema} start=${schema.$defs.PolicyEntry} label="The policy as JSON" readOnly=${Boolean(managed)} /></div>`
          : html`<fieldset disabled=${managed !== null && managed !== undefined}><${PolicyForm} policy=${draft.policy} set=${draft.set} marks=${draft.marks} schema=${schema} /></fieldset>`
      }
      ${draft.untouched || owner === "?" ? html`<p class="muted small">The service’s verdict appears here.</p>` : html`<${Verdict} draft=${draft} />`}`
    }
    ${saving && html`<${SavePolicy} policy=${policy} draft=${draft.policy} owner=${owns} warnings=${draft.marks} close=${() => setSaving(false)} done=${reload} />`}</div>`;
}

/** @param {{policy: Policy, close: () => void, done: () => void}} props */
function TakeOver({ policy: given, close, done }) {
  const [policy, again, meanwhile] = useLatest(given);
  return html`<${Confirm} title="Edit it here from now on" button="Take it over" reason="needed" close=${policy === given ? close : done}
      act=${async (/** @type {string} */ reason) => {
        await ask("PATCH", `/v1/policies/${policy.id}`, {
          body: { managedBy: null },
          reason,
          ifMatch: policy.version,
        }).catch(again);
        await policies.refresh();
        done();
      }}>
      ${meanwhile}<p>The policy stays as it is, but is no longer said to be managed by <b><${Text} value=${policy.managedBy ?? given.managedBy} /></b>. Take it out of the files there, too: as long as it is in them, the next apply changes it back.</p><//>`;
}

/** @param {{draft: ReturnType<typeof useDraft>}} props */
function Verdict({ draft }) {
  if (draft.error) return html`<p class="note" role="status">Not JSON yet: ${draft.error}</p>`;
  if (!draft.checked) return html`<p class="muted small" role="status">Checking…</p>`;
  if (draft.valid && !draft.marks.length)
    return html`<p class="fine small" role="status"><${Icon} name="ok" size=${14} /> The service accepts it and has nothing to warn about.</p>`;
  return html`<div role="status"><ul class="marks">${draft.marks.map((mark) => html`<li class=${mark.warning ? "warning" : "fault"}><${Icon} name="alert" size=${14} /><span><${Text} value=${mark.message} /> ${mark.path.length > 0 && html`<span class="muted">${placeOf(mark.path)}</span>`}</span></li>`)}</ul></div>`;
}
