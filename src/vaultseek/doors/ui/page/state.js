// The state of the index: progress, problems of notes, lists, and the last measurement.

import { ask, call } from "/api.js";
import { age, byId, counted, el, number } from "/dom.js";

const POLL = 2000;
const BY_CATEGORY = ["nDCG@10", "MRR"];
const METRICS = ["nDCG@10", "MRR", "Recall@10"];

let timer = 0;
const shown = new Map();

export function hideState() {
  clearTimeout(timer);
}

export async function showState(page) {
  clearTimeout(timer);
  if (document.visibilityState === "visible") {
    try {
      draw(await call("index/status", {}, { turn: "status", watching: true }), page);
    } catch (error) {
      if (error.code !== "superseded") {
        byId("state").replaceChildren(el("p", { class: "trouble" }, error.message));
        shown.clear();
      }
    }
  }
  timer = setTimeout(() => showState(page), POLL);
}

function draw(status, page) {
  const pane = byId("state");
  const worker = status.daemon.worker;
  const lines = [`vaultseek ${status.daemon.version}`, worker.model ? `model ${worker.model}` : "", `meaning: ${worker.reason ?? worker.status}`, worker.doing];
  if (!shown.size) pane.replaceChildren(el("h1", {}, "State"), el("p", { id: "daemon" }));
  byId("daemon").textContent = lines.filter(Boolean).join(" · ");
  for (const vault of status.vaults) {
    let box = shown.get(vault.path);
    if (!box) {
      box = { now: el("div", {}), problems: el("ul", { class: "problems" }) };
      shown.set(vault.path, box);
      pane.append(el("article", { class: "vault" },
        el("h2", {}, vault.name), el("p", { class: "where" }, vault.path), box.now, box.problems,
        list("Broken links", "links/unresolved", vault.path, page, (answer) =>
          answer.links.map((link) => [link, `[[${link.target || `#${link.heading ?? ""}`}]]`])),
        list("Orphans: no note links to them", "vault/orphans", vault.path, page, (answer) => answer.notes.map((note) => [note, ""])),
        list("Outdated: past their expiry date, or superseded but still linked", "vault/stale", vault.path, page, (answer) => answer.items.map((item) => [item, item.text])),
        measurement(vault.path)));
    }
    box.now.replaceChildren(...now(vault));
    const problems = vault.problems.map((problem) => {
      const target = { note: problem.path, of: vault.path, line: problem.line ?? 0, anchor: "" };
      return el("li", {}, el("a", { href: page.address(target), onclick: page.follow(target) },
        problem.line ? `${problem.path}:${problem.line}` : problem.path), ` ${problem.message}`);
    });
    const more = vault.problem_count - problems.length;
    if (more > 0) problems.push(el("li", {}, `and ${number(more)} more: run vaultseek status`));
    if (box.count !== JSON.stringify(vault.problems)) box.problems.replaceChildren(...problems);
    box.count = JSON.stringify(vault.problems);
  }
}

function now(vault) {
  const down = Object.entries(vault.lanes).filter(([, lane]) => !lane.up);
  return [
    el("p", {}, `${vault.state} · ${counted(vault.notes, "note")} · ${counted(vault.chunks, "passage")}, ${number(vault.embedded)} embedded`,
      vault.pending ? ` · ${number(vault.pending)} waiting` : "",
      vault.last_change ? ` · changed ${age(new Date(vault.last_change * 1000).toISOString())}` : ""),
    vault.share < 1 ? el("progress", { value: vault.share, max: 1, "aria-label": "Indexed" }) : "",
    vault.reason ? el("p", { class: "trouble" }, vault.reason) : "",
    ...down.map(([name, lane]) => el("p", { class: "trouble" }, `without ${name}: ${lane.reason ?? lane.code}`)),
    el("p", {}, vault.problem_count ? `${counted(vault.problem_count, "problem")}:` : "No problems."),
  ];
}

function list(title, method, vault, page, items) {
  const body = el("div", {});
  const box = el("details", {}, el("summary", {}, title), body);
  box.addEventListener("toggle", async () => {
    if (!box.open) return;
    try {
      const answer = await call(method, { vault, limit: 500 });
      const rows = items(answer).map(([note, text]) => {
        const target = { note: note.path, of: vault, line: note.line ?? 0, anchor: "" };
        return el("li", {}, el("a", { href: page.address(target), onclick: page.follow(target) },
          note.line ? `${note.path}:${note.line}` : note.path), text ? ` ${text}` : "");
      });
      const rest = answer.total - rows.length;
      body.replaceChildren(rows.length ? el("ul", {}, rows, rest > 0 ? el("li", {}, `and ${number(rest)} more`) : null) : el("p", {}, "None."));
    } catch (error) {
      body.replaceChildren(el("p", { class: "trouble" }, error.message));
    }
  });
  return box;
}

function measurement(vault) {
  const body = el("div", {});
  const box = el("details", {}, el("summary", {}, "Quality, as measured by vaultseek evaluate"), body);
  box.addEventListener("toggle", async () => {
    if (!box.open) return;
    try {
      const { report, time } = await ask("report", { vault });
      body.replaceChildren(...(report ? plots(report, time) : [el("p", {}, "Not measured yet: vaultseek evaluate needs your own queries and judgements.")]));
    } catch (error) {
      body.replaceChildren(el("p", { class: "trouble" }, error.message));
    }
  });
  return box;
}

function plots(report, time) {
  const ways = Object.entries(report.variants);
  return [
    el("p", {}, `${age(new Date(time * 1000).toISOString())} · ${counted(report.queries.all, "judged query", "judged queries")} · model ${report.model}. Lines show 95 % intervals.`),
    ...METRICS.map((metric) => el("figure", {},
      el("figcaption", {}, metric),
      ways.map(([name, way]) => {
        const { mean, low, high } = way.figures.all[metric];
        return el("div", { class: "way", role: "img", "aria-label": `${name}: ${mean.toFixed(3)}, from ${low.toFixed(3)} to ${high.toFixed(3)}` },
          el("span", { class: "name" }, name),
          el("span", { class: "track" },
            el("span", { class: "mean", style: { width: `${mean * 100}%` } }),
            el("span", { class: "range", style: { left: `${low * 100}%`, width: `${(high - low) * 100}%` } })),
          el("span", { class: "value" }, mean.toFixed(3)));
      }))),
    ...tables(report, ways),
  ];
}

/** Return the figures of the report as tables: every metric, and nDCG@10 and MRR by query category. */
function tables(report, ways) {
  const names = ways.map(([name]) => name);
  const all = (way) => way.figures?.all ?? {};
  const metrics = [...new Set(ways.flatMap(([, way]) => Object.keys(all(way))))];
  const figure = (value) => (value ? el("span", { title: `${three(value.low)} to ${three(value.high)}` }, three(value.mean)) : "");
  const rows = metrics.map((metric) => [metric, ways.map(([, way]) => figure(all(way)[metric]))]);
  for (const time of ["p50", "p95"])
    if (ways.some(([, way]) => way.latency_ms)) rows.push([`${time}, ms`, ways.map(([, way]) => way.latency_ms?.[time]?.toFixed(1) ?? "")]);
  const categories = Object.keys(report.queries).filter((name) => name !== "all");
  const against = ways.slice(1).filter(([, way]) => way.differences?.["nDCG@10"]);
  return [
    table("All queries", ["metric", ...names], rows),
    ...(categories.length ? BY_CATEGORY.map((metric) => table(`${metric} by category`, ["category", "queries", ...names],
      categories.map((category) => [category, [number(report.queries[category]), ...ways.map(([, way]) => figure(way.figures[category]?.[metric]))]]))) : []),
    ...(against.length ? [table("nDCG@10: difference from each variant", ["compared with", "difference", "95 % interval", "p"], against.map(([name, way]) => {
      const { mean, low, high, p } = way.differences["nDCG@10"];
      return [name, [signed(mean), `${signed(low)} to ${signed(high)}`, p < 0.001 ? "< 0.001" : three(p)]];
    }))] : []),
  ];
}

const three = (value) => value.toFixed(3);
const signed = (value) => `${value < 0 ? "−" : "+"}${three(Math.abs(value))}`;

function table(caption, columns, rows) {
  return el("div", { class: "figures", tabindex: 0, role: "region", "aria-label": caption }, el("table", {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, columns.map((column) => el("th", { scope: "col" }, column)))),
    el("tbody", {}, rows.map(([name, cells]) => el("tr", {}, el("th", { scope: "row" }, name), cells.map((cell) => el("td", {}, cell)))))));
}
