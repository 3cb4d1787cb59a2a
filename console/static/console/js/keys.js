// Single keys, for those who want them: never in a field, never behind a dialog, never with a
// modifier, and not at all where the account has switched them off.
const PLACES = { o: "/", t: "/tasks/", r: "/reviews/", w: "/workers/", i: "/insights/", a: "/agents/", n: "/new/", s: "/settings/" };
const CHORD_MS = 1500;
const owners = new Map(); // element → what its keys do
const NEVER = -CHORD_MS; // 0 is when the page began: its first keys would all end a chord
let began = NEVER;

/** Have keys do something while an element is on the page. */
export function onKey(element, keys) {
  owners.set(element, keys);
}

export function watchKeys() {
  if (document.body.dataset.shortcuts !== "on") return;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") leave(event);
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (act(event)) event.preventDefault();
  });
}

function leave(event) {
  if (document.querySelector("dialog[open]")) return;
  // Browsers empty a search field on Escape: that would be another search.
  event.preventDefault();
  event.target.blur();
}

function act(event) {
  const inChord = performance.now() - began < CHORD_MS;
  began = NEVER;
  if (inChord && PLACES[event.key]) return visit(PLACES[event.key]);
  if (event.key === "g") {
    began = performance.now();
    return true;
  }
  if (event.key === "/") return focus(document.querySelector("[data-search]"));
  if (event.key === "?") return help();
  return own(event);
}

function own(event) {
  for (const [element, keys] of owners) {
    if (!element.isConnected) owners.delete(element);
    else if (keys[event.key]) {
      keys[event.key](event);
      return true;
    }
  }
  return false;
}

function visit(place) {
  // Only where the navigation or the page leads: what is not there for somebody has no key either.
  const link = document.querySelector(`a[href="${place}"]`);
  link?.click();
  return Boolean(link);
}

function focus(field) {
  field?.focus();
  field?.select?.();
  return Boolean(field);
}

function help() {
  const dialog = document.getElementById("dialog");
  if (!dialog || !window.htmx) return false;
  window.htmx.ajax("GET", "/keys/", { target: "#dialog", swap: "innerHTML" });
  return true;
}

function isTyping(target) {
  if (target.isContentEditable || target.matches?.("textarea, select")) return true;
  return Boolean(target.matches?.("input:not([type=checkbox], [type=radio], [type=submit], [type=button])"));
}
