// Creation of elements. Text is always set as text; the only HTML comes from a rendered note, see note.js.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) node.style.setProperty(key, each);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

/** Return the parts of a text, with the ranges (in code points) marked. */
export function marked(text, ranges) {
  const points = Array.from(text);
  const parts = [];
  let end = 0;
  for (const [from, to] of ranges) {
    parts.push(points.slice(end, from).join(""), el("mark", {}, points.slice(from, to).join("")));
    end = to;
  }
  parts.push(points.slice(end).join(""));
  return parts;
}

const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** Return how long ago a time was, in words. */
export function age(iso) {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  return unit ? relative.format(Math.trunc(seconds / unit[1]), unit[0]) : "just now";
}

export const number = (value) => value.toLocaleString("en");

export const percent = (share) => `${Math.round(share * 100)}%`;

export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** Return the line that says how a note is outdated, or which one it replaces; null for a current note. */
export const currency = (note) => (note.currency ? el("div", { class: `currency ${note.currency.state}` }, note.currency.text) : null);

/** Return the name of a place in a file: "page 3" of a PDF, "#id" of a card, a drawing's element or a view. */
export const placeName = (place) => (/^page=\d+$/.test(place) ? place.replace("=", " ") : `#${place}`);

/** Return a function that delays ``call`` until it has not been called again for ``milliseconds``. */
export function settled(milliseconds, call) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}
