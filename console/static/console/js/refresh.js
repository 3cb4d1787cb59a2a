// A part that is fetched again when anything moves. Entries that are gone stay, greyed, until the
// reader leaves: nothing vanishes under the hand.
import { coalesced, fetchPart, put } from "./parts.js";
import { live } from "./live.js";

const LEAST_MS = 2000;

export function attachRefresh(element) {
  const refresh = coalesced(async () => {
    const fetched = await fetchPart(element.dataset.refresh);
    const [old, fresh] = [element.querySelector("ul.review-rows"), fetched.querySelector("ul.review-rows")];
    if (old) keepPlaces(old, fresh);
    else for (const [at, child] of [...fetched.body.children].entries()) place(element, at, child);
  }, LEAST_MS);

  live.watch(element, { moved: refresh, others: refresh });
  const every = Number(element.dataset.every ?? 0) * 1000;
  if (!every) return;
  const timer = window.setInterval(() => {
    if (!element.isConnected) window.clearInterval(timer);
    else if (!document.hidden) refresh();
  }, every);
}

function place(element, at, child) {
  const old = element.children[at];
  if (old) put(old, child);
  else element.append(document.adoptNode(child));
}

function keepPlaces(list, fresh) {
  const present = new Set();
  for (const entry of [...(fresh?.children ?? [])]) {
    present.add(entry.id);
    const old = document.getElementById(entry.id);
    if (old) put(old, entry);
    else list.append(document.adoptNode(entry));
  }
  for (const entry of list.children) entry.classList.toggle("is-gone", !present.has(entry.id));
}
