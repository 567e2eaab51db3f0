// A note beside the list: its text, the passage that matched, embeds, and the notes around it.

import { ask, call, picture } from "/api.js";
import { age, byId, counted, currency, el, number, placeName, settled } from "/dom.js";
import { baseTable, fillBases } from "/tables.js";

const EMBED_DEPTH = 2;
const EMBEDS = 20;
const PICTURES = 60;
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif|svg)$/i;
const PAGE_MARGIN = "800px";

// The only place where HTML becomes elements; it comes from the server's renderer and sanitiser.
const policy = globalThis.trustedTypes?.createPolicy("vaultseek", { createHTML: (html) => html });

let pictures = [];
let reading = 0;
let shownNote = "";

/** Show a note. ``page`` has the targets of links, the passage of the result, and the words to mark.
 * ``again``, it is redrawn only if it has changed, and what is in view stays there. */
export async function showNote(place, page, { again = false } = {}) {
  const turn = ++reading;
  const pane = byId("note");
  let note;
  if (PICTURE.test(place.note)) return again || showPicture(place, page);
  try {
    note = await ask("note", { vault: place.of, note: place.note, line: page.lineOf(place) || 1, at: place.anchor, column: page.column(place.of, place.note) });
  } catch (error) {
    if (turn === reading) pane.replaceChildren(head(place.note, place, page), el("p", { class: "trouble" }, error.message));
    return;
  }
  if (turn !== reading) return;
  const before = shownNote, top = pane.scrollTop;
  shownNote = JSON.stringify(note);
  if (again && shownNote === before) return;
  forgetPictures();
  const article = el("article", { class: "text" });
  if (note.kind === "base") article.append(baseTable(place.of, note.path, place.anchor, page));
  else article.innerHTML = policy ? policy.createHTML(note.html) : note.html;
  const first = article.firstElementChild;
  if (first?.localName === "h1" && plain(first.textContent) === plain(note.title)) first.hidden = true;
  outline(article);
  pane.replaceChildren(
    head(note.title, { ...place, note: note.path }, page, note),
    currency(note) ?? "",
    properties(note, page),
    cut(note),
    article,
    around("Backlinks", "links/backlinks", place, page, (answer) => answer.links.map((link) => [link, link.text])),
    around("Mentions without a link", "links/unlinked", place, page, (answer) => answer.mentions.map((each) => [each, each.text])),
    around("Related", "note/related", place, page, (answer) => answer.results.map((each) => [each, each.preview])));
  const here = { vault: place.of, path: note.path };
  wire(article, here, page);
  if (note.kind !== "base") showPlaces(article, note);
  if (note.kind === "pdf") showPages(article, place.of, note.path);
  mark(article, page.passage(place, note.path), note.at_line ?? place.line, page.words(place.of, note.path));
  if (again) pane.scrollTop = top;
  const budget = { left: EMBEDS };
  fillPictures(article, place.of);
  fillEmbeds(article, here, page, 1, budget);
  fillBases(article, place.of, note.path, page);
}

function showPicture(place, page) {
  forgetPictures();
  const name = place.note.split("/").pop();
  const article = el("article", { class: "text" }, el("img", { alt: name, "data-file": place.note }));
  byId("note").replaceChildren(head(name, place, page, { obsidian_url: page.obsidian(place) }), article);
  fillPictures(article, place.of);
}

function cut(note) {
  if (!note.cut && !note.cut_lines) return "";
  return el("p", { class: "cut" },
    note.cut ? `This note is long: lines ${number(note.first_line)} to ${number(note.last_line)} of ${number(note.lines)} are shown.` : "",
    note.cut_lines ? " Very long lines are truncated." : "");
}

function head(title, place, page, note = null) {
  const obsidian = note?.obsidian_url && page.inObsidian(place.of) !== false;
  const isKept = kept().some((each) => same(each, place));
  const editor = page.editor ? el("button", { type: "button", onclick: () => page.edit(place) }, `Open in ${page.editor}`) : null;
  const first = obsidian ? el("a", { class: "button", href: note.obsidian_url, title: "Open in Obsidian", "aria-label": "Open in Obsidian" }, "Open") : editor;
  return el("header", {},
    openNotes(place, page),
    el("div", { class: "titled" },
      el("h1", {}, title),
      note ? first : null,
      note ? menu(
        first === editor ? null : editor,
        el("button", { type: "button", class: "keep", "aria-pressed": String(isKept), title: "Keep the note open beside others (k)", onclick: () => keepNote(place, page) }, "Keep open"),
        el("button", { type: "button", onclick: () => print() }, "Print"),
        pathForm(place, page)) : null,
      el("button", { class: "close", "aria-label": "Close the note", title: "Close (Esc)", onclick: page.close }, "×")),
    el("p", { class: "where" }, [page.vaultName(place.of), place.note].filter(Boolean).join(" / "),
      note?.modified ? ` · ${age(note.modified)}` : ""));
}

