// How many reviews wait, beside their page's name and in the title of the tab.
import { live } from "./live.js";

export function attachBadge(element) {
  const number = element.querySelector("[data-number]");
  const title = document.title.replace(/^\(\d+\) /, "");
  live.watch(element, {
    reviews(count) {
      number.textContent = String(count);
      element.hidden = count === 0;
      document.title = count ? `(${count}) ${title}` : title;
    },
  });
}
