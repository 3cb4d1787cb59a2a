// How many reviews wait, beside their page's name and in the title of the tab.
import { live } from "./live.js";

export function attachBadge(element) {
  const number = element.querySelector("[data-number]");
  const title = document.title.replace(/^\(\d+\) /, "");
  live.watch(element, {
    reviews(count) {
      number.textContent = String(count);
      element.hidden = count === 0;
      element.classList.remove("is-unknown");
      element.removeAttribute("title");
      document.title = count ? `(${count}) ${title}` : title;
    },
  });
}
