// What is selected in the list: each task as it was on the screen when it was selected. Live changes
// of a row leave that alone, so the server can tell what has moved since.
const chosen = new Map(); // id → the value its box had
let last = null; // where a range begins

/** Carry a selection over to the fresh row of the same task, with the value it was selected by. */
export function keepSelected(old, fresh) {
  const [before, after] = [box(old), box(fresh)];
  if (!before?.checked || !after) return;
  after.value = before.value;
  after.setAttribute("checked", "");
  fresh.classList.add("is-selected");
}

export function attachSelection(element) {
  const form = element.closest("form");
  const bar = form?.querySelector("[data-bulk-bar]");
  if (!bar) return;
  const said = bar.querySelector("[data-selected]");
  const all = element.querySelector("[data-select-all]");
  const boxes = () => [...element.querySelectorAll("input[data-select]")];

  const show = () => {
    const number = chosen.size;
    const shown = boxes();
    bar.classList.toggle("is-on", number > 0);
    const words = number === 1 ? said.dataset.one : said.dataset.many.replace("{n}", String(number));
    if (number) said.textContent = words;
    for (const one of shown) one.closest("tr").classList.toggle("is-selected", one.checked);
    if (!all) return;
    all.checked = number > 0 && number === shown.length;
    all.indeterminate = number > 0 && number < shown.length;
  };
  const take = (one) => {
    const id = one.closest("tr").dataset.task;
    if (one.checked) chosen.set(id, one.value);
    else chosen.delete(id);
  };
  const none = () => {
    for (const one of boxes()) one.checked = false;
    chosen.clear();
    show();
  };

  // What is still shown stays selected when the list is shown anew; the rest is out of sight.
  const before = new Map(chosen);
  chosen.clear();
  for (const one of boxes()) {
    const value = before.get(one.closest("tr").dataset.task);
    one.checked = value !== undefined;
    if (one.checked) {
      one.value = value;
      take(one);
    }
  }
  show();

  element.addEventListener("change", (event) => {
    if (event.target === all) for (const one of boxes()) set(one, all.checked);
    else if (event.target.matches("input[data-select]")) {
      take(event.target);
      last = event.target.closest("tr").dataset.task;
    }
    show();
  });
  element.addEventListener("click", (event) => {
    if (event.shiftKey && event.target.matches("input[data-select]")) range(event.target.closest("tr"));
  });
  bar.querySelector("[data-select-none]")?.addEventListener("click", none);
  element.addEventListener("signalbox:select", (event) => {
    const row = event.target.closest("tr");
    if (event.detail.range) range(row);
    else {
      const one = box(row);
      set(one, !one.checked);
      last = row.dataset.task;
    }
    show();
  });
  element.addEventListener("signalbox:select-none", none);
  element.addEventListener("signalbox:forget", none);

  function set(one, on) {
    one.checked = on;
    take(one);
  }

  function range(row) {
    const rows = [...element.querySelectorAll("tr[data-task]")];
    const [from, to] = [rows.findIndex((one) => one.dataset.task === last), rows.indexOf(row)];
    const [low, high] = [Math.min(from < 0 ? to : from, to), Math.max(from, to)];
    for (const one of rows.slice(low, high + 1)) set(box(one), true);
    last = row.dataset.task;
    show();
  }
}

function box(row) {
  return row?.querySelector("input[data-select]");
}

// What was selected has been dealt with; its rows stay where they are.
document.body.addEventListener("signalbox:acted", () => {
  document.querySelector("[data-behavior='task-list']")?.dispatchEvent(new CustomEvent("signalbox:forget"));
});
