// Says what happened, and what went wrong between here and the server, with a way to try again.
const SHOWN_MS = 6000;

export function toast(said, retry = null) {
  const element = document.createElement("div");
  element.className = "toast";
  const words = document.createElement("span");
  words.textContent = said;
  element.append(words);
  // What asks for an action stays until it is taken; what only tells goes by itself.
  element.append(retry ? button("Try again", () => retry()) : "", button("Close"));
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
    if (xhr.status === 403) toast("Your account may not do this.");
    else if (xhr.status === 404) toast("There is nothing at this address any more.");
    else toast(`The server failed (${xhr.status}). What you sent may not have been done.`, again(elt));
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.body.addEventListener(name, (event) => {
      toast("The server does not answer. What you sent may not have been done.", again(event.detail.elt));
    });
  }
}
