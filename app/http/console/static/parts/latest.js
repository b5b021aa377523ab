// What somebody else has made of a policy meanwhile: what they changed is said, and the next press is on their version.
import { get, Refused } from "../api.js";
import { written } from "../draft.js";
import { html, useState } from "../vendor/preact.js";
import { Diff } from "./diff.js";

/** The policy as it was last read; what reads it again after a refusal, which it passes on; and what others have changed, to be shown.
 * @param {Policy} given @returns {[Policy, (error: unknown) => Promise<never>, any]} */
export function useLatest(given) {
  const [policy, setPolicy] = useState(given);
  const again = async (/** @type {unknown} */ error) => {
    if (error instanceof Refused && error.status === 412) setPolicy((await get(`/v1/policies/${given.id}`)).data);
    throw error;
  };
  const [was, is] = [given, policy].map((each) => ({ ...written(each), managedBy: each.managedBy ?? undefined }));
  return [
    policy,
    again,
    policy !== given &&
      html`<p class="note">Somebody else saved version ${policy.version} meanwhile, with these changes. The next press is on that version.</p><${Diff} before=${was} after=${is} />`,
  ];
}
