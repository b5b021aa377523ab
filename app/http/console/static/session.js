// Who is there, and what they may do.
import { ask, noteSignIn, Refused, signedOut } from "./api.js";
import { signal } from "./vendor/preact.js";

export const session = signal(/** @type {Session | null} */ (null));
/** True once it is known whether somebody is signed in. */
export const asked = signal(false);
/** Why the link that opened this page did not sign in, "" if it did or there was none. */
export const refusedLink = signal("");
let turn = 0;
const tabs = new BroadcastChannel("remit.session");
tabs.onmessage = (/** @type {MessageEvent} */ { data }) => {
  if (data === "out") leave();
  else whoAmI(false).catch(() => {});
};

/** True if the session has one of these scopes; admin has all. @param {...string} scopes */
export function can(...scopes) {
  const has = session.value?.scopes ?? [];
  return (
    has.includes("admin") ||
    scopes.some((scope) => has.includes(scope)) ||
    (scopes.includes("read") && has.includes("view"))
  );
}

/** Why a control is disabled, undefined if it is not. @param {...string} scopes */
export function lacks(...scopes) {
  return can(...scopes) ? undefined : `Needs the scope ${scopes.join(" or ")}; an administrator can give it`;
}

/** Why who is signed in does not change the policy, undefined if they may. @param {Policy | null} policy */
export const fixed = (policy) =>
  lacks("policies") ?? (policy?.managedBy ? `It is managed by ${policy.managedBy}` : undefined);

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

/** Find out who is there, and tell the other tabs. If this is another workspace than the one that is shown, the page begins anew. */
export async function whoAmI(tell = true) {
  const mine = ++turn;
  try {
    const { data } = await ask("GET", "/v1/session");
    if (tell) tabs.postMessage("in");
    if (mine !== turn) return; // a later answer knows more
    const { workspace, name, scopes, until, person, keyId = "", sessionId: id = keyId } = data;
    if (session.value && session.value.workspaceId !== workspace.id) return leave();
    if (`${session.value?.id} ${session.value?.scopes}` !== `${id} ${scopes}`)
      session.value = { workspaceId: workspace.id, workspace: workspace.name, name, scopes, until, person, keyId, id };
    noteSignIn();
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401) throw error;
    if (mine !== turn) return;
    signedOut.value = true;
  }
  asked.value = true;
}

/** Sign in with a key; raises Refused. @param {string} key */
export async function signIn(key) {
  await ask("POST", "/v1/session", { body: { key } });
  refusedLink.value = "";
  await whoAmI();
}

/** The code of a link has been exchanged for a session, or `refusedLink` says why not. @param {string} code */
export async function redeem(code) {
  await ask("POST", "/v1/session", { body: { code } }).catch((error) => {
    refusedLink.value =
      error.status === 401
        ? "This link was used already, or is older than a minute. remit console prints another one."
        : `The link did not sign you in: ${error.message}.`;
  });
}

export async function signOut() {
  const { data } = await ask("DELETE", "/v1/session").catch((error) => {
    if (error.status === 401) return { data: {} }; // it has ended already
    throw error;
  });
  tabs.postMessage("out");
  leave(data.providerUrl);
}

/** Forget drafts and tests, which quote what the session could read. @param {string} [provider] */
function leave(provider) {
  sessionStorage.clear();
  if (provider) location.assign(provider);
  else location.reload();
}
