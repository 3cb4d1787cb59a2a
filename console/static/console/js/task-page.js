// A task's page: its parts change in place; its timeline grows at the end, or says what is new.
import { coalesced, fetchPart, light, put } from "./parts.js";
import { live } from "./live.js";

const PARTS = ["why", "diagnosis", "track", "tabs", "side", "timeline-news"];
const SCROLLS = ".scroll-x, ul";
const LOOK_MS = 15000; // "for 12 s now" grows old without any event

export function attachTask(element) {
  const grows = "grows" in element.dataset;
  const opened = element.dataset.seq;
  const known = () => ({ [element.dataset.task]: Number(element.dataset.seq) });

  const refresh = coalesced(async () => {
    let fetched;
    try {
      fetched = await fetchPart(`${element.dataset.parts}?${query(element, grows, opened)}`);
    } catch (failure) {
      sayMissing(element.dataset.seq);
      throw failure;
    }
    document.getElementById("tail-missing")?.setAttribute("hidden", "");
    for (const id of PARTS) swap(id, fetched);
    swap("panel", fetched);
    const news = fetched.getElementById("new-items");
    if (grows) {
      grow(document.getElementById("timeline"), [...news.children]);
      grow(document.getElementById("event-rows"), [...fetched.querySelectorAll("#new-events tr")]);
    }
    element.dataset.seq = String(Math.max(Number(element.dataset.seq), Number(news.dataset.seq)));
    if (grows && "more" in news.dataset) refresh();
  });

  live.watch(element, { tasks: known, moved: refresh });
  offerCopy(element);
  openTarget();
  showTab();
  window.addEventListener("hashchange", openTarget);
  const timer = window.setInterval(() => {
    if (!element.isConnected) window.clearInterval(timer);
    else if (!document.hidden && live.state === "live") refresh();
  }, LOOK_MS);
}

/** What the address says, and what is on the page already. */
function query(element, grows, opened) {
  const asked = new URLSearchParams(window.location.search);
  asked.set("since", grows ? element.dataset.seq : opened);
  asked.set("from", element.dataset.from ?? "0");
  if (grows) asked.set("grows", "1");
  return asked;
}

/** Put a part in place; what was scrolled in it stays where it was. */
function swap(id, fetched) {
  const [old, fresh] = [document.getElementById(id), fetched.getElementById(id)];
  if (!old || !fresh) return;
  const places = [...old.querySelectorAll(SCROLLS)].map((one) => one.scrollLeft);
  put(old, fresh);
  document.querySelectorAll(`#${id} :is(${SCROLLS})`).forEach((one, at) => {
    one.scrollLeft = places[at] ?? 0;
  });
}

/** On a narrow screen the tab that is shown may lie beyond the edge. */
function showTab() {
  const tab = document.querySelector("#tabs [aria-current]");
  const list = tab?.closest("ul");
  if (list) list.scrollLeft = tab.offsetLeft - list.clientWidth / 2 + tab.offsetWidth / 2;
}

function sayMissing(seq) {
  const note = document.getElementById("tail-missing");
  if (!note) return;
  note.querySelector("[data-seq]").textContent = seq;
  note.hidden = false;
}

function grow(list, entries) {
  if (!list) return;
  for (const fresh of entries) {
    const old = document.getElementById(fresh.id);
    if (!old) {
      list.append(document.adoptNode(fresh));
      fresh.dispatchEvent(new CustomEvent("signalbox:fresh", { bubbles: true }));
      if (fresh.classList.contains("item")) light(fresh);
    } else if (fresh.classList.contains("item")) {
      light(put(old, fresh));
    }
  }
}

/** A link to a call or an item opens what it leads to. */
function openTarget() {
  const name = decodeURIComponent(window.location.hash.slice(1));
  const details = name && document.getElementById(name)?.querySelector("details");
  if (details) details.open = true;
}

function offerCopy(element) {
  for (const button of element.querySelectorAll("[data-copy-text]")) {
    const text = document.getElementById(button.dataset.copyText);
    const words = button.textContent;
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = button.dataset.said;
      window.setTimeout(() => (button.textContent = words), 1500);
    });
  }
}
