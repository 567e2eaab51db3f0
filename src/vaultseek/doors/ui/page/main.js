// The page: the place determines the query and the view; a key, a click or Back changes the place.

import { ask, call, openSession } from "/api.js";
import { byId, counted, el, settled } from "/dom.js";
import { joined, narrowing, splitQuery, useOperators, worded } from "/filters.js";
import { markOpen, redraw, showGraph } from "/graph.js";
import { select, showList } from "/list.js";
import { showMonths } from "/months.js";
import { keepNote, showNote } from "/note.js";
import { addressOf, placeOf } from "/place.js";
import { hideState, showState } from "/state.js";
import { verdict } from "/why.js";

const RESULTS = 30;
const EVERY_NOTE = "ext:md";
const OFFERED_QUERIES = 8, HISTORY = 100, OPERATORS = 100;
const SEARCH_PAUSE = 40, ARROW_PAUSE = 120, TYPING_PAUSE = 1500, AGAIN_PAUSE = 2000;
const ALL = "*";
const NO_NOTE = { note: "", of: "", line: 0, anchor: "" };
const NO_PATH = { from: "", to: "" };
const isWide = () => matchMedia("(min-width: 56rem)").matches;

const input = byId("query");
let about = { vaults: [], vault: null, editor: null };
let place = placeOf(location.href);
let last = { kind: "", at: 0 };
let chips = [];
let answer = null;
let selected = 0;
let unfolded = false;
let entered = false;
let answered = "";
let typed = null;
let isTyping = false;
let offers = { items: [], active: -1 };
let searching = null;
let again = 0;

// ---- places

const after = (change) => ({ ...place, ...change, ...(change.of ? { of: vaultOf(change.of)?.name ?? change.of } : {}) });

function go(change, kind = "go") {
  const next = after(change);
  if (addressOf(next) === addressOf(place)) return;
  const joined = kind !== "go" && kind === last.kind && Date.now() - last.at < TYPING_PAUSE;
  history[joined ? "replaceState" : "pushState"](null, "", addressOf(next));
  last = { kind, at: Date.now() };
  show(next);
}

function show(next, { first = false } = {}) {
  const before = first ? null : place;
  place = next;
  const differs = (...names) => !before || names.some((name) => before[name] !== place[name]);
  document.title = [place.note.split("/").pop(), place.query, "vaultseek"].filter(Boolean).join(" · ");
  for (const view of ["list", "graph", "state"]) {
    byId(view).hidden = place.view !== view;
    byId(`view-${view}`).href = addressOf({ ...place, view });
    byId(`view-${view}`).toggleAttribute("aria-current", place.view === view);
  }
  if (byId("views").matches(":popover-open")) byId("views").hidePopover();
  showSaved();
  byId("why").setAttribute("aria-pressed", String(place.why));
  byId("why-not").hidden = !place.why || place.vault === ALL;
  byId("vault").value = place.vault || vaultOf(about.vault)?.name || ALL;
  document.body.classList.toggle("reading", Boolean(place.note));
  byId("note").hidden = !place.note;
  if (differs("query") && queryInBox() !== place.query) fillBox(place.query);
  if (differs("query", "vault", "why")) searching = search();
  else if (differs("view", "from", "to") && place.view === "graph") showGraph(answer, page);
  if (place.view === "state") {
    if (differs("view")) showState(page);
  } else hideState();
  if (place.note && differs("note", "of", "line", "anchor")) read();
  if (before && Boolean(before.note) !== Boolean(place.note)) redraw(page);
  else if (differs("note", "of")) markOpen(page);
}

addEventListener("resize", settled(ARROW_PAUSE, () => place.view === "graph" && redraw(page)));

addEventListener("popstate", () => {
  typed = null;
  last = { kind: "", at: 0 };
  show(placeOf(location.href));
});

// ---- vaults

