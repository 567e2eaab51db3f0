// The results as a list.

import { age, byId, counted, currency, el, marked, percent, placeName } from "/dom.js";
import { bar } from "/why.js";

/** Show an answer; ``page`` has the names of vaults, the action of a click, the number of results shown, and the selected one. */
export function showList(answer, page) {
  byId("summary").replaceChildren(...summary(answer, page));
  byId("results").replaceChildren(...answer.results.slice(0, page.shown).map((result, place) => item(result, place, page)));
  const folded = answer.results.length - page.shown;
  byId("less-certain").hidden = !folded;
  byId("less-certain").textContent = counted(folded, "less certain note");
  select(page.selected, false);
}

/** Mark a result as selected. */
export function select(place, scroll = true) {
  const input = byId("query");
  input.removeAttribute("aria-activedescendant");
  for (const [number, each] of [...byId("results").children].entries()) {
    each.setAttribute("aria-selected", String(number === place));
    if (number !== place) continue;
    input.setAttribute("aria-activedescendant", each.id);
    if (scroll) each.scrollIntoView({ block: "nearest" });
  }
}

function summary(answer, page) {
  const lines = [];
  const found = answer.total ?? answer.count;
  const what = page.everything ? `${counted(found, "note")}, most recently opened or changed first`
    : answer.results.length ? `${counted(found, "note")} · ${Math.round(answer.took_ms)} ms · ${answer.search_method}`
    : "No note matches.";
  lines.push(el("span", {}, what));
  const nearest = answer.nearest ?? answer.vaults?.map((vault) => vault.nearest).find(Boolean);
  if (!answer.results.length) lines.push(...nextSteps(nearest, answer, page));
  for (const remark of answer.remarks.filter((each) => each.code !== "no_match"))
    lines.push(el("span", { class: "partial" }, ` ${capital(remark.text)}.`));
  if (answer.interpreted.time)
    lines.push(el("button", { type: "button", class: "untimed", onclick: () => page.narrow("when:any") }, "Any time"));
  return lines;
}

/** Return suggestions for an empty answer: the nearest note, and broader searches. */
function nextSteps(nearest, answer, page) {
  const of = answer.vault_path ?? answer.vaults?.find((vault) => vault.nearest === nearest)?.vault_path;
  const target = nearest && { note: nearest.path, of, line: 0, anchor: "" };
  const link = (change, text) => el("a", { href: page.address(change), onclick: page.follow(change) }, text);
  const steps = page.wider.map(({ change, name }) => link(change, name));
  return [
    nearest ? el("span", {}, " The closest is ", link(target, nearest.path), ".") : null,
    el("span", { class: "next" }, " ", steps.flatMap((step) => [step, " · "]).slice(0, -1)),
  ].filter(Boolean);
}

const capital = (text) => text.charAt(0).toLocaleUpperCase() + text.slice(1);

function item(result, place, page) {
  const headings = (result.heading_path ?? []).filter((heading) => heading !== result.title);
  const line = result.place ? ` ${placeName(result.place)}` : result.line > 1 ? `:${result.line}` : "";
  const preview = result.preview ? marked(result.preview, result.highlights) : [];
  return el("li", { id: `result-${place}`, role: "option", "aria-selected": "false", onclick: (event) => page.choose(place, event), ondblclick: () => page.open(place) },
    el("div", { class: "head" },
      el("span", { class: "title" }, result.title, result.file_name ? el("small", {}, ` ${result.file_name}`) : null),
      page.listing ? null
        : el("span", { class: "certainty", title: "How certain it is that this is the right note" },
          el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: percent(result.certainty) } })), percent(result.certainty))),
    headings.length ? el("div", { class: "headings" }, headings.join(" › ")) : null,
    currency(result),
    preview.length ? el("div", { class: "preview" }, result.property ? el("em", {}, "property ") : null, preview) : null,
    el("div", { class: "meta" },
      el("span", { class: "path" }, [page.severalVaults ? `${page.vaultName(result.vault_path)} / ` : "", result.path, line].join("")),
      (result.tags ?? []).slice(0, 4).map((tag) => el("span", { class: "tag" }, `#${tag}`)),
      el("span", {}, age(result.modified))),
    result.arithmetic && !page.listing ? bar(result) : null);
}
