// Filters of a query: the parts shown as chips, and completions of a filter being typed.

const OPERATORS = [
  ["tag:", "a tag, and those nested under it"],
  ["path:", "a folder or a part of the path"],
  ["link:", "notes that link to a note"],
  ["[", "a property"],
  ["file:", "a part of the file's name"],
  ["heading:", "words of a heading"],
  ["task-todo:", "words of an open task"],
  ["task-done:", "words of a finished task"],
  ["line:", "words in one line"],
  ["section:", "words between two headings"],
  ["is:", "current, superseded or stale"],
  ["ext:", "a file extension"],
  ["modified:", "a day, a month, or today, yesterday"],
  ["created:", "a day, a month, today or yesterday, for the creation date"],
  ["after:", "changed since a day"],
  ["before:", "changed before a day"],
];
const NOT_OFFERED = ["when:", "kind:", "alias:", "content:", "block:", "task:"];
const NAMES = [...OPERATORS.map(([name]) => name), ...NOT_OFFERED]
  .filter((name) => name !== "[").map((name) => name.slice(0, -1)).join("|");
const WORDS = { link: "links to", created: "from", modified: "changed", after: "changed since", before: "changed before", kind: "kind" };
const QUOTE = '["“”„‟]';
// Parts that are always text: phrases and regular expressions; an unclosed one extends to the end.
const TEXT = String.raw`(?<![^\s(-])(?:${QUOTE}(?:\\.|(?!${QUOTE})[^\\])*(?:${QUOTE}|$)|/(?![\s/])(?:\\.|[^/\\])*(?:/(?=[\s)]|$)|$))`;
const PHRASE = String.raw`"(?:\\.|[^"\\])*"`;
const VALUE = String.raw`(?:${PHRASE}|\([^()]*\)|/(?![\s/])(?:\\.|[^/\\])+/|(?!/)[^\s"()]+)`;
const PROPERTY = String.raw`\[(?:${PHRASE}|\[\[[^\[\]]*\]\]|[^\[\]"])+\]`;
const FILTER = String.raw`(?<=^|\s)(?<filter>-?(?:(?:${NAMES}):${VALUE}|${PROPERTY}))\s+`;
const PARTS = new RegExp(`${TEXT}|${FILTER}`, "g");
const OFFERED = 4;

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

const inQuotes = (value) => `"${value.replaceAll('"', '\\"')}"`;
export const quoted = (value) => (/[\s()"]/.test(value) ? inQuotes(value) : value);
// Characters that end a property's value, or give it a meaning other than plain text.
const MEANS_MORE = /[[\]()"]|\sOR\s|^[<>/]|^null$/;

/** Return a filter in words: the name of a tag or folder, the value of a property, a time. */
export function worded(filter) {
  const [, not, rest] = /^(-?)(.*)$/s.exec(filter);
  const [, name, value] = /^([a-z-]+):(.*)$/s.exec(rest) ?? /^\[([^:]+):(.*)\]$/s.exec(rest) ?? [null, "", rest];
  const bare = value.replace(/^"(.*)"$/s, "$1").replaceAll('\\"', '"');
  const words = name === "tag" ? `#${bare.replace(/^#/, "")}` : name === "path" ? bare.replace(/\/$/, "")
    : rest.startsWith("[") ? (name ? `${name}: ${bare}` : `has ${rest.slice(1, -1)}`)
    : name in WORDS ? `${WORDS[name]} ${period(bare)}` : name === "is" ? bare : name === "when" ? "no time read"
    : name ? `${name.replace("-", " ")}: ${bare}` : rest;
  return not ? `not ${words}` : words;
}

const month = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });

/** Return a month, 2026-03, in words; any other period unchanged. */
export const period = (when) => (/^\d{4}-(0[1-9]|1[0-2])$/.test(when) ? month.format(new Date(`${when}-01T00:00:00Z`)) : when);

const named = (items, typed, form) =>
  items.map((item) => ({
    text: form(item.text.replace(/^#/, "")),
    replaced: typed.length,
    about: item.count ? `${item.count}` : "",
  }));

/** Return completions of the filter that ends at the cursor, each with the number of characters it replaces. */
export async function completions(before, complete, folders) {
  let match;
  if ((match = /(?:^|[\s(])-?tag:#?([^\s()]*)$/.exec(before)))
    return named(await complete({ kind: "tag", text: match[1] }), match[1], (text) => `${text} `);
  if ((match = /(?:^|[\s(])-?\[([^\]:]+):("[^"]*|[^\]]*)$/.exec(before))) {
    const items = await complete({ kind: "value", property: match[1], text: match[2].replace(/^"/, "") });
    return items.map(({ text, count }) => ({ text: `${MEANS_MORE.test(text) ? inQuotes(text) : text}] `, replaced: match[2].length, about: count ? `${count}` : "" }));
  }
  if ((match = /(?:^|[\s(])-?\[([^\]:]*)$/.exec(before)))
    return named(await complete({ kind: "property", text: match[1] }), match[1], (text) => `${text}:`);
  if ((match = /(?:^|[\s(])-?link:("[^"]*|[^\s()"]*)$/.exec(before))) {
    const items = await complete({ kind: "note", text: match[1].replaceAll('"', "") });
    return items.map((item) => ({ text: `${quoted(item.text)} `, replaced: match[1].length, about: item.path ?? "" }));
  }
  if ((match = /(?:^|[\s(])-?path:("[^"]*|[^\s()"]*)$/.exec(before))) {
    const typed = match[1].replaceAll('"', "").toLowerCase();
    return (await folders(typed))
      .filter(([folder]) => folder.toLowerCase().includes(typed))
      .map(([folder, many]) => ({ text: `${quoted(folder)} `, replaced: match[1].length, about: `${many}` }));
  }
  if ((match = /(?:^|[\s(])(-?)([a-z][a-z-]*)$/.exec(before)) && match[2].length > 1)
    return OPERATORS.filter(([name]) => name.startsWith(match[2]))
      .map(([name, about]) => ({ text: name, replaced: match[2].length, about, more: true }));
  return [];
}

const above = (name) => {
  const parts = name.replace(/^#/, "").split("/");
  return parts.map((_, depth) => parts.slice(0, depth + 1).join("/")).filter(Boolean);
};

function count(sets, most) {
  const counts = new Map();
  for (const names of sets) for (const name of new Set(names)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, many]) => many < most).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

export const foldersOf = (results) =>
  count(results.map((result) => above(result.path.split("/").slice(0, -1).join("/")).map((each) => `${each}/`)), Infinity);

/** Return filters that some but not all of the results pass, most frequent first. */
export function narrowing(results, chips) {
  const tags = count(results.map((result) => (result.tags ?? []).flatMap(above)), results.length);
  const folders = foldersOf(results).filter(([, many]) => many < results.length);
  return [
    ...tags.slice(0, OFFERED).map(([tag, many]) => [`tag:${tag}`, many]),
    ...folders.slice(0, OFFERED).map(([folder, many]) => [`path:${quoted(folder)}`, many]),
  ].filter(([filter]) => !chips.includes(filter));
}
