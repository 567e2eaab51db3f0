// The score of a result as the sum of its parts.

import { el } from "/dom.js";

const LANES = [["keyword", "words"], ["semantic", "meaning"], ["graph", "links"]];
const round = (value) => (Object.is(value, -0) || Math.abs(value) < 0.0005 ? 0 : value);

/** Return the parts whose sum is the score, each with a name, in the unit of the score. */
export function partsOf(result) {
  const sum = result.arithmetic;
  if (!sum) return [];
  const scale = sum.best > 0 ? 1 / sum.best : 0;
  const parts = LANES.map(([lane, name]) => [name, (result.lanes[lane]?.gain ?? 0) * scale]);
  let value = 0;
  for (const [, part] of parts) value += part;
  const step = (name, next) => {
    parts.push([name, next - value]);
    value = next;
  };
  step("recency", value * sum.recency);
  step("time", value + sum.time * scale);
  step("names and phrases", value * sum.anchors);
  step("bounds", value * sum.bound);
  step("linked to a better note", value * sum.joined);
  step("name of the note", value + sum.name * scale);
  step("opened or pinned", value + sum.opened * scale);
  step("successor", value + sum.succession * scale);
  step("limit", Math.min(value, 1));
  return parts.filter(([, part]) => round(part) !== 0);
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

/** Return the stacked bar of a result and the figures under it. */
export function bar(result) {
  const parts = partsOf(result);
  const score = result.rerank?.score_before ?? result.score;
  const words = parts.map(([name, value]) => `${name} ${signed(value)}`).join(", ");
  return el("div", { class: "why" },
    el("div", { class: "stack", role: "img", "aria-label": `Score ${score.toFixed(3)}: ${words || "no parts"}` },
      parts.filter(([, value]) => value > 0).map(([name, value]) =>
        el("span", { class: `part ${name.replaceAll(" ", "-")}`, style: { "flex-grow": `${value}` }, title: `${name} ${signed(value)}` })),
      el("span", { class: "rest", style: { "flex-grow": `${Math.max(0, 1 - parts.reduce((all, [, value]) => all + Math.max(0, value), 0))}` } })),
    el("ul", { class: "parts" },
      el("li", {}, `score ${score.toFixed(3)}`),
      parts.map(([name, value]) => el("li", { class: name.replaceAll(" ", "-") }, `${name} ${signed(value)}`)),
      result.rerank ? el("li", {}, `reranked: ${result.rerank.score.toFixed(3)}, was ${result.rerank.rank_before}`) : null,
      result.via ? el("li", {}, `connected to ${result.via.title} by a link`) : null));
}

/** Return the fate of a note in a search. */
export function verdict(answer) {
  const lanes = Object.entries(answer.lanes ?? {}).map(([lane, found]) =>
    el("li", {}, `${LANES.find(([name]) => name === lane)?.[1] ?? lane}: `,
      found.rank ? `rank ${found.rank}${found.of ? ` of ${found.of}` : ""}` : found.reason ?? "not among the candidates"));
  return el("div", { class: "verdict" },
    el("p", {}, el("strong", {}, answer.title), ` · ${answer.reason}`),
    answer.filters ? el("ul", {}, answer.filters.map((each) =>
      el("li", {}, `${each.satisfied ? "✓" : "✗"} ${each.condition}`))) : null,
    lanes.length ? el("ul", {}, lanes) : null,
    answer.result?.arithmetic ? bar(answer.result) : null);
}
