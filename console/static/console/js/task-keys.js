// Keys of the list; see console/pages/keys.py for their words. The focus moves over the rows' links,
// so that Enter opens what is focused without a script.
import { onKey } from "./keys.js";

export function attachRowKeys(element) {
  const links = () => [...element.querySelectorAll("a.row-link")];
  const here = () => document.activeElement.closest?.("tr[data-task]");
  const go = (step) => {
    const all = links();
    const row = here();
    const at = all.findIndex((link) => row?.contains(link));
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
    next?.focus();
  };
  const tell = (target, name, detail = {}) =>
    target?.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));

  onKey(element, {
    j: () => go(1),
    k: () => go(-1),
    x: () => tell(here(), "signalbox:select"),
    X: () => tell(here(), "signalbox:select", { range: true }),
    a: () => element.closest("form")?.querySelector("[data-bulk-bar].is-on button")?.focus({ preventScroll: true }),
    u: () => tell(element, "signalbox:select-none"),
    h: () => element.querySelector("[data-page=before]")?.click(),
    l: () => element.querySelector("[data-page=next]")?.click(),
    ".": () => document.querySelector("#news a")?.click(),
  });
}
