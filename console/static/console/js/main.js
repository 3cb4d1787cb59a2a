// Attaches one small module to each element that names it in data-behavior, now and after swaps.
// There is no inline script anywhere: what a page does, it does through these.
import { attachAge } from "./age.js";
import { attachBadge } from "./badge.js";
import { attachCopy } from "./copy.js";
import { attachDecision, attachReview } from "./review.js";
import { attachDeviceZone } from "./device-zone.js";
import { attachDialog } from "./dialog.js";
import { attachEvent } from "./event-page.js";
import { attachFreshness } from "./freshness.js";
import { attachInsights } from "./insights.js";
import { attachList } from "./task-list.js";
import { attachOverview } from "./overview.js";
import { attachRefresh } from "./refresh.js";
import { attachTask } from "./task-page.js";
import { watchKeys } from "./keys.js";
import { watchRequests } from "./toast.js";
import { live } from "./live.js";

const BEHAVIORS = {
  age: attachAge,
  copy: attachCopy,
  decision: attachDecision,
  "device-zone": attachDeviceZone,
  dialog: attachDialog,
  "event-page": attachEvent,
  freshness: attachFreshness,
  insights: attachInsights,
  overview: attachOverview,
  refresh: attachRefresh,
  "review-badge": attachBadge,
  "review-page": attachReview,
  "task-list": attachList,
  "task-page": attachTask,
};
const attached = new WeakSet();

export function scan(root) {
  const found = root.querySelectorAll ? [...root.querySelectorAll("[data-behavior]")] : [];
  if (root.matches?.("[data-behavior]")) found.unshift(root);
  for (const element of found) {
    const attach = BEHAVIORS[element.dataset.behavior];
    if (!attach || attached.has(element)) continue;
    attached.add(element);
    attach(element);
  }
}

document.addEventListener("signalbox:fresh", (event) => scan(event.target));
document.body.addEventListener("htmx:load", (event) => scan(event.detail.elt));
watchRequests();
watchKeys();
scan(document.body);
if (document.body.dataset.now) live.start();
// Back and forward may show a page from memory: what it says may be long past.
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
