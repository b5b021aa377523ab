// The address is the state: screen, filters, selection and open drawer.
import { computed, signal } from "./vendor/preact.js";

export const HOME = "/console";

function read() {
  return { path: location.pathname.replace(/\/+$/, "") || HOME, query: new URLSearchParams(location.search) };
}

export const place = signal(read());

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  } // what is no code is what it is
}

/** The parts of the path below /console: `["agents", "refund-bot"]`. */
export const parts = computed(() => place.value.path.slice(HOME.length).split("/").filter(Boolean).map(decoded));

addEventListener("popstate", () => {
  place.value = read();
});

/** Go to an address below /console. @param {string} href @param {{replace?: boolean}} [how] */
export function go(href, how = {}) {
  if (new URL(href, location.href).href === location.href) return;
  history[how.replace ? "replaceState" : "pushState"](null, "", href);
  place.value = read();
}

/** The value of a parameter of the address, "" without one. @param {string} name */
export const param = (name) => place.value.query.get(name) ?? "";

/** Set parameters of the address; null and "" remove one. @param {Record<string, string | null>} changes @param {{replace?: boolean}} [how] */
export function setParams(changes, how = { replace: true }) {
  go(address(place.value.path, { ...Object.fromEntries(place.value.query), ...changes }), how);
}

/** An address with those parameters that have a value. @param {string} path @param {Record<string, string | number | boolean | null | undefined>} [query] */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

/** An address below /console. @param {string} screen @param {Record<string, string | null | undefined>} [query] */
export const to = (screen, query) => address(screen ? `${HOME}/${screen}` : HOME, query);

// Links of the console change the address without loading the page again.
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  if (link.pathname === `${HOME}/sign-in`) return; // leads to the identity provider
  if (link.pathname !== HOME && !link.pathname.startsWith(`${HOME}/`)) return;
  event.preventDefault();
  go(link.href);
});