const vaultOf = (path) => about.vaults.find((vault) => vault.path === path);
const vaultNamed = (name) => about.vaults.find((vault) => vault.name === name) ?? vaultOf(name);
const vaultShown = () => (place.vault === ALL ? null : vaultNamed(place.vault) ?? vaultOf(about.vault));

// ---- the page as the other modules see it

const page = {
  get selected() { return selected; },
  get shown() { return answer.results.length - (unfolded ? 0 : answer.less_certain); },
  get everything() { return !queryAsked(); },
  /** The folder of the vault whose map is shown without a query; none if there are several vaults. */
  get mapped() { return vaultShown()?.path ?? null; },
  /** The notes at both ends of the path shown on the map, if any. */
  get path() { return page.everything && place.from && place.to ? { from: place.from, to: place.to } : null; },
  /** True for a query with only filters, which every result matches equally. */
  get listing() { return answer.interpreted.rank_text === ""; },
  /** Searches broader than the current one: without its filters, with fewer words, or in every vault. */
  get wider() {
    const { chips, text } = splitQuery(place.query), words = text.split(/\s+/).filter(Boolean);
    const longest = words.reduce((one, other) => (other.length > one.length ? other : one), "");
    return [
      chips.length && text ? { name: "Without filters", change: { query: text } } : null,
      words.length > 1 && /^[\p{L}\p{N}\s]+$/u.test(text) ? { name: `Only ${longest}`, change: { query: joined(chips, longest) } } : null,
      vaultShown() && about.vaults.length > 1 ? { name: "In all vaults", change: { vault: ALL } } : null,
      { name: "The latest notes", change: { query: "" } },
    ].filter(Boolean);
  },
  get severalVaults() { return !vaultShown() && about.vaults.length > 1; },
  get editor() { return about.editor; },
  vaultName: (path) => vaultOf(path)?.name ?? "",
  inObsidian: (path) => vaultOf(path)?.obsidian ?? false,
  isOpen: (vault, path) => place.note === path && noteVault() === vault,
  address: (change) => addressOf(after(change)),
  follow: (change) => (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    go({ anchor: "", line: 0, ...change });
  },
  search: (query) => go({ query, view: "list" }),
  /** Show the path between two notes on the map of their vault; on a narrow screen, the map replaces the note. */
  walk: (from, to, vault = page.mapped) => {
    go({ query: "", view: "graph", from, to, ...(vault === page.mapped ? {} : { vault: vaultOf(vault).name }), ...(isWide() ? {} : NO_NOTE) });
    // The focused element may be gone.
    if (!from || !isWide()) byId("graph").focus();
  },
  /** Return the paths of notes that ``text`` may mean, in one vault if it is given. */
  notesNamed: async (text, vault) => [...new Set((await complete({ kind: "note", text }, vault)).map((item) => item.path))],
  close: () => go(NO_NOTE),
  narrow: (filter) => go({ query: joined([...chips.filter((chip) => chip !== filter), filter], input.value.trim()), view: "list" }),
  choose: (number, event) => {
    const { path, vault_path, line } = answer.results[number];
    if (event.ctrlKey || event.metaKey) return void window.open(page.address({ note: path, of: vault_path, line: line ?? 0, anchor: "" }));
    selected = number;
    entered = true;
    select(selected, false);
    beside(answer.results[number], "go");
  },
  open: (number) => openOutside(answer.results[number]),
  obsidian: ({ of, note }) => `obsidian://open?path=${encodeURIComponent(`${of}/${note}`)}`,
  edit: (target) => ask("open", { vault: target.of, note: target.note, line: target.line || 1 }).catch(trouble),
  /** Create the missing note of a link: in Obsidian, or by opening its path in the editor. */
  make: async (target, source) => {
    try {
      const edit = Boolean(about.editor) && !page.inObsidian(source.vault);
      const { path } = await ask("missing", { vault: source.vault, note: source.path, target, edit });
      if (!edit) location.href = `obsidian://new?vault=${encodeURIComponent(source.vault.split("/").pop())}&file=${encodeURIComponent(path)}`;
    } catch (error) {
      trouble(error);
    }
  },
  canMake: (vault) => page.inObsidian(vault) || Boolean(about.editor),
  passage: ({ of, line, anchor }, path) => {
    const result = resultOf(of, path);
    const meant = result?.preview && !result.property && !anchor && (!line || (result.start_line <= line && line <= result.end_line));
    return meant ? [result.start_line, result.end_line] : null;
  },
  column: (vault, path) => resultOf(vault, path)?.column ?? 1,
  lineOf: (target) => target.line || (target.anchor ? 0 : resultOf(target.of, target.note)?.line ?? 0),
  words: (vault, path) => {
    const result = resultOf(vault, path);
    const points = Array.from(result?.preview ?? "");
    const words = (result?.highlights ?? []).map(([from, to]) => points.slice(from, to).join(""));
    return [...new Set(words.map((word) => word.toLowerCase()))].filter((word) => word.trim());
  },
};

