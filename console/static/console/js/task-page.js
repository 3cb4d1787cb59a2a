// A task's page: its parts change in place, its timeline grows at the end.
import { coalesced, fetchPart, light, put } from "./parts.js";
import { live } from "./live.js";

const PARTS = ["why", "track", "side"];
const LOOK_MS = 15000; // "for 12 s now" grows old without any event

export function attachTask(element) {
  const known = () => ({ [element.dataset.task]: Number(element.dataset.seq) });
  const isAtEnd = !("notAtEnd" in element.dataset);

  const refresh = coalesced(async () => {
    const query = new URLSearchParams({ after: element.dataset.seq, from: element.dataset.from });
    const fetched = await fetchPart(`${element.dataset.parts}?${query}`);
    for (const id of PARTS) {
      const [old, fresh] = [document.getElementById(id), fetched.getElementById(id)];
      if (old && fresh) put(old, fresh);
    }
    const news = fetched.getElementById("new-items");
    if (!news) return;
    if (isAtEnd) grow(document.getElementById("timeline"), [...news.children]);
    element.dataset.seq = String(Math.max(Number(element.dataset.seq), Number(news.dataset.seq)));
  });

  live.watch(element, { tasks: known, moved: refresh });
  const timer = window.setInterval(() => {
    if (!element.isConnected) window.clearInterval(timer);
    else if (!document.hidden && live.state === "live") refresh();
  }, LOOK_MS);
}

function grow(timeline, items) {
  if (!timeline) return;
  for (const fresh of items) {
    const old = document.getElementById(fresh.id);
    if (!old) {
      timeline.append(document.adoptNode(fresh));
      if (fresh.classList.contains("item")) light(fresh);
    } else if (fresh.classList.contains("item")) {
      light(put(old, fresh));
    }
  }
}
