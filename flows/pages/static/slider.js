// The range of a graph: the whole curve, small, under a window with two handles.
import { DAY, day } from "./data.js";
import { shape } from "./drawing.js";
import { layout, SIZES } from "./geometry.js";

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
const NAMES = ["Start of the range", "End of the range"];

/** A slider over the `whole` time; `changed` is told each new range, which `set` shows. */
export function slider(players, run, show, view, whole, small, changed) {
  const size = small ? { ...SIZES.overview, width: 480, height: 56 } : SIZES.overview;
  const g = layout(players, run, show, view, whole, size);
  const [x, wide] = [g.x, small ? 44 : 28]; // a handle for a finger, or a mouse
  let span = whole;
  const step = Math.max((whole[1] - whole[0]) / 100, DAY);

  const outside = [shape("rect", { class: "outside" }), shape("rect", { class: "outside" })];
  const pane = shape("rect", { class: "window", y: 1, height: size.height - 2 });
  const handles = NAMES.map((name, side) => {
    const handle = shape("g", { class: "handle", role: "slider", tabindex: 0, "aria-label": name, "aria-orientation": "horizontal", "aria-valuemin": Math.round(whole[0]), "aria-valuemax": Math.round(whole[1]) },
      shape("rect", { class: "grip", x: -wide / 2, width: wide, height: size.height }),
      shape("rect", { class: "bar", x: -5, width: 10, y: size.height / 2 - 13, height: 26, rx: 3 }),
      shape("path", { class: "ridge", d: `M-1.5 ${size.height / 2 - 5}v10M1.5 ${size.height / 2 - 5}v10` }));
    handle.addEventListener("keydown", (event) => {
      const move = STEPS[event.key];
      const to = move ? span[side] + move * step : { Home: whole[0], End: whole[1] }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      moved(side, to);
    });
    return handle;
  });
  const svg = shape("svg", { class: "overview", viewBox: `0 0 ${size.width} ${size.height}`, role: "group", "aria-label": "Range of time" },
    shape("rect", { class: "track", x: g.left, width: g.right - g.left, height: size.height, rx: 6 }),
    ...[...g.pauses, ...g.lines].flatMap((d, i) => (d ? [shape("path", { class: `curve s${(i % players.length) % 8}`, d })] : [])), ...outside, pane, ...handles);

  /** Move one end, not beyond the other one. */
  function moved(side, to) {
    const other = span[1 - side];
    const least = Math.min(7 * DAY, whole[1] - whole[0]);
    const at = Math.min(Math.max(to, whole[0]), whole[1]);
    changed(side ? [other, Math.max(at, other + least)] : [Math.min(at, other - least), other], false);
  }

  const timeAt = (event) => {
    const box = svg.getBoundingClientRect();
    return g.timeAt(((event.clientX - box.left) / box.width) * size.width);
  };
  let held = null; // [what is dragged: an end, or both; the time under the pointer; the range] when a drag began
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const time = timeAt(event);
    const near = (side) => handles[side].contains(event.target);
    const side = near(0) && near(1) ? Number(time > span[0]) : handles.findIndex((handle) => handle.contains(event.target));
    if (side < 0 && (time < span[0] || time > span[1])) {
      const half = (span[1] - span[0]) / 2;
      changed([time - half, time + half], false);
    }
    held = [side, time, span];
    svg.setPointerCapture(event.pointerId);
    if (side >= 0) handles[side].focus({ focusVisible: false });
    event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    const [side, from, began] = held;
    const by = timeAt(event) - from;
    if (side >= 0) moved(side, began[side] + by);
    else changed(began.map((time) => time + by), false);
  });
  for (const kind of ["pointerup", "pointercancel"]) svg.addEventListener(kind, () => { if (held) changed(span, true); held = null; });

  function set(next) {
    span = next;
    const [from, to] = span.map(x);
    outside.forEach((rect, side) => {
      rect.setAttribute("height", size.height);
      rect.setAttribute("x", side ? to : g.left);
      rect.setAttribute("width", Math.max(side ? g.right - to : from - g.left, 0));
    });
    pane.setAttribute("x", from);
    pane.setAttribute("width", Math.max(to - from, 0));
    handles.forEach((handle, side) => {
      handle.setAttribute("transform", `translate(${[from, to][side]} 0)`);
      handle.setAttribute("aria-valuenow", Math.round(span[side]));
      handle.setAttribute("aria-valuetext", day(Math.round(span[side]) || 1));
    });
  }
  set(whole);
  return { svg, set };
}
