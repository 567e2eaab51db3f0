// The graph of an answer, results and their neighbours; without a query, the map of the vault by clusters. It is laid
// out before it is shown, so nothing moves.

import { ask, call } from "/api.js";
import { byId, counted, el, number, percent, svg } from "/dom.js";
import { zoomable } from "/zoom.js";

const COLOURS = [["hybrid", "words and meaning"], ["keyword", "words"], ["semantic", "meaning"], ["graph", "links"], ["filter", "filters"], ["near", "neighbours"]];
const MAP_LINK = 40;
const TICKS = 250;
const HEAD = 160;
const NAMED = 8, LABELS = 60, LABEL_CHARS = 28, SIGN = 6, LINE = 13;

let drawing = 0;
let shown = null;

export async function showGraph(answer, page) {
  if (page.everything && page.mapped) return showMap(page);
  const turn = ++drawing;
  const pane = byId("graph");
  const results = answer?.results ?? [];
  shown = null;
  if (!results.length) return void pane.replaceChildren(el("p", {}, "No results to draw."));
  let graph;
  try {
    graph = await ask("graph", { notes: results.map((each) => ({ vault: each.vault_path, path: each.path })) });
  } catch (error) {
    return void pane.replaceChildren(el("p", { class: "trouble" }, error.message));
  }
  if (turn !== drawing) return;
  shown = (width, height) => ofAnswer(results, graph, width, height);
  draw(page);
}

/** Show the notes of the whole vault by cluster, and the path between two of them, if requested. */
async function showMap(page) {
  const turn = ++drawing;
  const pane = byId("graph");
  shown = null;
  let map, walked;
  try {
    [map, walked] = await Promise.all([ask("map", { vault: page.mapped }), walk(page)]);
  } catch (error) {
    if (turn === drawing) pane.replaceChildren(el("p", { class: "trouble" }, error.message));
    return;
  }
  if (turn !== drawing) return;
  if (!map.nodes.length) return void pane.replaceChildren(el("p", {}, "No notes to draw."));
  shown = (width, height) => ofVault(map, walked, page, width, height);
  draw(page);
}

/** Return the steps of the requested path, if any, or the reason why there is none. */
async function walk(page) {
  if (!page.path) return { route: [], trouble: "" };
  try {
    const { routes, partial } = await call("graph/path", { vault: page.mapped, note: page.path.from, other: page.path.to, limit: 1 });
    const reasons = partial.map((lane) => lane.reason).join("; ");
    const meaning = reasons ? `search by meaning was left out: ${reasons}` : "no notes on the two sides are similar in meaning";
    return routes.length ? { route: routes[0], trouble: "" } : { route: [], trouble: `No links lead to ${page.path.to}, and ${meaning}.` };
  } catch (error) {
    return { route: [], trouble: error.message };
  }
}

/** Draw the same graph again in the available space; the focused node keeps the focus. */
export function redraw(page) {
  if (!shown) return;
  const { vault, path } = document.activeElement?.closest?.("a.node")?.dataset ?? {};
  draw(page);
  for (const node of byId("graph").querySelectorAll("a.node"))
    if (node.dataset.vault === vault && node.dataset.path === path) node.focus();
}

function draw(page) {
  const pane = byId("graph");
  const width = Math.max(320, pane.clientWidth - 32), room = pane.clientHeight - HEAD;
  // The steps of a path must stay visible below the drawing.
  const height = Math.max(360, page.path ? room / 2 : room);
  const { nodes, links, about, legend, above, below } = shown(width, height);
  label(nodes, width);
  const figure = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Notes and links" },
    svg("g", { class: "links" }, links.map(({ source, target, kind }) =>
      svg("line", { x1: source.x, y1: source.y, x2: target.x, y2: target.y, class: kind ?? null }))),
    nodes.map((node) => drawn(node, page)),
    // Names are above all circles; a screen reader gets them from the links.
    svg("g", { class: "labels", "aria-hidden": "true" }, nodes.filter((node) => node.label).map(({ label: { x, y, text } }) => svg("text", { x, y }, text))));
  pane.replaceChildren(
    el("p", { class: "about" }, about),
    el("ul", { class: "legend" }, legend),
    above ?? "",
    zoomable(figure, width, height),
    figure,
    below ?? "");
  markOpen(page);
}