const resultOf = (vault, path) => answer?.results.find((result) => result.vault_path === vault && result.path === path);

const noteVault = () => vaultNamed(place.of)?.path ?? place.of;

const read = settled(0, async () => {
  // The results determine the passage of the note; it is not shown again when they arrive, because the user may be typing in it.
  if (!answer && !page.everything) await searching;
  if (place.note) showNote({ ...place, of: noteVault() }, page);
});

/** Report that a result was opened, for the history of its vault. */
function opened(result) {
  const query = place.query.trim();
  if (query) call("search/opened", { vault: result.vault_path, query, note: result.path, position: result.rank }).catch(() => {});
}

const stored = (name) => JSON.parse(localStorage.getItem(name) ?? "[]");

/** Save the search in this browser, or forget it. */
function toggleSaved() {
  const query = place.query.trim(), others = stored("saved").filter((each) => each !== query);
  localStorage.setItem("saved", JSON.stringify(others.length < stored("saved").length ? others : [query, ...others]));
  showSaved();
}

function showSaved() {
  const query = place.query.trim(), saved = stored("saved").includes(query);
  byId("save").hidden = !query;
  byId("save").textContent = saved ? "★" : "☆";
  byId("save").setAttribute("aria-pressed", String(saved));
  byId("save").setAttribute("aria-label", "Save this search");
  byId("save").title = saved ? "Saved: press ↑ in the empty box to use it" : "Save this search";
}

/** Offer the saved queries, and queries that recently led to a note. */
async function offerQueries() {
  if (queryInBox()) return;
  const vault = vaultShown()?.path, saved = stored("saved");
  const found = vault ? await call("search/history", { vault, limit: HISTORY }).catch(() => null) : null;
  const former = [...new Set(found?.opened.map((each) => each.query))].filter((text) => !saved.includes(text)).slice(0, OFFERED_QUERIES);
  const items = [...saved.map((text) => ({ text, start: 0, about: "saved" })), ...former.map((text) => ({ text, start: 0, about: "" }))];
  if (!queryInBox()) offer(items);
}

function beside(result, kind) {
  if (result && kind === "go") opened(result);
  if (result) go({ note: result.path, of: result.vault_path, line: result.line ?? 0, anchor: "" }, kind);
}

