// A graph as a file, PNG or SVG, with its heading and legend inside, in the colours of the page.
import { shape, sign } from "./drawing.js";

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "paint-order"];
const [HEADING, LEGEND] = [40, 30]; // heights
const SHARP = 2; // pixels of the PNG for one of the drawing

/** A copy of a drawing, with its styles as attributes: a file has no style sheet. */
function styled(drawn) {
  const copy = drawn.cloneNode(false);
  if (drawn.nodeType !== Node.ELEMENT_NODE) return copy;
  const style = getComputedStyle(drawn);
  if (style.display === "none") return document.createTextNode("");
  for (const name of STYLES) copy.setAttribute(name, style.getPropertyValue(name));
  copy.append(...Array.from(drawn.childNodes, styled));
  return copy;
}

/** The picture of a graph: `svg` is on the page, `g` its geometry. */
function picture(svg, g, heading) {
  const colour = (name) => getComputedStyle(svg).getPropertyValue(name);
  const text = (attributes, content) => shape("text", { "font-family": "system-ui, sans-serif", ...attributes }, content);
  const height = HEADING + g.height + (g.legend.length ? LEGEND : 0);
  const made = shape("svg", { xmlns: "http://www.w3.org/2000/svg", width: g.width, height, viewBox: `0 0 ${g.width} ${height}` },
    shape("title", {}, g.label),
    shape("rect", { width: g.width, height, fill: colour("background-color") }),
    text({ x: g.left, y: 26, "font-size": 17, "font-weight": 650, fill: colour("color") }, heading));
  const signs = shape("svg", { class: "graph" }, ...g.legend.map((entry) => sign(entry.class, { x: entry.x, y: HEADING + g.height })));
  svg.after(signs); // for its styles
  const graph = styled(svg);
  for (const [key, value] of Object.entries({ y: HEADING, width: g.width, height: g.height })) graph.setAttribute(key, value);
  for (const name of ["tabindex", "aria-label", "role", "class"]) graph.removeAttribute(name);
  for (const extra of graph.querySelectorAll(".cursor, .spot, .range")) extra.remove();
  made.append(graph, ...Array.from(signs.childNodes, styled));
  signs.remove();
  for (const entry of g.legend) made.append(text({ x: entry.x + 30, y: HEADING + g.height + 16, "font-size": 13, fill: colour("color") }, entry.text));
  return new XMLSerializer().serializeToString(made);
}

async function png(text, { width, height }) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: width * SHARP, height: height * SHARP });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** Save the graph as a file `name` with the ending `kind`, png or svg. */
export async function save(kind, svg, g, heading, name) {
  const text = picture(svg, g, heading);
  const size = { width: g.width, height: HEADING + g.height + (g.legend.length ? LEGEND : 0) };
  const blob = kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await png(text, size);
  const address = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: address, download: `${name}.${kind}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