const isPhone = () => matchMedia("(max-width: 30rem)").matches;

/** Return the button of a menu, and the menu, which opens below it. */
function menu(...items) {
  const button = el("button", { type: "button", popovertarget: "note-menu", "aria-label": "More", title: "More" }, "⋯");
  const box = el("div", { id: "note-menu", popover: "auto" }, items);
  box.addEventListener("beforetoggle", () => {
    const { bottom, right } = button.getBoundingClientRect();
    box.style.setProperty("top", `${bottom + 4}px`);
    box.style.setProperty("right", isPhone() ? "8px" : `${document.documentElement.clientWidth - right}px`);
  });
  return [button, box];
}

// ---- notes that stay open in this tab

const kept = () => JSON.parse(sessionStorage.getItem("notes") ?? "[]");
const same = (one, other) => one.note === other.note && one.of === other.of;

/** Keep a note open, or no longer. */
export function keepNote({ note, of }, page) {
  if (!note) return;
  const others = kept().filter((each) => !same(each, { note, of }));
  sessionStorage.setItem("notes", JSON.stringify(others.length < kept().length ? others : [...others, { note, of }]));
  byId("note").querySelector(".open-notes").replaceWith(openNotes({ note, of }, page));
  byId("note").querySelector(".keep")?.setAttribute("aria-pressed", String(kept().some((each) => same(each, { note, of }))));
}

function openNotes(place, page) {
  const notes = kept();
  return el("nav", { class: "open-notes", "aria-label": "Open notes", hidden: !notes.length },
    notes.map(({ note, of }) => {
      const target = { note, of, line: 0, anchor: "" };
      return el("a", { href: page.address(target), title: note, "aria-current": same(target, place) ? "page" : null, onclick: page.follow(target) },
        note.split("/").pop().replace(/\.md$/, ""));
    }));
}

/** Return the form that requests the path to another note, which the map draws. */
function pathForm(place, page) {
  const box = el("input", { id: "path-to", placeholder: "another note", autocomplete: "off", list: "path-notes", required: true });
  const names = el("datalist", { id: "path-notes" });
  box.addEventListener("input", settled(150, async () => {
    const paths = await page.notesNamed(box.value, place.of).catch(() => []);
    names.replaceChildren(...paths.map((path) => el("option", { value: path })));
  }));
  const walk = (event) => {
    event.preventDefault();
    byId("note-menu").hidePopover();
    if (box.value.trim()) page.walk(place.note, box.value.trim(), place.of);
  };
  return el("form", { class: "path-form", onsubmit: walk }, el("label", { for: "path-to" }, "Path to…"), box, names, el("button", {}, "Show"));
}

function properties(note, page) {
  const rows = Object.entries(note.properties).map(([name, value]) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, shown(value))));
  const tags = note.tags.map((tag) => el("li", {}, el("a", { class: "tag", href: page.address({ query: `tag:${tag}`, note: "" }), "data-tag": tag }, `#${tag}`)));
  const list = el("ul", { class: "tags", "aria-label": "Tags" }, tags);
  list.addEventListener("click", (event) => followTag(event, page));
  return [tags.length ? list : "", rows.length ? el("details", { class: "properties" },
    el("summary", {}, counted(rows.length, "property", "properties")), el("table", {}, rows)) : ""]
    .filter(Boolean).reduce((all, each) => (all.append(each), all), el("div", { class: "facts" }));
}

const shown = (value) =>
  Array.isArray(value) ? value.map(shown).join(", ")
  : value !== null && typeof value === "object" ? JSON.stringify(value)
  : String(value ?? "");

function around(title, method, place, page, items) {
  const list = el("ul", {});
  const count = el("span", { class: "count" });
  const box = el("details", { class: "around" }, el("summary", {}, title, " ", count), list);
  call(method, { vault: place.of, note: place.note, limit: 30 }, { turn: method })
    .then((answer) => {
      const found = items(answer);
      count.textContent = String(answer.total ?? found.length);
      if (!found.length) return box.classList.add("empty");
      list.append(...found.map(([note, text]) => {
        const target = { note: note.path, of: place.of, line: note.line ?? 0, anchor: "" };
        return el("li", {},
          el("a", { href: page.address(target), onclick: page.follow(target) }, note.title),
          currency(note),
          text ? el("p", {}, read(text)) : null);
      }));
      box.open = true;
    })
    .catch(() => box.classList.add("empty"));
  return box;
}

