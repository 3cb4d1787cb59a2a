// The list: rows change in place and never move; new tasks wait behind "N new – show", and tasks that
// left the view stay where they are, greyed, until the list is shown anew.
import { coalesced, fetchPart, light, put, putAll } from "./parts.js";
import { keepSelected, attachSelection } from "./task-select.js";
import { attachRowKeys } from "./task-keys.js";
import { live } from "./live.js";

const NEWS_MS = 2000;

export function attachList(element) {
  const wanted = new Set();
  const rows = () => [...element.querySelectorAll("tr[data-task]")];
  const known = () => Object.fromEntries(rows().map((row) => [row.dataset.task, Number(row.dataset.seq)]));

  const refreshRows = coalesced(async () => {
    // In one order, so that pages which ask for the same are seen to.
    const ids = [...wanted].filter((id) => document.getElementById(`task-${id}`)).sort();
    wanted.clear();
    if (!ids.length) return live.find(element.dataset.rows); // what failed has left the page
    const query = address();
    for (const id of ids) query.append("id", id);
    const fetched = await fetchPart(`${element.dataset.rows}?${query}`).catch((error) => {
      for (const id of ids) wanted.add(id);
      throw error;
    });
    const gone = rows().filter(isGone).length;
    for (const fresh of [...fetched.querySelectorAll("tr[data-task]")]) putRow(fresh);
    if (rows().filter(isGone).length !== gone) refreshNews();
  });
  const refreshNews = coalesced(async () => {
    const query = address();
    query.set("newest", element.dataset.newest);
    query.set("left", String(rows().filter(isGone).length));
    putAll(await fetchPart(`${element.dataset.news}?${query}`));
  }, NEWS_MS);

  live.watch(element, {
    tasks: known,
    moved(ids) {
      for (const id of ids) wanted.add(id);
      refreshRows();
    },
    others: refreshNews,
  });
  element.addEventListener("htmx:afterSwap", () => live.say());
  attachSelection(element);
  attachRowKeys(element);
}

// Something was done to many: the rows say so now, not only when the hints come.
document.body.addEventListener("signalbox:acted", () => live.poke());

function address() {
  const query = new URLSearchParams(window.location.search);
  for (const name of ["id", "cursor", "before", "newest", "left"]) query.delete(name);
  return query;
}

function isGone(row) {
  return row.classList.contains("is-gone");
}

function putRow(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old || Number(old.dataset.seq) > Number(fresh.dataset.seq)) return;
  const moved = old.dataset.seq !== fresh.dataset.seq;
  keepSelected(old, fresh);
  const row = put(old, fresh);
  if (moved) light(row);
}
