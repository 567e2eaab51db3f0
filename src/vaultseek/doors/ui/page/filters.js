// Filters of a query: the parts shown as chips, and filters that narrow the results.

const WORDS = { link: "links to", created: "from", modified: "changed", after: "changed since", before: "changed before", kind: "kind" };
const QUOTE = '["“”„‟]';
// Parts that are always text: phrases and regular expressions; an unclosed one extends to the end.
const TEXT = String.raw`(?<![^\s(-])(?:${QUOTE}(?:\\.|(?!${QUOTE})[^\\])*(?:${QUOTE}|$)|/(?![\s/])(?:\\.|[^/\\])*(?:/(?=[\s)]|$)|$))`;
const PHRASE = String.raw`"(?:\\.|[^"\\])*"`;
const VALUE = String.raw`(?:${PHRASE}|\([^()]*\)|/(?![\s/])(?:\\.|[^/\\])+/|(?!/)[^\s"()]+)`;
const PROPERTY = String.raw`\[(?:${PHRASE}|\[\[[^\[\]]*\]\]|[^\[\]"])+\]`;
const OFFERED = 4;
let PARTS = /$^/g;

/** Take the operators of the query language, such as `tag:`, as the daemon completes them. */
export function useOperators(operators) {
  const filter = String.raw`(?<=^|\s)(?<filter>-?(?:(?:${operators.join("|")})${VALUE}|${PROPERTY}))\s+`;
  PARTS = new RegExp(`${TEXT}|${filter}`, "g");
}

/** Return the filters of a query and the rest of it. If their order matters, all of it remains text. */
export function splitQuery(query, whole = true) {
  const text = whole ? `${query} ` : query;
  if (hasAlternatives(text) || /(^|\s)-?\(/.test(text.replace(PARTS, ""))) return { chips: [], text: query };
  const chips = [...text.matchAll(PARTS)].map((match) => match.groups.filter).filter(Boolean);
  if (!chips.length) return { chips, text: query };
  const rest = text.replace(PARTS, (part, filter) => (filter ? "" : part));
  return { chips, text: whole ? rest.trim() : rest.trimStart() };
}

const hasAlternatives = (text) => /\bOR\b/.test(`${text} `.replace(PARTS, ""));

/** Return a query from filters and a text that all of them narrow. */
export const joined = (chips, text) =>
  [...chips, chips.length && hasAlternatives(text) ? `(${text})` : text].filter(Boolean).join(" ");

const quoted = (value) => (/[\s()"]/.test(value) ? `"${value.replaceAll('"', '\\"')}"` : value);

/** Return a filter in words: the name of a tag or folder, the value of a property, a time. */
export function worded(filter) {
  const [, not, rest] = /^(-?)(.*)$/s.exec(filter);
  const [, name, value] = /^([a-z-]+):(.*)$/s.exec(rest) ?? /^\[([^:]+):(.*)\]$/s.exec(rest) ?? [null, "", rest];
  const bare = value.replace(/^"(.*)"$/s, "$1").replaceAll('\\"', '"');
  const words = name === "tag" ? `#${bare.replace(/^#/, "")}` : name === "path" ? bare.replace(/\/$/, "")
    : rest.startsWith("[") ? (name ? `${name}: ${bare}` : `has ${rest.slice(1, -1)}`)
    : name in WORDS ? `${WORDS[name]} ${period(bare)}` : name === "is" ? bare : name === "when" ? "times in the query ignored"
    : name ? `${name.replace("-", " ")}: ${bare}` : rest;
  return not ? `not ${words}` : words;
}

const month = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });

/** Return a month, 2026-03, in words; any other period unchanged. */
export const period = (when) => (/^\d{4}-(0[1-9]|1[0-2])$/.test(when) ? month.format(new Date(`${when}-01T00:00:00Z`)) : when);

const above = (name) => {
  const parts = name.replace(/^#/, "").split("/");
  return parts.map((_, depth) => parts.slice(0, depth + 1).join("/")).filter(Boolean);
};

function count(sets, most) {
  const counts = new Map();
  for (const names of sets) for (const name of new Set(names)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, many]) => many < most).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** Return filters that some but not all of the results pass, most frequent first. */
export function narrowing(results, chips) {
  const tags = count(results.map((result) => (result.tags ?? []).flatMap(above)), results.length);
  const folders = count(results.map((result) => above(result.path.split("/").slice(0, -1).join("/")).map((each) => `${each}/`)), results.length);
  return [
    ...tags.slice(0, OFFERED).map(([tag, many]) => [`tag:${tag}`, many]),
    ...folders.slice(0, OFFERED).map(([folder, many]) => [`path:${quoted(folder)}`, many]),
  ].filter(([filter]) => !chips.includes(filter));
}
