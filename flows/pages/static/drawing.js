// A rating graph as SVG, from the geometry; the same elements as the template graph.svg.
const NS = "http://www.w3.org/2000/svg";

export function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const dots = (points) => points.map(([x, y]) => `M${x} ${y}h0`).join("");
const MOST_POINTS = 200; // in a window; more would hide the line

/** The elements of a graph, those in the background first. */
export function drawing(g) {
  const paths = (kind, list) => list.flatMap((d, p) => (d ? [shape("path", { class: `${kind} s${p % 8}`, d })] : []));
  return [
    shape("g", { class: "bands" }, ...g.bands.map((band) => shape("rect", { class: band.class, x: g.left, y: band.y, width: g.right - g.left, height: band.height }, shape("title", {}, band.name)))),
    shape("g", { class: "axes" },
      ...g.across.flatMap(({ y, text }) => [shape("path", { d: `M${g.left} ${y}H${g.right}` }), shape("text", { x: g.left - 6, y: y + 4, "text-anchor": "end" }, text)]),
      ...g.along.flatMap(({ x, at, text }) => [shape("path", { d: `M${x} ${g.top}V${g.foot}` }), shape("text", { x: at, y: g.foot + 19, "text-anchor": "middle" }, text)])),
    ...(g.seasons.length ? [shape("g", { class: "seasons" }, ...g.seasons.flatMap((season) => [
      shape("path", { d: `M${season.x} ${g.top}V${g.foot}` }, shape("title", {}, season.name)),
      ...(season.text ? [shape("text", { x: season.at, y: g.foot - 6 }, season.text)] : [])]))] : []),
    shape("g", { class: "names" }, ...g.bands.filter((band) => band.named).map((band) => shape("text", { class: band.class, x: g.left + 8, y: band.y + 13 }, band.name))),
    shape("path", { class: "belief", d: g.belief }),
    shape("path", { class: "mean", d: g.mean }),
    shape("path", { class: "dots", d: dots(g.dots) }),
    ...paths("pause", g.pauses),
    ...paths("line", g.lines),
    shape("path", { class: "points", d: g.points.length <= MOST_POINTS ? dots(g.points) : "" }),
    shape("g", { class: "labels" }, ...g.labels.flatMap((label) => [
      shape("path", { class: `leader ${label.class}`, d: label.leader }),
      shape("path", { class: `points ${label.class}`, d: dots([label.end]) }),
      shape("text", { class: label.class, x: label.x, y: label.y }, label.text)])),
    ...(g.peak ? [shape("g", { class: "peak" }, shape("path", { d: g.peak.path }), shape("text", { x: g.peak.at, y: g.peak.baseline, "text-anchor": g.peak.anchor }, g.peak.text))] : []),
  ];
}

/** The sign of an entry of the legend. */
export function sign(kinds, attributes = {}) {
  const path = { belief: "M0 6h24v11h-24z", dot: "M12 12h0" };
  return shape("svg", { class: "sign", width: 28, height: 24, "aria-hidden": "true", ...attributes }, ...kinds.split(" ").map((kind) => shape("path", { class: kind, d: path[kind] ?? "M0 12h24" })));
}
