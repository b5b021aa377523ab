// Who is there, and what they may do.
import { ask, noteSignIn, Refused, signedOut } from "./api.js";
import { signal } from "./vendor/preact.js";

export const session = signal(/** @type {Session | null} */ (null));
export const asked = signal(false);
const tabs = new BroadcastChannel("remit.session");
tabs.onmessage = (/** @type {MessageEvent} */ { data }) => {
  if (data === "out") leave();
  else if (signedOut.value || !session.value) whoAmI();
};

/** True if the session has one of these scopes; admin has all. @param {...string} scopes */
export function can(...scopes) {
  const has = session.value?.scopes ?? [];
  return has.includes("admin") || scopes.some((scope) => has.includes(scope)) || (scopes.includes("read") && has.includes("view"));
}

/** Why a control is disabled, undefined if it is not. @param {...string} scopes */
export function lacks(...scopes) {
  return can(...scopes) ? undefined : `Needs the scope ${scopes.join(" or ")}; an administrator can give it`;
}

/** Find out who is there. */
export async function whoAmI() {
  try {
    const { data } = await ask("GET", "/v1/session");
    session.value = {
      workspace: data.workspace.name, name: data.name, scopes: data.scopes, until: data.until, keyId: data.keyId ?? "",
      id: data.sessionId ?? data.keyId ?? "", totals: data.totals,
    };
    noteSignIn();
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401) throw error;
    signedOut.value = true;
  } finally {
    asked.value = true;
  }
}

/** Sign in with a key or with the code of a link; raises Refused. @param {{key: string} | {code: string}} proof */
export async function signIn(proof) {
  await ask("POST", "/v1/session", { body: proof });
  await whoAmI();
  tabs.postMessage("in");
}

export async function signOut() {
  const { data } = await ask("DELETE", "/v1/session");
  tabs.postMessage("out");
  leave(data.providerUrl);
}

/** Forget drafts and tests, which quote what the session could read. @param {string} [provider] */
function leave(provider) {
  sessionStorage.clear();
  if (provider) location.assign(provider);
  else location.reload();
}
