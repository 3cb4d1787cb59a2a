// Words for people in the language of the page, which brings them (console/pages/script_words.py).
const known = JSON.parse(document.getElementById("words")?.textContent ?? "{}");

/** Give a text by its name, with `{name}` filled in. */
export function word(name, values = {}) {
  return (known[name] ?? name).replace(/\{(\w+)\}/g, (whole, key) => String(values[key] ?? whole));
}
