// Copies an id that is shown shortened.
import { word } from "./words.js";

export function attachCopy(element) {
  element.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(element.dataset.copy);
    } catch {
      // No right to the clipboard: show the whole, so that it can be selected.
      element.textContent = element.dataset.copy;
      return;
    }
    element.dataset.said = word("copied");
    element.classList.add("is-copied");
    window.setTimeout(() => element.classList.remove("is-copied"), 1500);
  });
}
