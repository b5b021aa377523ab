// Which policies govern an agent.
import { agents, policies } from "./names.js";

/** Its own policies, those of its groups, and those of the workspace; none while they are not known.
 * @param {string} id @param {string[]} [groups] its groups, if they are known */
export const governing = (id, groups = agents.find(id)?.groups ?? []) =>
  [...(policies.all?.values() ?? [])].filter((each) =>
    each.agentId ? each.agentId === id : !each.group || groups.includes(each.group),
  );
