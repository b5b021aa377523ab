// A part that is loaded when it is first shown.
import { html, useEffect, useState } from "../vendor/preact.js";

/** load: imports the module that exports `name`. @param {{load: () => Promise<any>, name: string, [prop: string]: any}} props */
export function Later({ load, name, ...props }) {
  const [part, setPart] = useState(/** @type {Function | null} */ (null));
  useEffect(() => { load().then((found) => setPart(() => found[name])); }, []);
  return part && html`<${part} ...${props} />`;
}
