// Fetches parts of pages and puts them in place of the old ones, without touching what a hand holds.

/** Fetch a part; a session that has ended leads to the sign-in page. */
export async function fetchPart(url) {
  const answer = await fetch(url, { headers: { "HX-Request": "true" }, cache: "no-store" });
  const elsewhere = answer.headers.get("HX-Redirect");
  if (elsewhere) {
    window.location.assign(elsewhere);
    throw new Error("signed out");
  }
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** Put a fresh element in place of an old one; the parts around the focus are changed, not it. */
export function put(old, fresh) {
  if (old.isEqualNode(fresh)) return old;
  if (!isHeld(old)) {
    keepOpen(old, fresh);
    const taken = document.adoptNode(fresh);
    old.replaceWith(taken);
    window.htmx?.process(taken);
    taken.dispatchEvent(new CustomEvent("signalbox:fresh", { bubbles: true }));
    return taken;
  }
  if (old === document.activeElement || old.tagName !== fresh.tagName) return old;
  copyAttributes(old, fresh);
  const [mine, theirs] = [[...old.children], [...fresh.children]];
  if (mine.length === theirs.length) mine.forEach((child, at) => put(child, theirs[at]));
  return old;
}

/** Put every child of a fetched document that has an id in place of the one with that id. */
export function putAll(fetched) {
  for (const fresh of [...fetched.body.children]) {
    const old = fresh.id && document.getElementById(fresh.id);
    if (old) put(old, fresh);
  }
}

function isHeld(element) {
  const focus = document.activeElement;
  return focus !== document.body && element.contains(focus);
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
 * Call something soon, once for many requests, and never faster than it answers: a page that cannot
 * keep up asks less often by itself.
 */
export function coalesced(work, least = 250) {
  let [waiting, running, again, pause] = [0, false, false, least];
  const run = async () => {
    waiting = 0;
    running = true;
    const began = performance.now();
    try {
      await work();
    } catch {
      // The next hint asks again, and the page says how old it is.
    }
    running = false;
    pause = Math.max(least, 2 * (performance.now() - began));
    if (again) {
      again = false;
      waiting = window.setTimeout(run, pause);
    }
  };
  return () => {
    if (running) again = true;
    else if (!waiting) waiting = window.setTimeout(run, 30);
  };
}

/** Mark an element as changed just now. */
export function light(element) {
  element.classList.add("has-moved");
  element.addEventListener("animationend", () => element.classList.remove("has-moved"), { once: true });
}
