// The start: who is there, then the shell.
import { session, signIn, whoAmI } from "./session.js";
import { Shell } from "./shell.js";
import { go, HOME, place } from "./url.js";
import { html, render } from "./vendor/preact.js";

async function start() {
  // The code of a link that signs in is in the fragment, which no proxy and no log sees.
  const code = place.value.path === `${HOME}/sign-in` ? location.hash.slice(1) : "";
  if (code) {
    go(HOME, { replace: true });
    await signIn({ code }).catch(() => {});
  }
  if (!session.value) await whoAmI().catch(() => {});
}

const root = document.getElementById("app");
if (root) render(html`<${Shell} started=${start()} />`, root);