/** Return a line of Markdown as displayed: without markup, and with the text of links. */
const read = (line) => line
  .replace(/^[\s>]*(?:(?:[-*+]|\d+[.)])\s+(?:\[.\]\s+)?|#{1,6}\s+)?/, "")
  .replace(/!?\[\[([^[\]|]*)(?:\|([^[\]]*))?\]\]/g, (_, target, words) => words || target.replaceAll("#", " › "))
  .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
  .replace(/\*\*|__|==|~~|`/g, "");

/** Nest the headings of a text below the note's title without skipping levels; their size follows the written level. */
function outline(text) {
  const open = [];
  for (const heading of [...text.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter((each) => !each.hidden)) {
    const level = Number(heading.localName[1]);
    while (open.at(-1) >= level) open.pop();
    open.push(level);
    const next = el(`h${Math.min(6, open.length + 1)}`);
    Object.assign(next.dataset, heading.dataset, { level });
    next.append(...heading.childNodes);
    heading.replaceWith(next);
  }
}

const TASKS = {
  " ": "To do", x: "Done", X: "Done", "/": "In progress", "-": "Cancelled", ">": "Forwarded", "<": "Scheduled", "?": "Question",
  "!": "Important", "*": "Star", '"': "Quote", l: "Place", b: "Bookmark", i: "Information", S: "Savings", I: "Idea", p: "Pro", c: "Con",
  f: "Fire", k: "Key", w: "Win", u: "Up", d: "Down",
};
const REASONS = {
  mermaid: "Shown as code: drawing Mermaid takes a 3 MB library, with styles that this page blocks for safety. Obsidian can draw it.",
  ...Object.fromEntries(["dataview", "dataviewjs", "tasks", "query"].map((name) => [name, "Shown as code: this block is a query that Obsidian runs."])),
};

/** Show the states of tasks, and explain why a block that Obsidian draws is shown as code. */
function drawMarks(article) {
  for (const box of article.querySelectorAll("input[data-task]")) {
    const state = box.dataset.task, name = TASKS[state] ?? `State ${state}`;
    box.className = "task";
    if (" xX".includes(state)) box.setAttribute("aria-label", name);
    else box.replaceWith(el("span", { class: "task", role: "img", "data-task": state, "aria-label": name, title: name }, state));
  }
  for (const code of article.querySelectorAll("pre > code[data-language]")) {
    const reason = REASONS[code.dataset.language];
    if (reason) code.parentElement.after(el("p", { class: "note" }, reason));
  }
}

/** Make the links of a rendered text open their targets within the page. */
function wire(article, here, page) {
  drawMarks(article);
  for (const link of article.querySelectorAll("a[data-note], a.here")) {
    link.href = page.address({ note: link.dataset.note ?? here.path, of: here.vault, line: 0, anchor: link.dataset.anchor ?? "" });
  }
  for (const link of article.querySelectorAll("a.tag")) link.href = page.address({ query: `tag:${link.dataset.tag}`, note: "" });
  for (const link of article.querySelectorAll("a.outside")) link.target = "_blank";
  for (const link of article.querySelectorAll("a.lost")) {
    link.title = "No file has this name";
    if (!link.dataset.target || !page.canMake(here.vault)) continue;
    Object.assign(link, { href: "#", title: "No file has this name: create the note" });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      event.stopPropagation();
      page.make(link.dataset.target, here);
    });
  }
  for (const code of article.querySelectorAll("pre")) code.tabIndex = 0;
  article.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (followTag(event, page)) return;
    if (link.dataset.note || link.classList.contains("here")) {
      page.follow({ note: link.dataset.note ?? here.path, of: here.vault, line: 0, anchor: link.dataset.anchor ?? "" })(event);
    } else if (link.getAttribute("href")?.startsWith("#")) {
      event.preventDefault();
      article.querySelector(`[id="${CSS.escape(link.getAttribute("href").slice(1))}"]`)?.scrollIntoView();
    }
  });
}

function followTag(event, page) {
  const tag = event.target.closest("a.tag")?.dataset.tag;
  if (!tag) return false;
  event.preventDefault();
  page.narrow(`tag:${tag}`);
  return true;
}

const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

/** Mark where a page of a PDF, a card of a canvas and so on begins. */
function showPlaces(article, note) {
  for (const { place, line } of note.places) {
    const block = [...article.children].find((each) => Number(each.dataset.end ?? 0) >= line);
    if (block && line <= note.last_line) block.before(el("p", { class: "place" }, placeName(place)));
  }
}

/** Show the pages of a PDF as they come into view, each with its text below. */
function showPages(article, vault, path) {
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      loadPage(target.firstChild, vault, path);
    }
  }, { root: byId("note"), rootMargin: PAGE_MARGIN });
  for (const place of article.querySelectorAll(".place")) {
    const text = el("details", { class: "drawn" }, el("summary", {}, "Text"));
    while (place.nextElementSibling && !place.nextElementSibling.matches(".place")) text.append(place.nextElementSibling);
    const sheet = sheetOf(place.textContent);
    place.after(sheet, ...(text.children.length > 1 ? [text] : []));
    seen.observe(sheet);
  }
}

/** Return an empty sheet for drawing a page of a PDF. */
const sheetOf = (name) => el("div", { class: "sheet" }, el("img", { class: "page", alt: name, "data-page": /\d+/.exec(name)?.[0] ?? "1" }));

function loadPage(image, vault, path) {
  picture(vault, path, Number(image.dataset.page)).then(
    (address) => {
      pictures.push(address);
      image.src = address;
    },
    (error) => image.parentElement.replaceWith(el("p", { class: "lost" }, error.message)));
}

const isOuter = (block, article) => block.parentElement === article || block.parentElement.matches(".drawn");

/** Mark the passage and the words in it, and bring its line into view. */
function mark(article, passage, line, words) {
  const [first, last] = passage ?? [line, line];
  let target = null;
  for (const block of article.querySelectorAll("[data-line]")) {
    const from = Number(block.dataset.line), to = Number(block.dataset.end);
    if (first && isOuter(block, article) && from <= last && to >= first) block.classList.add("passage");
    if (line && from <= line && line <= to) target = block;
  }
  if (words.length) markWords(passage ? article.querySelectorAll(".passage") : [article], words);
  // Folded parts that contain the match are opened.
  for (const fold of article.querySelectorAll("details"))
    if (fold.contains(target) || fold.querySelector("mark.word")) fold.open = true;
  // If a paragraph is longer than the screen, show the first matching word.
  const word = target?.offsetHeight > byId("note").clientHeight ? target.querySelector("mark.word") : null;
  const drawn = target?.parentElement.previousElementSibling;
  if (drawn?.matches(".sheet")) drawn.scrollIntoView();
  else if (target && (line > 1 || word)) (word ?? target).scrollIntoView({ block: "center" });
  else byId("note").scrollTo(0, 0);
}

function markWords(blocks, words) {
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  for (const block of blocks) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      const found = [...text.data.matchAll(pattern)];
      if (!found.length) continue;
      const parts = [];
      let end = 0;
      for (const match of found) {
        parts.push(text.data.slice(end, match.index), el("mark", { class: "word" }, match[0]));
        end = match.index + match[0].length;
      }
      text.replaceWith(...parts, text.data.slice(end));
    }
  }
}

function fillPictures(root, vault) {
  for (const image of [...root.querySelectorAll("img:not(.page)")].slice(0, PICTURES)) {
    if (!image.dataset.file) {
      const address = image.dataset.address;
      const name = `Picture: ${image.alt || address || "none"}`;
      image.replaceWith(address
        ? el("a", { class: "outside", href: address, target: "_blank", rel: "noopener noreferrer" }, name)
        : el("span", { class: "lost" }, name));
      continue;
    }
    picture(vault, image.dataset.file).then(
      (address) => {
        if (address.startsWith("blob:")) pictures.push(address);
        image.src = address;
      },
      (error) => image.replaceWith(el("span", { class: "lost", title: error.message }, `Picture: ${image.alt}`)));
  }
}

function forgetPictures() {
  for (const address of pictures) URL.revokeObjectURL(address);
  pictures = [];
}

/** Show the embeds of the note at `here` in `root`. */
async function fillEmbeds(root, here, page, depth, budget) {
  const { vault } = here;
  for (const place of root.querySelectorAll("span.embed")) {
    if (budget.left-- <= 0) return;
    const target = { note: place.dataset.note, of: vault, line: 0, anchor: place.dataset.anchor ?? "" };
    const title = el("a", { href: page.address(target), onclick: page.follow(target) }, place.textContent);
    const embedded = (...parts) => place.replaceWith(el("div", { class: "embedded" }, el("p", { class: "from" }, title), ...parts));
    if (target.note.endsWith(".base")) {
      embedded(baseTable(vault, target.note, target.anchor, page, here.path));
      continue;
    }
    if (target.note.endsWith(".pdf")) {
      const sheet = sheetOf(target.anchor);
      embedded(sheet);
      loadPage(sheet.firstChild, vault, target.note);
      continue;
    }
    let note;
    try {
      note = await ask("note", { vault, note: target.note, anchor: target.anchor });
    } catch (error) {
      place.replaceWith(el("span", { class: "lost", title: error.message }, place.textContent));
      continue;
    }
    const text = el("div", { class: "text" });
    text.innerHTML = policy ? policy.createHTML(note.html) : note.html;
    for (const block of text.querySelectorAll("[data-line]")) block.removeAttribute("data-line");
    outline(text);
    const there = { vault, path: note.path };
    wire(text, there, page);
    fillPictures(text, vault);
    embedded(text);
    if (depth < EMBED_DEPTH) await fillEmbeds(text, there, page, depth + 1, budget);
  }
}
