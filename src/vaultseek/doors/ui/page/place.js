// The state of the page as its address, so that Back, Forward, a reload and a second tab work.

const NOTHING = { query: "", vault: "", view: "list", note: "", of: "", line: 0, anchor: "", why: false, from: "", to: "" };
const NAMES = { query: "q", vault: "in", view: "view", note: "note", of: "of", line: "line", anchor: "at", why: "why", from: "from", to: "to" };

export function placeOf(url) {
  const values = new URL(url).searchParams;
  const place = { ...NOTHING };
  for (const [key, name] of Object.entries(NAMES)) if (values.has(name)) place[key] = values.get(name);
  place.line = Math.max(0, Number.parseInt(place.line, 10) || 0);
  place.why = place.why === "1";
  if (!["list", "graph", "state"].includes(place.view)) place.view = "list";
  return place;
}

export function addressOf(place) {
  const values = new URLSearchParams();
  for (const [key, name] of Object.entries(NAMES)) {
    const value = place[key] ?? NOTHING[key];
    if (value !== NOTHING[key]) values.set(name, value === true ? "1" : value);
  }
  const text = values.toString();
  return text ? `/?${text}` : "/";
}
