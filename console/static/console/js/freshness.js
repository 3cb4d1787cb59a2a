// How fresh the page is: "Live · 0.4 s ago", "Reconnecting…", "Paused".
import { live } from "./live.js";
import { word } from "./words.js";

const STALE_MS = 30000;

export function attachFreshness(element) {
  const words = element.querySelector("[data-words]");
  const show = () => {
    // Hints may come while what they are about does not: such a page is not live.
    const state = live.state === "live" && live.lostAt ? "away" : live.state;
    const age = performance.now() - (live.lostAt || live.heardAt);
    element.dataset.state = state;
    words.textContent = say(state, age);
    document.documentElement.classList.toggle("is-stale", state !== "live" && age > STALE_MS);
  };
  live.listen(show);
  const timer = window.setInterval(() => (element.isConnected ? show() : window.clearInterval(timer)), 500);
}

function say(state, age) {
  if (state === "live") return word("live", { number: (age / 1000).toFixed(1) });
  if (state === "away") return word("away", { number: Math.round(age / 1000) });
  return word(state === "paused" ? "paused" : "off");
}
