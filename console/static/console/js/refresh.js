// A part that is fetched again when anything moves. Entries that are gone stay, greyed, until the
// reader leaves: nothing vanishes under the hand.
import { coalesced, fetchPart, put } from "./parts.js";
import { live } from "./live.js";

const LEAST_MS = 2000;

export function attachRefresh(element) {
  const refresh = coalesced(async () => {
    const fetched = await fetchPart(element.dataset.refresh);
    const [old, fresh] = [element.querySelector("ul.review-rows"), fetched.querySelector("ul.review-rows")];
    if (old) await tellEnds(element.dataset.refresh, keepPlaces(old, fresh));
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

/** Put the fresh entries in; give those that are gone and not told of yet. */
function keepPlaces(list, fresh) {
  const present = new Set();
  for (const entry of [...(fresh?.children ?? [])]) {
    present.add(entry.id);
    const old = document.getElementById(entry.id);
    if (old) put(old, entry);
    else list.append(document.adoptNode(entry));
  }
  for (const entry of list.children) entry.classList.toggle("is-gone", !present.has(entry.id));
  return [...list.children].filter((entry) => !present.has(entry.id) && !entry.querySelector(".settled"));
}

/** Say beside each entry that is gone how it ended, and who decided. */
async function tellEnds(url, entries) {
  if (!entries.length) return;
  const ids = entries.map((entry) => ["gone", entry.id.replace(/^review-/, "")]);
  const fetched = await fetchPart(`${url}?${new URLSearchParams(ids)}`);
  for (const end of fetched.querySelectorAll("[data-gone]")) {
    const entry = document.getElementById(end.dataset.gone);
    if (!entry || !end.textContent) continue;
    const told = document.createElement("p");
    told.className = "settled";
    told.append(...document.adoptNode(end).childNodes);
    entry.querySelector(".review-what")?.append(told);
  }
}
