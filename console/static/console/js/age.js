// Ages go on by the server's clock, in the words the server uses (console/pages/words.py).
import { live } from "./live.js";
import { word } from "./words.js";

const UNITS = [[86400, "days"], [3600, "hours"], [60, "minutes"], [1, "seconds"]];
const shown = new Set();

export function attachAge(element) {
  shown.add(element);
}

export function words(seconds) {
  for (const [size, unit] of UNITS) if (seconds >= size) return word(unit, { number: Math.floor(seconds / size) });
  return word("now");
}

function tick() {
  for (const element of shown) {
    if (!element.isConnected) {
      shown.delete(element);
      continue;
    }
    const then = Date.parse(element.dateTime);
    if (Number.isNaN(then)) continue;
    const age = words(Math.abs(live.now() - then) / 1000);
    const text = element.dataset.phrase ? word(element.dataset.phrase, { age }) : age;
    if (element.textContent !== text) element.textContent = text;
  }
}

window.setInterval(tick, 1000);
