// Who may decide an approval, as far as the session tells; the service has the last word.
import { can, lacks, session } from "./session.js";

/** True if this was said by who is signed in, in whichever session. @param {{keyId?: string | null, person?: string}} by */
export function isMine(by) {
  const me = session.value;
  const same = by.person !== undefined && by.person === me?.person?.id;
  return same || (me !== null && [me.keyId, me.id].includes(by.keyId ?? ""));
}

/** Why who is signed in does not decide the approval, "" if they may. @param {Approval} approval */
export function barred(approval) {
  if (!can("approve")) return `${lacks("approve")}.`;
  if (isMine(approval.requestedBy)) return "You asked for this yourself, so another person must decide.";
  const person = session.value?.person;
  const unmet = (approval.approvers ?? []).find((each) => !each.groups.some((group) => person?.groups.includes(group)));
  if (unmet)
    return `Only a person in ${unmet.groups.join(" or ")} decides this; ${person ? `you are in ${person.groups.join(", ") || "no group"}` : "you have not signed in with the identity provider"}.`;
  if (approval.fresh !== undefined && !person)
    return "Only a person who has signed in with the identity provider decides this.";
  if (approval.status === "pending" && approval.approvals.some((each) => isMine(each.by)))
    return "You have approved it; another person must, too.";
  return "";
}
