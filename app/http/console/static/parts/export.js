// The ways to take what is listed elsewhere.
import "../styles.js";
import { address } from "../url.js";
import { html } from "../vendor/preact.js";
import { CopyButton, curl } from "./copy.js";

/** @param {{filters: Record<string, string>}} props */
export function Export({ filters }) {
  return html`<div class="pop">
    ${["ndjson", "csv"].map((format) => html`<a download href=${address("/v1/audit-logs/export", { ...filters, format })}>${format === "csv" ? "CSV, for spreadsheets" : "NDJSON, exact"}</a>`)}
    <${CopyButton} label="Copy as curl" text=${() => curl("GET", address("/v1/audit-logs", filters))} /></div>`;
}
