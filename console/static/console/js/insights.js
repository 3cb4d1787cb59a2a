// The charts are drawn anew now and then, never under a hand: who points at them, reads a table of
// theirs with the keyboard or has marked a part of them sees them stay.
import { fetchPart, put } from "./parts.js";

const LOOK_MS = 1000;
const HAND_MS = 8000; // a hand that has not moved for so long rests
const AGAIN_MS = 10000;

export function attachInsights(element) {
  const everyMs = Number(element.dataset.every) * 1000;
  let [due, touched, isAsking] = [performance.now() + everyMs, -HAND_MS, false];
  const touch = () => (touched = performance.now());
  for (const name of ["pointermove", "pointerdown", "wheel", "keydown", "scroll"]) {
    element.addEventListener(name, touch, { passive: true, capture: true });
  }
  const look = async () => {
    if (document.hidden || isAsking || performance.now() < due || isHeld(element, touched)) return;
    isAsking = true;
    const isDone = await drawn(element, touched, () => touched);
    due = performance.now() + (isDone ? everyMs : AGAIN_MS);
    isAsking = false;
  };
  const timer = window.setInterval(() => (element.isConnected ? look() : window.clearInterval(timer)), LOOK_MS);
}

function isHeld(element, touched) {
  const focus = document.activeElement;
  if (performance.now() - touched < HAND_MS) return true;
  if (element.contains(focus) && focus.closest(".scroll-x")) return true;
  const marked = window.getSelection();
  return !marked.isCollapsed && element.contains(marked.anchorNode);
}

/** Fetch the parts and put them in; tells whether they came and nobody touched the old ones meanwhile. */
async function drawn(element, before, touched) {
  const failed = element.querySelector("[data-failed]");
  try {
    const fetched = await fetchPart(element.dataset.parts);
    failed.hidden = true;
    failed.textContent = "";
    if (touched() !== before) return false;
    for (const fresh of [...fetched.querySelectorAll("[data-part]")]) keepingScroll(fresh);
    return true;
  } catch {
    failed.hidden = false;
    failed.textContent = failed.dataset.said;
    return false;
  }
}

function keepingScroll(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old) return;
  const tops = [...old.querySelectorAll(".scroll-x")].map((one) => one.scrollTop);
  const tables = put(old, fresh).querySelectorAll(".scroll-x");
  tops.forEach((top, at) => tables[at] && (tables[at].scrollTop = top));
}
