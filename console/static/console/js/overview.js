// The first page: its parts change in place. What needs a person keeps its place: entries that are
// settled stay, greyed, and new ones come in at the end, until the reader leaves.
import { coalesced, fetchPart, put } from "./parts.js";
import { live } from "./live.js";

const LEAST_MS = 3000;
const EVERY_MS = 10000; // ages and the hour go on without any event

export function attachOverview(element) {
  const refresh = coalesced(async () => {
    const fetched = await fetchPart(element.dataset.parts);
    for (const fresh of [...fetched.body.children]) {
      const old = fresh.id && document.getElementById(fresh.id);
      if (!old) continue;
      const [kept, list] = [old.querySelector("[data-keeps]"), fresh.querySelector("[data-keeps]")];
      if (!kept) {
        put(old, fresh);
        continue;
      }
      keepPlaces(kept, list);
      tellMore(old, fresh);
    }
  }, LEAST_MS);

  live.watch(element, { moved: refresh, others: refresh, reviews: refresh });
  const timer = window.setInterval(() => {
    if (!element.isConnected) window.clearInterval(timer);
    else if (!document.hidden) refresh();
  }, EVERY_MS);
}

/** How many more wait is true of now, also where the entries keep their places. */
function tellMore(old, fresh) {
  const [before, now] = [old.querySelector(".need-more"), fresh.querySelector(".need-more")];
  if (before && now) put(before, now);
  else if (now) old.append(document.adoptNode(now));
  else before?.remove();
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
