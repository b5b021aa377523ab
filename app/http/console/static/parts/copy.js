import { Icon } from "../icons.js";
import { html, useState } from "../vendor/preact.js";

/** Copy text, and say so for a moment. @param {{text: string | (() => string), label: string, class?: string}} props */
export function CopyButton({ text, label, class: name = "quiet" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class=${name} onClick=${copy}><${Icon} name=${done ? "ok" : "copy"} size=${14} /><span aria-live="polite">${done ? "Copied" : label}</span></button>`;
}

/** Give the person a file. @param {string} name @param {string} text */
export function save(name, text) {
  const link = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(new Blob([text])),
    download: name,
  });
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The same request for a shell. @param {string} method @param {string} path @param {string} [body] */
export function curl(method, path, body) {
  const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`;
  const what = method === "GET" ? "" : ` -X ${method}`;
  const data = body === undefined ? "" : ` -H 'Content-Type: application/json' -d ${quoted(body)}`;
  return `curl -s${what} ${quoted(location.origin + path)} -H "Authorization: Bearer $REMIT_API_KEY"${data}`;
}
