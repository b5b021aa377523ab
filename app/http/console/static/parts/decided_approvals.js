// Approvals that do not wait any more.
import { all } from "../api.js";
import { approvals } from "../approvals_feed.js";
import { agents } from "../names.js";
import { param, setParams } from "../url.js";
import { html } from "../vendor/preact.js";
import { ApprovalCard } from "./approval_card.js";
import { FilterField } from "./entries.js";
import { Empty, Problem, Skeleton } from "./loading.js";
import { useRead } from "./read.js";

/** @param {{status: string}} props */
export function History({ status }) {
  const [agent, tool] = [param("agent"), param("tool")];
  const read = useRead(`approvals ${status} ${agent} ${tool}`, () =>
    all("/v1/approvals", { status, agent_id: agent, tool_name: tool, limit: 100 }, 200),
  );
  return html`<div class="chips">${
    agents.all &&
    html`<select aria-label="Agent" data-filter value=${agent} onChange=${(/** @type {any} */ event) => setParams({ agent: event.target.value })}><option value="">Every agent</option>
      ${[...agents.all.values()].sort((a, b) => a.name.localeCompare(b.name)).map((each) => html`<option value=${each.id}>${each.name}</option>`)}</select>`
  }
    <${FilterField} name="tool" value=${tool} aria-label="Tool" placeholder="Every tool" /></div>
    ${
      !read.data
        ? read.error
          ? html`<${Problem} error=${read.error} retry=${read.reload} />`
          : html`<${Skeleton} />`
        : !read.data.length
          ? html`<${Empty} title=${agent || tool ? "Nothing matches" : `None is ${status}`} icon="approvals" />`
          : html`<div class="cards">${read.data.map((/** @type {Approval} */ each) => html`<${ApprovalCard} key=${each.id} approval=${approvals.value.get(each.id) ?? each} withdraws />`)}</div>`
    }`;
}
