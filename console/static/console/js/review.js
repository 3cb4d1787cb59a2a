// A review item: nothing changes under the hand; when the world moves, a notice says so and the
// decision waits until its reader has looked.
import { coalesced, fetchPart } from "./parts.js";
import { live } from "./live.js";
import { word } from "./words.js";

export function attachReview(element) {
  focusNotice(element);
  if (!element.dataset.open) return;
  const known = () => ({ [element.dataset.task]: Number(element.dataset.seq) });
  const look = coalesced(async () => {
    const fetched = await fetchPart(element.dataset.review);
    const now = fetched.querySelector("[data-behavior='review-page']");
    if (now && hasMoved(element, now)) tell(element, now);
  });
  live.watch(element, { tasks: known, moved: look });
}

function hasMoved(shown, now) {
  const situation = (page) => page.querySelector("input[name=situation]")?.value;
  return shown.dataset.open !== now.dataset.open || situation(shown) !== situation(now);
}

function tell(element, now) {
  if (element.querySelector(".moved")) return;
  const said = now.querySelector(".note")?.textContent.trim() ?? word("moved on");
  const notice = document.createElement("div");
  notice.className = "note note-stop moved";
  notice.setAttribute("role", "alert");
  const strong = document.createElement("strong");
  strong.textContent = `${word("moved")} `;
  const link = document.createElement("a");
  link.href = element.dataset.review;
  link.textContent = word("show now");
  notice.append(strong, `${said} `, link);
  element.querySelector("h1").after(notice);
  for (const button of element.querySelectorAll(".decision-bar button")) button.disabled = true;
}

function focusNotice(element) {
  const notice = element.querySelector("#moved");
  if (!notice) return;
  notice.focus();
  notice.scrollIntoView({ block: "center" });
}

export function attachDecision(form) {
  // The page sends no referrer, so only what htmx sends is believed: no button works before it.
  window.htmx.process(form);
  for (const button of document.querySelectorAll("button[data-with-script]")) button.disabled = false;
  const reason = form.elements.reason;
  reason.addEventListener("input", () => reason.setCustomValidity(""));
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[form=decision]");
    if (!button || button.form !== form) return;
    const isMissing = "needsReason" in button.dataset && !reason.value.trim();
    reason.setCustomValidity(isMissing ? word("say why") : "");
  });
}
