// A button that does one thing at a time.
import { html, useRef, useState } from "../vendor/preact.js";

/** A press while the act is under way does nothing; the button keeps the focus. failed: told of an error, and of null at the start.
 * @param {{act: () => Promise<unknown>, failed: (error: unknown) => void, children: any, [prop: string]: any}} props */
export function Action({ act, failed, children, ...rest }) {
  const under = useRef(false);
  const [busy, setBusy] = useState(false);
  const press = async () => {
    if (under.current) return;
    under.current = true;
    setBusy(true);
    failed(null);
    try {
      await act();
    } catch (error) {
      failed(error);
    }
    under.current = false;
    setBusy(false);
  };
  return html`<button type="button" ...${rest} aria-disabled=${busy} onClick=${press}>${children}</button>`;
}
