// Bases as tables: base files, and base blocks of a note.

import { call } from "/api.js";
import { counted, el } from "/dom.js";

const LINK = /\[\[([^[\]|]+)(?:\|([^[\]]*))?\]\]/g;

/** Return the value of a cell as text; for a link, its text. */
function cellText(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return String(Math.abs(value) >= 1e-3 ? Number(value.toFixed(4)) : value);
  if (Array.isArray(value)) return value.map(cellText).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, each]) => `${name}: ${cellText(each)}`).join(", ");
  return value.replace(LINK, (_, target, words) => words || target.split("#")[0].split("/").pop() || target);
}

/** Return an element that shows a view of a base, by default the first, and offers the others; `note` embeds it. */
export function baseTable(vault, path, view, page, note = path) {
  const place = el("div", { class: "base" });
  const show = async (wanted) => {
    try {
      const { tables: [table] } = await call("vault/table", { vault, file: path, this: note, ...(wanted ? { view: wanted } : {}) });
      const names = el("select", { "aria-label": "View", onchange: () => show(names.value) },
        table.views.map(({ name }) => el("option", { value: name, selected: name === table.name }, name)));
      place.replaceChildren(...(table.views.length > 1 ? [names] : []), drawn(table, vault, page));
    } catch (error) {
      place.replaceChildren(el("p", { class: "trouble" }, error.message));
    }
  };
  show(view);
  return place;
}

/** Replace the base blocks of a note by their tables. */
export async function fillBases(article, vault, path, page) {
  const blocks = new Map([...article.querySelectorAll("code[data-language=base]")].map((code) => [Number(code.dataset.line), code]));
  if (!blocks.size) return;
  const { tables } = await call("vault/table", { vault, file: path }).catch(() => ({ tables: [] }));
  for (const table of tables)
    if (table.path === path) blocks.get(table.line)?.parentElement.replaceWith(drawn(table, vault, page));
}

function drawn(table, vault, page) {
  const { columns, groups, rows } = table;
  let place = 0;
  const bodies = (groups.length ? groups : [{ count: rows.length }]).map((group) => {
    const members = rows.slice(place, (place += group.count));
    return el("tbody", {},
      "value" in group ? el("tr", {}, el("th", { scope: "rowgroup", colspan: columns.length }, `${table.group}: ${cellText(group.value) || "none"}`)) : null,
      members.map((row) => el("tr", {}, columns.map(({ id }, column) => el("td", {}, cell(row, id, column, vault, page))))),
      summaries(group.summaries, columns));
  });
  const more = table.total - table.count;
  return el("div", { class: "figures cells", tabindex: 0, role: "region", "aria-label": table.name || "Base" },
    rows.length ? el("table", {},
      el("caption", {}, table.name),
      el("thead", {}, el("tr", {}, columns.map(({ name }) => el("th", { scope: "col" }, name)))),
      bodies,
      table.summaries.length ? el("tfoot", {}, summaries(table.summaries, columns)) : null) : el("p", {}, "No rows."),
    more > 0 ? el("p", {}, `and ${counted(more, "more row")}`) : null,
    table.problems.map((problem) => el("p", { class: "trouble" }, problem)));
}

function cell(row, id, column, vault, page) {
  const text = cellText(row.cells[id]);
  if (column) return text;
  const target = { note: row.path, of: vault, line: 0, anchor: "" };
  return el("a", { href: page.address(target), onclick: page.follow(target) }, text || row.path);
}

const summaries = (all, columns) => (all?.length
  ? el("tr", {}, el("td", { colspan: columns.length }, all.map((each) =>
      `${columns.find(({ id }) => id === each.column)?.name ?? each.column}: ${each.name} ${cellText(each.value) || "none"}`).join(" · ")))
  : null);
