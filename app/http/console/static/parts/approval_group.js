// Calls that belong together, those of a plan or of a session: in their order, decided with one request.
import "../styles.js";
import { ask } from "../api.js";
import { noteApproval } from "../approvals_feed.js";
import { barred } from "../session.js";
import { Fragment, html, useRef, useState } from "../vendor/preact.js";
import { ApprovalCard, useHeight } from "./approval_card.js";
import { Problem } from "./loading.js";
import { Text } from "./text.js";

/** The most approvals of one request. */
const AT_ONCE = 100;

/** @param {{list: Approval[]}} props */
export function ApprovalGroup({ list }) {
  const plan = list[0].plan;
  const [struck, setStruck] = useState(/** @type {string[]} */ ([]));
  const [wants, setWants] = useState(/** @type {Record<string, string>} */ ({}));
  // What hides something is approved singly.
  const may = list.filter((each) => each.status === "pending" && !each.hides && !barred(each));
  const waiting = list.filter((each) => each.status === "pending").length;
  // Who began to decide together goes on so, however many others decide meanwhile.
  const several = useRef(false);
  several.current ||= may.length > 1;
  const [together, setTogether] = useState(plan !== undefined);
  const waits = several.current && may.length > 0 && together;
  const group = useRef(/** @type {HTMLElement | null} */ (null));
  const style = useHeight(group, waits);
  const title = plan
    ? `A plan of ${plan.calls} calls`
    : html`<${Fragment}>${list.length} calls of the session <${Text} value=${list[0].context.session} /><//>`;
  const first = may.find((each) => !struck.includes(each.id) && wants[each.id] !== "");
  const before = first && `Call ${list.indexOf(first) + 1}: ${wants[first.id] ?? "Comparing with earlier calls…"}`;
  const strike = (/** @type {string} */ id, /** @type {boolean} */ out) =>
    setStruck((before) => [...before.filter((each) => each !== id), ...(out ? [id] : [])]);
  return html`<section class="group" ref=${group} style=${style} aria-label=${plan ? `Plan of ${plan.calls} calls` : `Session ${list[0].context.session}`}>
    <header class="group-head"><h2>${title}</h2>${plan && Number(plan.calls) > waiting && html`<span class="muted small">${waiting} of them ${waiting === 1 ? "waits" : "wait"}</span>`}<span class="spring"></span>
      ${(waits || may.length > 1) && html`<button type="button" class="link small" onClick=${() => setTogether(!together)}>${together ? "Decide one by one" : "Decide together"}</button>`}</header>
    <div class="cards">${list.map(
      (each) => html`<div class=${struck.includes(each.id) && waits ? "struck stack" : "stack"} key=${each.id}>
      <${ApprovalCard} approval=${each} place=${each.plan && Number(each.plan.index) + 1} decides=${!waits || !may.includes(each)}
        wants=${(/** @type {string} */ words) => setWants((known) => (known[each.id] === words ? known : { ...known, [each.id]: words }))} />
      ${waits && html`<label class="check" style=${may.includes(each) ? undefined : { visibility: "hidden" }}><input type="checkbox" checked=${struck.includes(each.id)} onChange=${(/** @type {any} */ event) => strike(each.id, event.target.checked)} /> Strike out: this call is denied</label>`}</div>`,
    )}</div>
    ${waits && html`<${Together} all=${may} struck=${struck} before=${before ?? ""} />`}</section>`;
}

/** before: what has to be done before they can be approved. @param {{all: Approval[], struck: string[], before: string}} props */
function Together({ all, struck, before }) {
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState(/** @type {unknown[]} */ ([]));
  const kept = all.filter((each) => !struck.includes(each.id));
  const send = async (/** @type {string} */ decision) => {
    setBusy(true);
    setErrors([]);
    try {
      for (let from = 0; from < all.length; from += AT_ONCE) {
        const part = all.slice(from, from + AT_ONCE).map(({ id, version }) => ({ id, version }));
        const out = decision === "approve" ? part.filter((each) => struck.includes(each.id)) : [];
        const rest = part.filter((each) => !out.includes(each));
        const body = rest.length
          ? { decision, approvals: rest, note, ...(out.length && { struckOut: out }) }
          : { decision: "deny", approvals: out, note };
        const { data } = await ask("POST", "/v1/approvals/decide", { body });
        for (const each of data) {
          if (each.approval) noteApproval(each.approval);
          else setErrors((before) => [...before, new Error(each.error.message)]);
        }
      }
    } catch (problem) {
      setErrors([problem]);
    } finally {
      setBusy(false);
    }
  };
  const calls = (/** @type {number} */ count) => `${count} ${count === 1 ? "call" : "calls"}`;
  return html`<div class="decide card"><label class="sr" for=${`note-${all[0].id}`}>Note</label><textarea id=${`note-${all[0].id}`} rows="1" maxlength="2000" placeholder="Note, for the log" value=${note} onInput=${(/** @type {any} */ event) => setNote(event.target.value)}></textarea>
    ${errors.map((error) => html`<${Problem} error=${error} />`)}
    <div class="verdicts"><button type="button" class="deny" disabled=${busy} onClick=${() => send("deny")}>Deny ${calls(all.length)}</button>
      <button type="button" class="approve" disabled=${busy || before !== "" || !kept.length} onClick=${() => send("approve")}>Approve ${calls(kept.length)}${kept.length < all.length ? `, deny ${all.length - kept.length}` : ""}</button></div>
    <p class="small muted blocked">${before}</p></div>`;
}
