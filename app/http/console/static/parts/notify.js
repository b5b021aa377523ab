// Notifications about approvals, for those who ask for them.
import { approvals } from "../approvals_feed.js";
import { inBrief } from "./approval_card.js";
import { html, useEffect, useState } from "../vendor/preact.js";

/** The approval that came last, in a few words. @param {Approval[]} pending */
function newest(pending) {
  const one = pending.at(-1);
  if (!one) return "";
  const so = Number(one.required) > 1 ? `; ${one.approvals.length} of ${one.required} have approved` : "";
  return `${one.agentName ?? "An agent"}: ${inBrief(one)}. Needs ${one.needs}${so}. ${one.reason}`;
}

export function Notify() {
  const [state, setState] = useState(typeof Notification === "undefined" ? "denied" : Notification.permission);
  const pending = [...approvals.value.values()].filter((each) => each.status === "pending");
  const waiting = pending.length;
  const [told, setTold] = useState(waiting);
  useEffect(() => {
    if (state === "granted" && document.hidden && waiting > told)
      new Notification("Remit", {
        body: waiting === told + 1 ? newest(pending) : `${waiting} approvals wait`,
        tag: "remit.approvals",
      });
    setTold(waiting);
  }, [waiting]);
  if (state !== "default") return null;
  return html`<button type="button" class="quiet" onClick=${async () => setState(await Notification.requestPermission())}>Notify me</button>`;
}
