// Runs before the first paint, so that no page flashes in the other theme.
document.documentElement.dataset.theme = localStorage.getItem("remit.theme") ?? "system";
// Who is there is asked while the modules load, unless a link says it; again, if another tab says that it has changed.
globalThis.early = location.hash ? undefined : fetch("/v1/session", { cache: "no-store" });
globalThis.early?.catch(() => {});
new BroadcastChannel("remit.session").onmessage = () => {
  globalThis.early = undefined;
};