function openOutside(result) {
  if (!result) return;
  opened(result);
  const target = { of: result.vault_path, note: result.path, line: result.line ?? 1 };
  if (about.editor && !page.inObsidian(target.of)) return void page.edit(target);
  const link = el("a", { href: page.obsidian(target), hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}

// ---- searching

async function search() {
  clearTimeout(again);
  const vault = vaultShown();
  const params = { query: queryAsked() || EVERY_NOTE, limit: RESULTS, typing: true, explain: place.why };
  const asked = place;
  try {
    const found = vault
      ? await call("search", { ...params, vault: vault.path }, { turn: "search" })
      : await call("search/all", params, { turn: "search" });
    if (asked.query !== place.query || asked.vault !== place.vault || asked.why !== place.why) return;
    for (const result of found.results) result.vault_path ??= found.vault_path;
    const before = answer?.results[selected];
    const anew = answered !== asking();
    answered = asking();
    answer = found;
    // A newly typed query starts at its best result, whatever note is open; Back and a reload do not.
    const wanted = anew && place.query === typed ? null : anew ? resultOf(noteVault(), place.note) : before && resultOf(before.vault_path, before.path);
    selected = wanted ? found.results.indexOf(wanted) : 0;
    if (anew) unfolded = false;
    if (selected >= page.shown) unfolded = true;
    entered = Boolean(wanted) && (anew || entered);
    trouble(null);
    showList(answer, page);
    showFacets();
    months();
    if (place.view === "graph") showGraph(answer, page);
    const waits = found.partial.some((each) => ["loading", "being_read", "being_built", "not_embedded"].includes(each.code));
    if (waits) again = setTimeout(search, AGAIN_PAUSE);
  } catch (error) {
    if (asked === place || asked.query === place.query) trouble(error);
  }
}

/** Return the query, without a quotation mark that only begins a phrase. */
const queryAsked = () => place.query.trim().replace(/^"$/, "");
const asking = () => `${place.vault}\n${place.query}`;

const months = () => {
  const vault = vaultShown();
  return showMonths({ query: queryAsked() || EVERY_NOTE, ...(vault ? { vault: vault.path } : {}) }, page).catch(trouble);
};

function unfold() {
  unfolded = true;
  showList(answer, page);
}

function searchNow() {
  if (!isTyping) return;
  isTyping = false;
  typed = queryInBox();
  go({ query: typed, view: place.view === "state" ? "list" : place.view }, "type");
}

const searchLater = settled(SEARCH_PAUSE, searchNow);

function searchSoon() {
  isTyping = true;
  searchLater();
}

/** Open the selected result of the query in the box, once its answer has arrived. */
async function openSelected() {
  searchNow();
  await searching;
  if (answered === asking()) openOutside(answer.results[selected]);
}

/** Show changes since the page was last visible. */
const lookAgain = settled(ARROW_PAUSE, () => {
  if (document.visibilityState !== "visible" || !answer) return;
  if (place.view === "list") search();
  if (place.note) showNote({ ...place, of: noteVault() }, page, { again: true });
});
addEventListener("focus", lookAgain);
document.addEventListener("visibilitychange", lookAgain);

function showFacets() {
  const filters = page.everything ? [] : narrowing(answer.results, chips);
  byId("facets").replaceChildren(...filters.map(([filter, many]) =>
    el("button", { type: "button", title: `Only ${filter}: ${counted(many, "result")}`, onclick: () => page.narrow(filter) }, worded(filter), " ", el("small", {}, many))));
}

function trouble(error) {
  if (error?.code === "superseded") return;
  const box = byId("trouble");
  box.hidden = !error;
  box.textContent = error ? error.message : "";
}

// ---- the box

const queryInBox = () => joined(chips, input.value.trim());

function fillBox(query) {
  const parts = splitQuery(query);
  chips = parts.chips;
  input.value = parts.text;
  showChips();
  offer([]);
}

function showChips() {
  byId("chips").replaceChildren(...chips.map((chip, number) =>
    el("li", { title: chip }, worded(chip), el("button", { type: "button", "aria-label": `Remove ${worded(chip)}`, onclick: () => removeChip(number) }, "×"))));
}

function removeChip(number) {
  chips = chips.filter((_, each) => each !== number);
  showChips();
  input.focus();
  go({ query: queryInBox() });
}

function takeChips() {
  const cursor = input.value.length - input.selectionStart;
  const parts = splitQuery(input.value, false);
  if (!parts.chips.length) return;
  chips = [...chips, ...parts.chips.filter((chip) => !chips.includes(chip))];
  input.value = parts.text;
  const at = Math.max(0, input.value.length - cursor);
  input.setSelectionRange(at, at);
  showChips();
}

/** Return completions of the vault, or of all vaults, adding up their counts. */
async function complete(params, vault = vaultShown()?.path) {
  const vaults = vault ? [vaultOf(vault)] : about.vaults;
  const answers = await Promise.allSettled(vaults.map(({ path }) =>
    call("complete", { limit: 8, ...params, vault: path }, { turn: `complete ${path}` })));
  const all = new Map();
  for (const item of answers.flatMap((each) => each.value?.items ?? [])) {
    const key = `${item.text}\n${item.path ?? ""}`;
    if (all.has(key)) all.get(key).count += item.count ?? 0;
    else all.set(key, item);
  }
  const ways = ["prefix", "word", "inside", "fuzzy"];
  return [...all.values()].sort((a, b) => ways.indexOf(a.match) - ways.indexOf(b.match) || (b.count ?? 0) - (a.count ?? 0));
}

const offerSoon = settled(60, async () => {
  // The suggestions of an empty box stay.
  if (!queryInBox()) return;
  const before = input.value.slice(0, input.selectionStart);
  const found = await complete({ kind: "query", text: before }).catch(() => []);
  if (before !== input.value.slice(0, input.selectionStart)) return;
  // A single letter rarely begins an operator.
  const items = found.filter((item) => item.is !== "operator" || item.replaces > 1);
  offer(items.slice(0, 8).map(({ text, replaces, about, path, count }) =>
    ({ text: text.endsWith(":") ? text : `${text} `, start: before.length - replaces, about: `${about ?? path ?? count ?? ""}` })));
});

function offer(items, active = -1) {
  offers = { items, active };
  const box = byId("offers");
  box.hidden = !items.length;
  box.replaceChildren(...items.map((item, number) =>
    el("li", { id: `offer-${number}`, role: "option", "aria-selected": String(number === active), onmousedown: (event) => (event.preventDefault(), accept(number)) },
      item.text.trim(), el("small", {}, item.about))));
  input.setAttribute("aria-controls", items.length ? "offers" : "results");
  if (active >= 0) input.setAttribute("aria-activedescendant", `offer-${active}`);
}

function accept(number) {
  const item = offers.items[number];
  // Letters typed since the offer are replaced as well.
  input.setRangeText(item.text, item.start, Math.max(item.start, input.selectionStart), "end");
  offer([]);
  takeChips();
  searchSoon();
  if (item.text.endsWith(":")) offerSoon();
}

input.addEventListener("input", () => {
  takeChips();
  searchSoon();
  if (queryInBox()) offerSoon();
  else offer([]);
});
input.addEventListener("blur", () => offer([]));

input.addEventListener("keydown", (event) => {
  // The key that moves the focus here must not be typed.
  if (event.key === "/" && !queryInBox()) return void event.preventDefault();
  const many = offers.items.length;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.isComposing) return;
  if (step && many && offers.active + step >= -1) offer(offers.items, (offers.active + step) % many);
  else if (event.key === "ArrowUp" && !queryInBox()) offerQueries();
  else if (step) move(step);
  else if (event.key === "Tab" && many && !event.shiftKey) accept(Math.max(0, offers.active));
  else if (event.key === "Enter" && offers.active >= 0) accept(offers.active);
  else if (event.key === "Enter") openSelected();
  else if (event.key === "Escape" && many) offer([]);
  else if (event.key === "Escape") input.blur();
  else if (event.key === "Backspace" && chips.length && input.selectionStart === 0 && input.selectionEnd === 0) removeChip(chips.length - 1);
  else return;
  event.preventDefault();
  event.stopPropagation();
});

// ---- keys and buttons

const showSelected = settled(ARROW_PAUSE, () => beside(answer?.results[selected], "arrow"));

function move(step) {
  const many = answer?.results.length ?? 0;
  if (!many || place.view !== "list") return;
  const wide = isWide();
  // The first arrow shows the first result, which is already selected.
  if (entered || !wide) selected = Math.min(many - 1, Math.max(0, selected + step));
  if (selected >= page.shown) unfold();
  entered = true;
  select(selected);
  if (wide) showSelected();
}

const turnTo = (view) => go({ view: place.view === view ? "list" : view, ...(view === "state" ? NO_NOTE : {}) });
const KEYS = {
  "/": () => { input.focus(); input.select(); },
  e: () => go({ why: !place.why, view: "list" }),
  k: () => keepNote({ ...place, of: noteVault() }, page),
  l: () => go({ view: "list" }),
  g: () => turnTo("graph"),
  s: () => turnTo("state"),
  "?": () => byId("keys").showModal(),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Enter: openSelected,
  Escape: () => (place.note ? page.close() : go({ view: "list" })),
};

document.addEventListener("keydown", (event) => {
  // A dialog that has just closed keeps the focus until the next drawing of the page.
  const writes = event.target.closest("input, select, textarea, dialog[open]") || document.querySelector("[popover]:popover-open");
  const acts = event.key === "Enter" && event.target.closest("a, button, summary");
  const scrolls = event.key.startsWith("Arrow") && event.target.closest("#note, #graph, #state");
  if (writes || acts || scrolls || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});

byId("search").addEventListener("submit", (event) => event.preventDefault());
byId("box").addEventListener("click", (event) => event.target === byId("box") && input.focus());
input.addEventListener("click", offerQueries);
byId("less-certain").addEventListener("click", unfold);
byId("why").addEventListener("click", KEYS.e);
byId("save").addEventListener("click", toggleSaved);
byId("months").addEventListener("toggle", months);
byId("help").addEventListener("click", KEYS["?"]);
byId("vault").addEventListener("change", (event) => go({ vault: event.target.value, ...NO_NOTE, ...NO_PATH }));
for (const view of ["list", "graph", "state"])
  byId(`view-${view}`).addEventListener("click", (event) => page.follow(view === "state" ? { view, ...NO_NOTE } : { view, note: place.note, of: place.of, line: place.line, anchor: place.anchor })(event));

const THEMES = ["", "light", "dark"];
function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
  byId("theme").textContent = { light: "☀", dark: "☾" }[name] ?? "◐";
  byId("theme").setAttribute("aria-label", `Colours: ${name || "match the system"}`);
}
byId("theme").addEventListener("click", () => theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % THEMES.length]));

