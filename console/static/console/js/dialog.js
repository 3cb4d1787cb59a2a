// The one dialog of a page: filled by the server, closed by Escape, by its own button, or when done.
import { live } from "./live.js";
import { toast } from "./toast.js";

export function attachDialog(element) {
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "dialog" && !element.open) element.showModal();
  });
  document.body.addEventListener("signalbox:done", (event) => {
    element.close();
    toast(event.detail.said);
    live.poke();
  });
  element.addEventListener("click", (event) => {
    if (!event.target.closest("[data-close]")) return;
    event.preventDefault();
    element.close();
  });
  element.addEventListener("close", () => {
    element.querySelector("#dialog").replaceChildren();
    element.querySelector("[data-toasts]").replaceChildren();
  });
}
