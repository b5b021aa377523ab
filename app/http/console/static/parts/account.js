// Who is there, the theme, and help.
import { Icon } from "../icons.js";
import { searchShown, shortcutsShown } from "../keys.js";
import { session, signOut } from "../session.js";
import { html, useState } from "../vendor/preact.js";
import { Action } from "./action.js";
import { Problem } from "./loading.js";
import { Text } from "./text.js";

const THEMES = ["system", "light", "dark"];

/** The foot of the menu: who is there, the theme, and help. */
export function Account() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "system");
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const who = session.value;
  if (!who) return null;
  const turn = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    document.documentElement.dataset.theme = next;
    localStorage.setItem("remit.theme", next);
    setTheme(next);
  };
  return html`<div class="account">
    <div class="tools">
      <button type="button" class="quiet square" onClick=${() => {
        searchShown.value = true;
      }} title="Search everything (/)" aria-label="Search everything"><${Icon} name="search" /></button>
      <button type="button" class="quiet square" onClick=${turn} title=${`Theme: ${theme}`} aria-label=${`Theme: ${theme}`}><${Icon} name=${theme} /></button>
      <button type="button" class="quiet square" onClick=${() => {
        shortcutsShown.value = true;
      }} title="Shortcuts (?)" aria-label="Shortcuts">?</button>
      <a class="quiet square" href="/docs" target="_blank" rel="noopener" title="API documentation" aria-label="API documentation"><${Icon} name="book" /></a>
    </div>
    <details class="who"><summary><${Icon} name="user" /><span class="name"><${Text} value=${who.name || "signed in"} /></span></summary>
      <p class="small muted">${who.scopes.join(", ")}${who.until ? html`<br />until ${who.until.slice(0, 16).replace("T", " ")} UTC` : ""}</p>
      <${Action} class="wide" act=${signOut} failed=${setFailed}>Sign out<//><${Problem} error=${failed} /></details>
  </div>`;
}
