// Ages go on by the server's clock, in the words the server uses (console/pages/words.py).
import { live } from "./live.js";

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"]];
const shown = new Set();

export function attachAge(element) {
  shown.add(element);
}

export function words(seconds) {
  if (seconds < 1) return "now";
  for (const [size, unit] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  return `${Math.floor(seconds)} s`;
}

function tick() {
  for (const element of shown) {
    if (!element.isConnected) {
      shown.delete(element);
      continue;
    }
    const then = Date.parse(element.dateTime);
    if (Number.isNaN(then)) continue;
    const text = words(Math.abs(live.now() - then) / 1000);
    if (element.textContent !== text) element.textContent = text;
  }
}

window.setInterval(tick, 1000);