/** Return the drawing of an answer's graph. */
function ofAnswer(results, graph, width, height) {
  const found = new Map(results.map((each) => [`${each.vault_path}\n${each.path}`, each]));
  const nodes = graph.nodes.map((node) => {
    const result = found.get(`${node.vault}\n${node.path}`);
    const kind = result ? (result.search_method ?? "").includes("+") ? "hybrid" : result.search_method || "keyword" : "near";
    return { ...node, result, kind, title: result?.title ?? node.title ?? node.path, r: result ? 6 + 12 * result.certainty : 4 };
  });
  const links = graph.edges.map(([source, target]) => ({ source, target }));
  lay(nodes, links, width, height);
  for (const node of nodes) node.name = named(node);
  const kinds = COLOURS.filter(([kind]) => nodes.some((node) => node.kind === kind));
  const left = graph.left_out ? `; ${counted(graph.left_out, "neighbour")} left out` : "";
  return {
    nodes, links,
    about: `${counted(results.length, "result")}, ${counted(nodes.length - results.length, "neighbour")}, ${counted(links.length, "link")}${left}. Larger circles are more certain results.`,
    legend: kinds.map(([kind, name]) => el("li", { class: kind }, name)),
  };
}

/** Return the drawing of a vault's map, with the steps of a route. */
function ofVault(map, { route, trouble }, page, width, height) {
  const most = Math.sqrt(Math.max(...map.nodes.map((node) => node.rank))) || 1;
  const onRoute = new Set(route.map((step) => step.path));
  const hubs = new Set(map.clusters.map((each) => each.hub));
  const nodes = map.nodes.map((node) => ({
    ...node,
    kind: [map.clusters[node.cluster] ? `cluster-${node.cluster}` : "near", onRoute.has(node.path) ? "step" : ""].filter(Boolean).join(" "),
    name: [node.title, map.clusters[node.cluster]?.name].filter(Boolean).join(", cluster "),
    r: 3 + 12 * (Math.sqrt(node.rank) / most),
    first: onRoute.has(node.path) || hubs.has(node.path),
  }));
  const places = new Map(nodes.map((node) => [node.path, node]));
  for (const step of route)
    if (!places.has(step.path)) places.set(step.path, nodes[nodes.push({ vault: page.mapped, path: step.path, title: step.title, kind: "near step", name: step.title, r: 5, first: true }) - 1]);
  const links = map.edges.map(([source, target]) => ({ source, target }));
  lay(nodes, links, width, height, MAP_LINK);
  for (let at = 1; at < route.length; at++)
    links.push({ source: places.get(route[at - 1].path), target: places.get(route[at].path), kind: route[at].by === "meaning" ? "step meaning" : "step" });
  const drawnNotes = map.total > map.nodes.length ? `The ${number(map.nodes.length)} most linked of ${counted(map.total, "note")}` : counted(map.total, "note");
  return {
    nodes, links,
    about: `${drawnNotes}, ${counted(map.edges.length, "link")}. Larger circles have more backlinks. A cluster is named after the note with the most links in it.`,
    legend: map.clusters.map((each, place) => el("li", { class: `cluster-${place}` },
      el("button", { type: "button", title: `Search ${each.words}`, onclick: () => page.search(each.words) }, each.name, " ", el("small", {}, number(each.notes))))),
    above: trouble && el("p", { class: "trouble", role: "status" }, trouble),
    below: page.path && path(route, page),
  };
}

/** Return the steps of a path, each with the line of its link. */
function path(route, page) {
  const steps = route.map((step) => {
    const target = { note: step.path, of: page.mapped, line: 0, anchor: "" };
    const by = step.by === "link" ? `${step.direction === "in" ? "←" : "→"} ${(step.text ?? "").replace(/^\s*[-*+]\s+/, "")}` : step.by === "meaning" ? "~ no link, similar in meaning" : "";
    return el("li", {}, el("a", { href: page.address(target), onclick: page.follow(target) }, step.title), by ? el("p", {}, by) : null);
  });
  return el("div", { class: "route" },
    steps.length ? el("ol", { class: "steps", "aria-label": "Path" }, steps) : null,
    el("button", { type: "button", onclick: () => page.walk("", "") }, "Without the path"));
}

