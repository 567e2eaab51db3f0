// The graph of an answer: results and their neighbours. It is laid out before it is shown, so nothing moves.

import { ask } from "/api.js";
import { byId, counted, el, percent, svg } from "/dom.js";
import { zoomable } from "/zoom.js";

const COLOURS = [["hybrid", "words and meaning"], ["keyword", "words"], ["semantic", "meaning"], ["graph", "links"], ["filter", "filters"], ["near", "neighbours"]];
const TICKS = 250;
const HEAD = 160;
const NAMED = 8, LABELS = 60, LABEL_CHARS = 28, SIGN = 6, LINE = 13;

let drawing = 0;
let shown = null;

export async function showGraph(answer, page) {
  const turn = ++drawing;
  const pane = byId("graph");
  const results = answer?.results ?? [];
  shown = null;
  if (!results.length) return void pane.replaceChildren(el("p", {}, "No results, so no graph."));
  let graph;
  try {
    graph = await ask("graph", { notes: results.map((each) => ({ vault: each.vault_path, path: each.path })) });
  } catch (error) {
    return void pane.replaceChildren(el("p", { class: "trouble" }, error.message));
  }
  if (turn !== drawing) return;
  shown = { results, graph };
  draw(page);
}

/** Draw the same graph again, in the room that there is now; the node that has the focus keeps it. */
export function redraw(page) {
  if (!shown) return;
  const { vault, path } = document.activeElement?.closest?.("a.node")?.dataset ?? {};
  draw(page);
  for (const node of byId("graph").querySelectorAll("a.node"))
    if (node.dataset.vault === vault && node.dataset.path === path) node.focus();
}

function draw(page) {
  const pane = byId("graph");
  const { results, graph } = shown;
  const found = new Map(results.map((each) => [`${each.vault_path}\n${each.path}`, each]));
  const nodes = graph.nodes.map((node) => {
    const result = found.get(`${node.vault}\n${node.path}`);
    const kind = result ? (result.search_method ?? "").includes("+") ? "hybrid" : result.search_method || "keyword" : "near";
    return { ...node, result, kind, title: result?.title ?? node.title ?? node.path, r: result ? 6 + 12 * result.certainty : 4 };
  });
  const links = graph.edges.map(([source, target]) => ({ source, target }));
  const width = Math.max(320, pane.clientWidth - 32), height = Math.max(360, pane.clientHeight - HEAD);
  lay(nodes, links, width, height);
  label(nodes, width);
  const figure = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Notes and links" },
    svg("g", { class: "links" }, links.map(({ source, target }) =>
      svg("line", { x1: source.x, y1: source.y, x2: target.x, y2: target.y }))),
    nodes.map((node) => drawn(node, page)),
    // Names lie above all circles; a screen reader has them from the links.
    svg("g", { class: "labels", "aria-hidden": "true" }, nodes.filter((node) => node.label).map(({ label: { x, y, text } }) => svg("text", { x, y }, text))));
  const kinds = COLOURS.filter(([kind]) => nodes.some((node) => node.kind === kind));
  pane.replaceChildren(
    el("p", { class: "about" }, `${counted(results.length, "result")}, ${counted(nodes.length - results.length, "neighbour")}, ${counted(links.length, "link")}`,
      graph.left_out ? `; ${counted(graph.left_out, "neighbour")} left out` : "", ". Larger: more certain."),
    el("ul", { class: "legend" }, kinds.map(([kind, name]) => el("li", { class: kind }, name))),
    zoomable(figure, width, height),
    figure);
  markOpen(page);
}

/** Mark the node of the note that is open. */
export function markOpen(page) {
  for (const node of byId("graph").querySelectorAll("a.node"))
    node.toggleAttribute("aria-current", page.isOpen(node.dataset.vault, node.dataset.path));
}

/** Give the nodes a label each, as far as none covers another one or a node; those of the first results may cover nodes. */
function label(nodes, width) {
  const circles = nodes.map((node) => [node.x - node.r, node.y - node.r, node.x + node.r, node.y + node.r]);
  const names = [];
  for (const [place, node] of nodes.entries()) {
    const text = node.title.length > LABEL_CHARS ? `${node.title.slice(0, LABEL_CHARS - 1)}…` : node.title;
    const half = (text.length * SIGN) / 2, x = Math.min(width - half - 2, Math.max(half + 2, node.x));
    const below = node.y + node.r + LINE - 1, above = node.y - node.r - 4;
    const box = (y) => [x - half, y - LINE + 2, x + half, y + 2];
    const isNamed = (y) => names.some((each) => cover(each, box(y)));
    const isFree = (y) => !isNamed(y) && !circles.some((each, other) => other !== place && cover(each, box(y)));
    const y = [below, above].find(isFree) ?? (place < NAMED ? [below, above].find((each) => !isNamed(each)) : undefined);
    if (y === undefined || names.length >= LABELS) continue;
    names.push(box(y));
    node.label = { x, y, text };
  }
}

/** Give every node its place; the arrangement of the same graph is always the same. */
function lay(nodes, links, width, height) {
  const { forceSimulation, forceLink, forceManyBody, forceCollide, forceX, forceY } = globalThis.d3;
  forceSimulation(nodes)
    .force("link", forceLink(links).distance(60).strength(0.4))
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

function drawn(node, page) {
  const target = { note: node.path, of: node.vault, line: node.result?.line ?? 0, anchor: "" };
  const name = node.result
    ? `${node.title}, certainty ${percent(node.result.certainty)}, by ${COLOURS.find(([kind]) => kind === node.kind)?.[1] ?? node.kind}`
    : `${node.title}, neighbour`;
  return svg("a", { href: page.address(target), "aria-label": name, class: `node ${node.kind}`, "data-vault": node.vault, "data-path": node.path, onclick: page.follow(target) },
    svg("title", {}, name),
    svg("circle", { cx: node.x, cy: node.y, r: node.r }));
}
