// One event: arrows go to its neighbours, its payload can be copied and unwrapped, and what answers
// it appears as a link once it is there.
import { coalesced, fetchPart, put } from "./parts.js";
import { live } from "./live.js";
import { toast } from "./toast.js";

const KEYS = { ArrowLeft: "previous", h: "previous", k: "previous", ArrowRight: "next", l: "next", j: "next" };

export function attachEvent(element) {
  const known = () => ({ [element.dataset.task]: Number(element.dataset.seq) });
  const look = coalesced(async () => {
    const fetched = await fetchPart(element.dataset.around);
    const [old, fresh] = [document.getElementById("event-around"), fetched.getElementById("event-around")];
    if (old && fresh) put(old, fresh);
  });
  live.watch(element, { tasks: known, moved: look });
  for (const button of element.querySelectorAll("[data-wrap]")) attachWrap(button);
  for (const button of element.querySelectorAll("[data-copy-text]")) attachCopyText(button);
  const press = (event) => {
    if (!element.isConnected) document.removeEventListener("keydown", press);
    else go(element, event);
  };
  document.addEventListener("keydown", press);
}

function go(element, event) {
  const way = KEYS[event.key];
  if (!way || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  // Letters can be switched off; arrows inside a payload scroll it.
  if (event.key.length === 1 && element.dataset.shortcuts === "off") return;
  if (event.target.closest("input, textarea, select, pre, [contenteditable], dialog[open]")) return;
  const link = element.querySelector(`[data-${way}]`);
  if (!link) return;
  event.preventDefault();
  link.click();
}

function attachWrap(button) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const isWrapped = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isWrapped));
    document.getElementById(button.dataset.wrap).classList.toggle("is-unwrapped", !isWrapped);
  });
}

function attachCopyText(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const shown = document.getElementById(button.dataset.copyText);
    try {
      await navigator.clipboard.writeText(shown.textContent);
      toast(button.dataset.said);
    } catch {
      // No right to the clipboard: select it, so that it can be taken by hand.
      window.getSelection().selectAllChildren(shown);
    }
  });
}
