// Zooming and moving a drawing through its viewBox, by wheel, pointer, keys and buttons.

import { el } from "/dom.js";

const STEP = 1.25, CLOSEST = 8;

/** Let ``drawing`` of a width and height be zoomed and moved; return its buttons. */
export function zoomable(drawing, width, height) {
  let view = { x: 0, y: 0, scale: 1 };

  function show(next) {
    const scale = Math.min(CLOSEST, Math.max(1, next.scale));
    const within = (value, all) => Math.min(all - all / scale, Math.max(0, value));
    view = { x: within(next.x, width), y: within(next.y, height), scale };
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${width / scale} ${height / scale}`);
    drawing.style.setProperty("--zoom", scale);
    drawing.classList.toggle("zoomed", scale > 1);
  }
  /** Zoom around a point, given as shares of the visible width and height. */
  function zoom(factor, left = 0.5, top = 0.5) {
    const scale = Math.min(CLOSEST, Math.max(1, view.scale * factor));
    show({
      x: view.x + left * (width / view.scale - width / scale),
      y: view.y + top * (height / view.scale - height / scale),
      scale,
    });
  }
  const move = (right, down) => show({ ...view, x: view.x + (right * width) / view.scale, y: view.y + (down * height) / view.scale });
  const share = (event) => {
    const box = drawing.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };

  drawing.addEventListener("wheel", (event) => {
    // Without Ctrl, the wheel scrolls the page as usual, unless the drawing is zoomed.
    if (!event.ctrlKey && view.scale === 1) return;
    event.preventDefault();
    zoom(STEP ** (-Math.sign(event.deltaY)), ...share(event));
  }, { passive: false });

  let from = null;
  let dragged = false;
  drawing.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.button === 0 && view.scale > 1) from = share(event);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = share(event);
    if (!dragged && Math.hypot(to[0] - from[0], to[1] - from[1]) < 0.01) return;
    if (!dragged) drawing.setPointerCapture(event.pointerId);
    dragged = true;
    move(from[0] - to[0], from[1] - to[1]);
    from = to;
  });
  for (const name of ["pointerup", "pointercancel"]) drawing.addEventListener(name, () => (from = null));
  // A click at the end of a drag follows no link.
  drawing.addEventListener("click", (event) => {
    if (dragged) {
      event.preventDefault();
      event.stopPropagation();
    }
    dragged = false;
  }, true);
  drawing.addEventListener("dragstart", (event) => event.preventDefault());

  const KEYS = {
    "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), 0: () => zoom(0),
    ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1),
  };
  function press(event) {
    dragged = false;
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    if (event.key.startsWith("Arrow") && view.scale === 1) return;
    event.preventDefault();
    event.stopPropagation();
    KEYS[event.key]();
  }
  drawing.addEventListener("keydown", press);
  // A node that is reached by Tab scrolls into view.
  drawing.addEventListener("focusin", (event) => {
    const circle = event.target.querySelector("circle");
    if (!circle || view.scale === 1) return;
    const x = Number(circle.getAttribute("cx")), y = Number(circle.getAttribute("cy"));
    const wide = width / view.scale, high = height / view.scale;
    if (x < view.x || x > view.x + wide || y < view.y || y > view.y + high) show({ ...view, x: x - wide / 2, y: y - high / 2 });
  });
  const button = (sign, name, act) => el("button", { type: "button", "aria-label": name, title: name, onclick: act, onkeydown: press }, sign);
  return el("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
    button("+", "Closer (+)", () => zoom(STEP)), button("−", "Farther (−)", () => zoom(1 / STEP)), button("⤢", "Everything (0)", () => zoom(0)));
}
