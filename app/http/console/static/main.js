// The start, and the frame of every screen: menu, title of the tab, sign-in, bars, and the screen itself.
import { pause, signedOut, stale, trouble } from "./api.js";
import { Icon } from "./icons.js";
import { KeyPresses, shortcutsShown } from "./keys.js";
import { Later } from "./parts/loading.js";
import { Text } from "./parts/text.js";
import { asked, can, redeem, refusedLink, session, whoAmI } from "./session.js";
import { go, HOME, parts, place, to } from "./url.js";
import { computed, html, render, signal, useEffect } from "./vendor/preact.js";

/** @typedef {{path: string, name: string, key: string, scopes: string[], apart?: boolean}} Entry */
/** The screens in the order of the menu: a session sees those that one of its scopes opens. To one without a key, only links lead.
 * @type {Entry[]} */
const SCREENS = [
  { path: "", name: "Overview", key: "o", scopes: ["read", "audit", "policies"] },
  { path: "decisions", name: "Decisions", key: "d", scopes: ["read", "audit"] },
  { path: "approvals", name: "Approvals", key: "a", scopes: ["read", "approve"] },
  { path: "agents", name: "Agents", key: "n", scopes: ["read", "policies"], apart: true },
  { path: "policies", name: "Policies", key: "p", scopes: ["read", "policies"] },
  { path: "what-if", name: "What if", key: "w", scopes: ["read", "policies"] },
  { path: "catalog", name: "Catalogue", key: "t", scopes: ["read", "policies"] },
  { path: "keys", name: "Keys", key: "k", scopes: ["admin"], apart: true },
  { path: "webhooks", name: "Webhooks", key: "h", scopes: ["admin"] },
  { path: "people", name: "People", key: "e", scopes: ["admin"] },
  { path: "log", name: "Log", key: "l", scopes: ["read", "audit"], apart: true },
  { path: "changes", name: "Changes", key: "c", scopes: ["admin", "audit"] },
  { path: "reviews", name: "Policies", key: "", scopes: ["read", "policies"] },
];

const form = () => import("./sign_in.js");
const account = () => import("./parts/account.js");

/** Who follows approvals, once somebody is signed in who may. */
const feed = signal(/** @type {typeof import("./approvals_feed.js") | null} */ (null));
const pendingCount = computed(() => feed.value?.pendingCount.value ?? 0);

/** The screens of this session; those who only approve see Approvals first. */
function allowedScreens() {
  return SCREENS.filter((each) => can(...each.scopes));
}

/** The module of a screen; some have one of their own for each item. @param {string} first @param {string | undefined} second */
function moduleOf(first, second) {
  return second && first === "agents" ? "agent" : second && first === "policies" ? "policy" : first || "overview";
}

function Shell() {
  useEffect(() => {
    if (session.value && can("read", "approve"))
      import("./approvals_feed.js").then(
        (found) => {
          feed.value = found;
        },
        () => {},
      );
  }, [session.value]);
  useEffect(
    () => (session.value && can("read", "approve") ? feed.value?.watchApprovals() : undefined),
    [session.value, feed.value],
  );
  useEffect(() => {
    document.querySelector(".menu [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [parts.value[0], session.value]);
  if (!asked.value)
    return html`<main><h1 class="sr">Remit</h1><p class="sr" role="status">Loading</p><${Trouble} next="This page tries again by itself." /></main>`;
  if (!session.value) return html`<main class="door"><${Later} load=${form} name="SignIn" /></main>`;
  const [first = "", second] = parts.value;
  const allowed = allowedScreens();
  const screens = allowed.filter((each) => each.key);
  const here = allowed.find((each) => each.path === first) ?? (first === "" ? screens[0] : undefined);
  return html`<div class="shell">
    <a class="skip" href="#screen">Skip to the screen</a>
    <nav class="menu" aria-label="Screens">
      <a class="brand" href=${to("")}><span class="mark"><${Icon} name="ok" size=${14} /></span><b>Remit</b>
        <span class="workspace" title="Workspace">${session.value.workspace}</span></a>
      <ul>${screens.map(
        (each) => html`<li class=${each.apart ? "apart" : ""} key=${each.path}>
        <a href=${to(each.path)} aria-current=${each.name === here?.name ? "page" : undefined}>
          <${Icon} name=${each.path || "overview"} />${each.name}
          ${each.path === "approvals" && pendingCount.value > 0 && html`<span class="badge" aria-label="${pendingCount.value} wait">${pendingCount.value}</span>`}
        </a></li>`,
      )}</ul>
      <${Later} load=${account} name="Account" /><${KeyPresses} screens=${screens} />
    </nav>
    <main class="stage" id="screen" tabindex="-1">
      ${
        here
          ? html`<${Titled} key=${`${here.path}/${second ?? ""}`} name=${moduleOf(here.path, second)} title=${here.name} id=${second} />`
          : html`<${Later} load=${() => import("./parts/problem.js")} name="Lost" screen=${SCREENS.find((each) => each.path === first)} />`
      }
    </main><${Trouble} />
    ${signedOut.value && html`<${Later} load=${form} name="SignIn" over />`}
    ${shortcutsShown.value && html`<${Later} load=${() => import("./parts/shortcuts.js")} name="Shortcuts" screens=${screens} />`}
  </div>`;
}

/** The screen, and the title of the tab. @param {{name: string, title: string, id?: string}} props */
function Titled({ name, title, id }) {
  useEffect(() => {
    const count = pendingCount.value;
    document.title = `${count ? `(${count}) ` : ""}${title} · Remit`;
  }, [title, pendingCount.value]);
  return html`<${Later} load=${() => import(`./screens/${name}.js`)} name="Screen" id=${id} />`;
}

/** Why something could not be read, or a link did not sign in. @param {{next?: string}} props */
function Trouble({ next = "What you see may be old." }) {
  const why = trouble.value || stale.value;
  return (
    (why &&
      html`<div class="bar" role="alert"><${Icon} name="alert" /><p><b><${Text} value=${why} />.</b> ${next}</p></div>`) ||
    (session.value &&
      refusedLink.value &&
      html`<div class="bar" role="alert"><${Icon} name="alert" /><p><b><${Text} value=${refusedLink.value} /></b> You are signed in as before.</p>
        <button type="button" onClick=${() => (refusedLink.value = "")}>Close</button></div>`)
  );
}

async function start() {
  // The code of a link that signs in is in the fragment, which no proxy and no log sees.
  const code = place.value.path === `${HOME}/sign-in` ? location.hash.slice(1) : "";
  if (code) {
    go(HOME, { replace: true });
    await redeem(code);
  }
  for (let failures = 0; !asked.value; failures++) {
    await whoAmI().catch(async (error) => {
      trouble.value ||= error.message;
      await pause(Math.min(30_000, 1000 * 2 ** failures));
    });
  }
}

const root = document.getElementById("app");
if (root) {
  start();
  render(html`<${Shell} />`, root);
}
