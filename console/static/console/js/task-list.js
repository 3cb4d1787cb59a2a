// The list: rows change in place and never move; new tasks wait behind "N new – show".
import { coalesced, fetchPart, light, put, putAll } from "./parts.js";
import { live } from "./live.js";

const NEWS_MS = 2000;

export function attachList(element) {
  const wanted = new Set();
  const rows = () => [...element.querySelectorAll("tr[data-task]")];
  const known = () => Object.fromEntries(rows().map((row) => [row.dataset.task, Number(row.dataset.seq)]));

  const refreshRows = coalesced(async () => {
    const ids = [...wanted].filter((id) => document.getElementById(`task-${id}`));
    wanted.clear();
    if (!ids.length) return;
    const query = new URLSearchParams(ids.map((id) => ["id", id]));
    const fetched = await fetchPart(`${element.dataset.rows}?${query}`);
    for (const fresh of [...fetched.querySelectorAll("tr[data-task]")]) putRow(fresh);
  });
  const refreshNews = coalesced(async () => {
    const query = new URLSearchParams(window.location.search);
    query.set("newest", element.dataset.newest);
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
}

function putRow(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old || Number(old.dataset.seq) > Number(fresh.dataset.seq)) return;
  const moved = old.dataset.seq !== fresh.dataset.seq;
  const row = put(old, fresh);
  if (moved) light(row);
}
