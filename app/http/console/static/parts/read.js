// Data of a screen: read, kept while it is read again, and marked old when it cannot be.
import { noteStale, pause, Refused, whenSeen } from "../api.js";
import { useCallback, useEffect, useRef, useState } from "../vendor/preact.js";

/** @template T @typedef {{data: T | undefined, error: unknown, slow: boolean, reload: () => void}} Reading */

/** Read when the key changes, and when the person comes back to the page, unless `once`. What was there stays until the
 * answer is; a fault of the network is tried again.
 * @template T @param {string} key @param {(signal: AbortSignal) => Promise<T>} read @param {{once?: boolean}} [how] @returns {Reading<T>} */
export function useRead(key, read, { once = false } = {}) {
  const [state, setState] = useState(
    /** @type {{key: string, data?: T, error?: unknown, slow: boolean}} */ ({ key, slow: false }),
  );
  const [turn, setTurn] = useState(0);
  const has = useRef("");
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const stop = new AbortController();
    const slow = setTimeout(() => setState((before) => ({ ...before, slow: true })), 150);
    setState((before) => ({ ...before, data: before.key === key ? before.data : undefined, key, error: undefined }));
    const attempt = async () => {
      for (let failures = 0; !stop.signal.aborted; failures++) {
        try {
          const data = await latest.current(stop.signal);
          if (stop.signal.aborted) return;
          has.current = key;
          noteStale(key);
          setState({ key, data, slow: false });
          return;
        } catch (error) {
          if (stop.signal.aborted) return;
          if (has.current === key) noteStale(key, error);
          setState((before) => ({ ...before, error, slow: false }));
          if (!(error instanceof Refused) || (error.status && error.status !== 503)) return;
          await pause(Math.min(30_000, 1000 * 2 ** failures), stop.signal);
        }
      }
    };
    attempt().finally(() => clearTimeout(slow));
    return () => {
      stop.abort();
      clearTimeout(slow);
    };
  }, [key, turn]);
  useEffect(() => () => noteStale(key), [key]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  useEffect(() => (once ? undefined : whenSeen(reload)), []);
  const current = state.key === key;
  return {
    data: current ? state.data : undefined,
    error: current ? state.error : undefined,
    slow: current && state.slow,
    reload,
  };
}
