// Says what happened, and what went wrong between here and the server, with a way to try again.
import { word } from "./words.js";

const SHOWN_MS = 6000;

export function toast(said, retry = null) {
  const element = document.createElement("div");
  element.className = "toast";
  const words = document.createElement("span");
  words.textContent = said;
  element.append(words);
  // What asks for an action stays until it is taken; what only tells goes by itself.
  element.append(retry ? button(word("try again"), () => retry()) : "", button(word("close")));
  // What lies behind an open dialog cannot be reached: then it is said inside.
  const place = document.querySelector("dialog[open] [data-toasts]") ?? document.getElementById("toasts");
  place.replaceChildren(element);
  if (!retry) window.setTimeout(() => element.remove(), SHOWN_MS);

  function button(label, then = () => {}) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", () => {
      element.remove();
      then();
    });
    return made;
  }
}

export function watchRequests() {
  const again = (source) => () => (source.tagName === "FORM" ? source.requestSubmit() : source.click());
  document.body.addEventListener("htmx:responseError", (event) => {
    const { xhr, elt } = event.detail;
    if (xhr.status === 401) return;
    if (xhr.status === 403) toast(word("not allowed"));
    else if (xhr.status === 404) toast(word("nothing there"));
    else toast(word("server failed", { status: xhr.status }), again(elt));
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.body.addEventListener(name, (event) => {
      toast(word("no answer"), again(event.detail.elt));
    });
  }
}