// ---- why not

byId("why-note").addEventListener("input", settled(150, async (event) => {
  const paths = await page.notesNamed(event.target.value).catch(() => []);
  byId("why-notes").replaceChildren(...paths.map((path) => el("option", { value: path })));
}));
byId("why-not").addEventListener("submit", async (event) => {
  event.preventDefault();
  const note = byId("why-note").value.trim();
  if (!note) return;
  const params = { vault: vaultShown()?.path, query: place.query.trim() || EVERY_NOTE, note, limit: RESULTS };
  try {
    byId("verdict").replaceChildren(verdict(await call("search/why", params)));
  } catch (error) {
    byId("verdict").replaceChildren(el("p", { class: "trouble" }, error.message));
  }
});

// ---- the start

theme(localStorage.getItem("theme") ?? "");
try {
  await openSession();
  about = await ask("about");
  byId("vault").replaceChildren(
    ...about.vaults.map((vault) => el("option", { value: vault.name }, vault.name)),
    el("option", { value: ALL }, "All vaults"));
  if (!place.vault && !about.vault) place.vault = ALL;
  const operators = await complete({ kind: "query", limit: OPERATORS }).catch(() => []);
  useOperators(operators.map((item) => item.text));
  show(place, { first: true });
  input.focus();
} catch (error) {
  trouble(error);
  document.body.classList.add("closed");
}