/** Mark the node of the open note. */
export function markOpen(page) {
  for (const node of byId("graph").querySelectorAll("a.node"))
    node.toggleAttribute("aria-current", page.isOpen(node.dataset.vault, node.dataset.path));
}

/** Label each node below, above or beside its circle if the label covers no other label or node; labels of the first results, of a path and of clusters are always shown and cover as few nodes as possible. */
function label(nodes, width) {
  const circles = nodes.map((node) => [node.x - node.r, node.y - node.r, node.x + node.r, node.y + node.r]);
  const names = [];
  for (const [place, node] of [...nodes.entries()].sort(([, a], [, b]) => Boolean(b.first) - Boolean(a.first))) {
    const text = node.title.length > LABEL_CHARS ? `${node.title.slice(0, LABEL_CHARS - 1)}…` : node.title;
    const half = (textWidth(text) + 2) / 2, middle = Math.min(width - half - 2, Math.max(half + 2, node.x));
    const level = node.y + 4, aside = node.r + half + 3;
    const places = [
      { x: middle, y: node.y + node.r + LINE - 1 }, { x: middle, y: node.y - node.r - 4 },
      ...[node.x + aside, node.x - aside].filter((x) => x - half > 0 && x + half < width).map((x) => ({ x, y: level })),
    ];
    const box = ({ x, y }) => [x - half, y - LINE + 2, x + half, y + 2];
    const isNamed = (at) => names.some((each) => cover(each, box(at)));
    const covered = (at) => circles.filter((each, other) => other !== place && cover(each, box(at))).length;
    const [at] = places.filter((each) => !isNamed(each) && (place < NAMED || node.first || !covered(each))).sort((one, other) => covered(one) - covered(other));
    if (!at || names.length >= LABELS) continue;
    names.push(box(at));
    node.label = { ...at, text };
  }
}

const WIDE_SIGN = /[\u1100-\u11ff\u2e80-\ud7af\uf900-\ufaff\uff00-\uff60]/g;
const textWidth = (text) => (text.length + (text.match(WIDE_SIGN)?.length ?? 0)) * SIGN;

/** Place every node; the same graph always gets the same layout. */
function lay(nodes, links, width, height, distance = 60) {
  const { forceSimulation, forceLink, forceManyBody, forceCollide, forceX, forceY } = globalThis.d3;
  forceSimulation(nodes)
    .force("link", forceLink(links).distance(distance).strength(0.4))
    .force("charge", forceManyBody().strength(-140))
    .force("collide", forceCollide((node) => node.r + 5))
    .force("x", forceX().strength(0.07))
    .force("y", forceY().strength(0.07))
    .stop()
    .tick(TICKS);
  for (const [axis, room, margin] of [["x", width, 60], ["y", height, 30]]) {
    const all = nodes.map((node) => node[axis]);
    const least = Math.min(...all), span = Math.max(...all) - least || 1;
    for (const node of nodes) node[axis] = margin + ((node[axis] - least) / span) * (room - 2 * margin);
  }
}

const cover = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

const named = (node) => node.result
  ? `${node.title}, certainty ${percent(node.result.certainty)}, found by ${COLOURS.find(([kind]) => kind === node.kind)?.[1] ?? node.kind}`
  : `${node.title}, neighbour`;

function drawn(node, page) {
  const { name } = node;
  const target = { note: node.path, of: node.vault, line: node.result?.line ?? 0, anchor: "" };
  return svg("a", { href: page.address(target), "aria-label": name, class: `node ${node.kind}`, "data-vault": node.vault, "data-path": node.path, onclick: page.follow(target) },
    svg("title", {}, name),
    svg("circle", { cx: node.x, cy: node.y, r: node.r }));
}
