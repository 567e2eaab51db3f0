// The dates of an answer's notes: a bar for each month or year, which narrows the search to it.

import { call } from "/api.js";
import { byId, counted, el } from "/dom.js";
import { period } from "/filters.js";

const MOST_MONTHS = 60;

/** Show the bars of the query if they are open; ``asked`` has the query and, if it is only one, the vault. */
export async function showMonths(asked, page) {
  const box = byId("months");
  box.hidden = !page.shown;
  if (box.hidden || !box.open) return;
  const params = { ...asked, brief: true, limit: page.listing ? null : 200 };
  const found = await call(asked.vault ? "search" : "search/all", params, { turn: "months" });
  const results = found.results.slice(0, found.results.length - found.less_certain);
  const of = { month: (result) => result.created.slice(0, 7), year: (result) => result.created.slice(0, 4) };
  const months = spread(results.map(of.month)), counts = months.length > MOST_MONTHS ? spread(results.map(of.year)) : months;
  const most = Math.max(...counts.map(([, many]) => many));
  byId("bars").replaceChildren(...counts.map(([when, many]) => {
    const name = `${period(when)}: ${counted(many, "note")}`;
    return el("button", { type: "button", title: name, "aria-label": name, disabled: !many, onclick: () => page.narrow(`created:${when}`) },
      el("span", { style: { height: `${Math.ceil((100 * many) / most)}%` } }));
  }));
  byId("span").textContent = counts.length ? [...new Set([counts[0], counts.at(-1)].map(([when]) => period(when)))].join(" – ") : "";
}

/** Return every period from the first to the last with its number of notes. */
function spread(periods) {
  const counts = new Map();
  for (const when of [...periods].sort()) {
    for (let each = [...counts.keys()].at(-1); each && each < when; each = next(each)) if (!counts.has(each)) counts.set(each, 0);
    counts.set(when, (counts.get(when) ?? 0) + 1);
  }
  return [...counts];
}

function next(when) {
  const [year, month] = when.split("-").map(Number);
  const text = (number, digits) => String(number).padStart(digits, "0");
  if (!month) return text(year + 1, 4);
  return month === 12 ? `${text(year + 1, 4)}-01` : `${text(year, 4)}-${text(month + 1, 2)}`;
}
