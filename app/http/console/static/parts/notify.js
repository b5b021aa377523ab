// Notifications about approvals, for those who ask for them.
import { pendingCount } from "../approvals_feed.js";
import { html, useEffect, useState } from "../vendor/preact.js";

export function Notify() {
  const [state, setState] = useState(typeof Notification === "undefined" ? "denied" : Notification.permission);
  const waiting = pendingCount.value;
  const [told, setTold] = useState(waiting);
  useEffect(() => {
    if (state === "granted" && document.hidden && waiting > told)
      new Notification("Remit", {
        body: waiting === 1 ? "1 approval waits" : `${waiting} approvals wait`,
        tag: "remit.approvals",
      });
    setTold(waiting);
  }, [waiting]);
  if (state !== "default") return null;
  return html`<button type="button" class="quiet" onClick=${async () => setState(await Notification.requestPermission())}>Notify me</button>`;
}
