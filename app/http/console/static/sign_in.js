// The sign-in form: alone on the page, or over it when a session has ended.
import "./styles.js";
import { get, Refused } from "./api.js";
import { Icon } from "./icons.js";
import { Problem } from "./parts/loading.js";
import { useModal } from "./parts/modal.js";
import { useRead } from "./parts/read.js";
import { Text } from "./parts/text.js";
import { refusedLink, session, signIn } from "./session.js";
import { address } from "./url.js";
import { html, useEffect, useRef, useState } from "./vendor/preact.js";

/** @param {{over?: boolean}} props */
export function SignIn({ over = false }) {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const dialog = useModal();
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const read = useRead(
    "sign-in",
    async (signal) =>
      /** @type {{provider: {name: string} | null, only: boolean}} */ ((await get("/v1/sign-in", {}, signal)).data),
    { once: true },
  );
  const how = read.data;
  useEffect(() => {
    field.current?.focus();
  }, [how]);
  const provider = how?.provider;
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const input = field.current;
    if (!input?.value) return;
    setBusy(true);
    setError("");
    try {
      await signIn(input.value.trim());
    } catch (problem) {
      setError(
        problem instanceof Refused && problem.status === 404
          ? "This release of the service has no sessions."
          : /** @type {Error} */ (problem).message,
      );
    } finally {
      input.value = "";
      setBusy(false);
    }
  };
  const withKey = html`<label for="key">API key</label>
    <input id="key" ref=${field} type="password" autocomplete="off" spellcheck=${false} placeholder="svc_…" required aria-describedby="key-error" />
    <p id="key-error" class="error" role="alert">${error}</p>
    <button class=${provider ? "wide" : "primary wide"} disabled=${busy}>${busy ? "Signing in…" : "Sign in"}</button>
    <p class="small muted">The key goes to this service once and is not kept in the page. In a terminal, <code>remit console</code> prints a link that signs in.</p>`;
  // Somebody with access to several workspaces goes on in the one that they were in.
  const back =
    provider &&
    address("/console/sign-in", { to: location.pathname + location.search, workspace: session.value?.workspace });
  const form = html`<form class="sign-in" onSubmit=${submit}>
    <span class="mark big"><${Icon} name="ok" size=${26} /></span>
    <h1>${over ? "Your session has ended" : "Sign in to Remit"}</h1>
    <p class="muted">${
      over
        ? "Sign in to go on where you were. What you were reading is loaded again; nothing is sent twice."
        : !how
          ? ""
          : provider
            ? "What you may see and do depends on your groups."
            : "Use an API key of your workspace. A key with the scope view can look at everything and change nothing."
    }</p>
    ${refusedLink.value && html`<p class="note" role="alert"><${Text} value=${refusedLink.value} /></p>`}
    <${Problem} error=${read.error} retry=${read.reload} />
    ${provider && html`<a class="button primary-link wide" href=${back}>Sign in with ${provider.name}</a>`}
    ${how && !provider ? withKey : how && !how.only && html`<details><summary class="small muted">Use an API key</summary>${withKey}</details>`}
  </form>`;
  return over
    ? html`<dialog class="dialog" ref=${dialog} onCancel=${(/** @type {Event} */ e) => e.preventDefault()} onClose=${() => dialog.current?.showModal()}>${form}</dialog>`
    : form;
}
