// A dialog over the page, as long as it is drawn.
import { useLayoutEffect, useRef } from "../vendor/preact.js";

/** The reference of a dialog that opens as it is drawn. As it goes, the focus is where it was before: not earlier, because the
 * page behind an open dialog takes none. */
export function useModal() {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return dialog;
}
