// Fetches parts of pages and puts them in place of the old ones, without touching what a hand holds.
import { live } from "./live.js";

const SOON_MS = 30;
const AGAIN_MS = 4000; // after a failure a part is asked for again, also if no hint comes

/**
 * Fetch a part; a session that has ended leads to the sign-in page. What it throws says with isFinal
 * whether asking again could help.
 */
export async function fetchPart(url) {
  const [path] = url.split("?");
  try {
    const found = await asked(url);
    live.find(path);
    return found;
  } catch (error) {
    error.isFinal ??= false; // nobody answered
    if (error.isFinal) live.find(path);
    else live.lose(path);
    throw error;
  }
}

async function asked(url) {
  const headers = { "HX-Request": "true", ...(live.mark && { "Signalbox-Mark": live.mark }) };
  const answer = await fetch(url, { headers, cache: "no-store" });
  const elsewhere = answer.headers.get("HX-Redirect");
  if (elsewhere) {
    window.location.assign(elsewhere);
    throw refusal("signed out", true);
  }
  if (!answer.ok) throw refusal(`the server answered ${answer.status}`, answer.status < 500);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** What asking again would not help against is final. */
function refusal(said, isFinal) {
  return Object.assign(new Error(said), { isFinal });
}

/**
 * Put a fresh element in place of an old one. Around the focus only what differs is changed; a field
 * that somebody types in is left alone; a link or button that changed keeps the focus.
 */
export function put(old, fresh) {
  if (old.isEqualNode(fresh)) return old;
  const focus = document.activeElement;
  if (focus === document.body || !old.contains(focus)) return replace(old, fresh);
  if (focus.matches("input:not([type=checkbox]), textarea, select")) return old;
  const [mine, theirs] = [[...old.children], [...fresh.children]];
  if (old !== focus && old.tagName === fresh.tagName && mine.length === theirs.length) {
    copyAttributes(old, fresh);
    mine.forEach((child, at) => put(child, theirs[at]));
    return old;
  }
  const taken = replace(old, fresh);
  (counterpart(taken, focus) ?? taken).focus({ preventScroll: true });
  return taken;
}

function replace(old, fresh) {
  keepOpen(old, fresh);
  const taken = document.adoptNode(fresh);
  old.replaceWith(taken);
  window.htmx?.process(taken);
  taken.dispatchEvent(new CustomEvent("signalbox:fresh", { bubbles: true }));
  return taken;
}

/** Find what took the place of the element that had the focus. */
function counterpart(root, focus) {
  const focusable = "a[href], button, summary, [tabindex]";
  const found = [...(root.matches(focusable) ? [root] : []), ...root.querySelectorAll(focusable)];
  const same = (one) => one.textContent === focus.textContent;
  return found.find(same) ?? found[0];
}

/** Put every child of a fetched document that has an id in place of the one with that id. */
export function putAll(fetched) {
  for (const fresh of [...fetched.body.children]) {
    const old = fresh.id && document.getElementById(fresh.id);
    if (old) put(old, fresh);
  }
}

function keepOpen(old, fresh) {
  for (const kept of fresh.querySelectorAll("details[data-keep]")) {
    const before = old.querySelector(`details[data-keep="${CSS.escape(kept.dataset.keep)}"]`);
    if (before) kept.open = before.open;
  }
}

function copyAttributes(old, fresh) {
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

/**
 * Call something soon, once for many requests, and rest after it: as long as was asked, and twice as
 * long as it took, so that a page that cannot keep up asks less often by itself.
 */
export function coalesced(work, least = 400) {
  let [waiting, running, again, rested] = [0, false, false, 0];
  const run = async () => {
    waiting = 0;
    running = true;
    const began = performance.now();
    let shortest = least;
    try {
      await work();
    } catch (error) {
      // The page says meanwhile that it is not live; many pages do not come back at one moment.
      again ||= error.isFinal === false;
      // A mistake in a script of ours: the next time it would be made again, so it is only told.
      if (error.isFinal === undefined) window.reportError(error);
      shortest = AGAIN_MS * (0.75 + Math.random() / 2);
    }
    running = false;
    const ended = performance.now();
    rested = ended + Math.max(shortest, 2 * (ended - began));
    if (again) ask();
  };
  const ask = () => {
    again = running;
    if (running || waiting) return;
    waiting = window.setTimeout(run, Math.max(SOON_MS, rested - performance.now()));
  };
  return ask;
}

/** Mark an element as changed just now. */
export function light(element) {
  element.classList.add("has-moved");
  element.addEventListener("animationend", () => element.classList.remove("has-moved"), { once: true });
}
