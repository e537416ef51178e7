// The geometry of a rating graph, as flows/pages/graph.py has it for the pages of the server, at the width of the window.
import { day, DAY, visible } from "./data.js";

export const SIZES = {
  wide: { width: 960, height: 380, left: 52, right: 10, top: 10, bottom: 28, marks: 8, named: true, label: 16, column: 8.4, apart: 15, flag: 30 },
  small: { width: 480, height: 340, left: 48, right: 10, top: 10, bottom: 28, marks: 4, named: false, label: 9, column: 9.6, apart: 17, flag: 34 },
  overview: { width: 960, height: 46, left: 14, right: 14, top: 5, bottom: 5, marks: 0, named: false, label: 0, column: 0, apart: 1, flag: 0 },
};
const VIEWS = { rating: "rating", place: "places" };
const YEAR = 365.25 * DAY;
const [MARGIN, SPACE, NAMED, NAME, NAME_COLUMN, NAME_SPACE, LEADER, SIGN, SEASON] = [0.06, 6, 16, 26, 5.8, 8, 16, 44, 16];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000]; // between two marks of the time
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

const limits = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
const finite = (value) => value !== null && Number.isFinite(value);
const tenth = (value) => Math.round(value * 10) / 10;
const count = (value) => value.toLocaleString("en");
const columnsOf = (text) => Array.from(text).reduce((sum, character) => sum + (WIDE.test(character) ? 2 : 1), 0);

/** The name of a player, which may be another than the handle. */
export const nameOf = (one) => visible(one.name ?? one.handle);

/** The beginning of a text that has so many columns, with an ellipsis for the rest. */
export function cut(text, columns) {
  if (columnsOf(text) <= columns) return text;
  let [width, kept] = [1, ""];
  for (const character of text) {
    width += columnsOf(character);
    if (width > columns) break;
    kept += character;
  }
  return `${kept}…`;
}

/** The first and the last of the times of all players; a day before and after a single one. */
export function wholeSpan(players) {
  const [first, last] = limits(players.flatMap((one) => one.times));
  return first === last ? [first - DAY, last + DAY] : [first, last];
}

/** The longest gap between two rounds that is no pause: a year, or four times the median gap. */
function longestGap(times) {
  const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  if (!gaps.length) return YEAR;
  const half = gaps.length >> 1;
  return Math.max(YEAR, 4 * (gaps.length % 2 ? gaps[half] : (gaps[half - 1] + gaps[half]) / 2));
}

/** A point of the line between two, moved along it into the span. */
function within(point, one, other, span) {
  const time = Math.min(Math.max(point[0], span[0]), span[1]);
  return time === point[0] ? point : [time, one[1] + ((other[1] - one[1]) * (time - one[0])) / (other[0] - one[0])];
}

/** The lines from point to point within a span: both ends, and whether it is a pause. */
function segments(points, span, gap) {
  const found = [];
  for (let i = 1; i < points.length; i++) {
    const [one, other] = [points[i - 1], points[i]];
    if (Math.max(one[0], other[0]) < span[0] || Math.min(one[0], other[0]) > span[1]) continue;
    found.push([within(one, one, other, span), within(other, one, other, span), other[0] - one[0] > gap]);
  }
  return found;
}

/** The points between the resets: a round at the time of one comes after it. */
function split(points, resets) {
  const number = ([time]) => resets.filter((reset) => reset <= time).length;
  const parts = [[]];
  for (const [i, point] of points.entries()) {
    if (i && resets.length && number(point) > number(points[i - 1])) parts.push([]);
    parts.at(-1).push(point);
  }
  return parts;
}

function edge(points, span) {
  if (points.length !== 1) return segments(points, span, Infinity);
  const [[time, value]] = points;
  const reach = (span[1] - span[0]) / 100;
  return segments([[time - reach, value], [time + reach, value]], span, Infinity);
}

/** The points of the segments that are pauses, or of the others; those that follow each other are one run. */
function runs(found, pauses) {
  const joined = [];
  let last = [];
  for (const [one, other, pause] of found) {
    if (pause !== pauses) continue;
    if (last[0] === one[0] && last[1] === one[1]) joined.at(-1).push(other);
    else joined.push([one, other]);
    last = other;
  }
  return joined;
}

/** The line of a player within a span; see the class of graph.py. */
function curveOf(one, view, span, resets) {
  const height = view === "rating" ? (value) => value : (place) => -Math.log10(place);
  const known = one.times.map((time, i) => [time, one[VIEWS[view]][i], i]).filter(([, value]) => finite(value)).map(([time, value, i]) => [time, height(value), i]);
  const points = known.filter(([time]) => time >= span[0] && time <= span[1]);
  const gap = longestGap(known.map(([time]) => time));
  const found = split(known, resets).flatMap((part) => segments(part, span, gap));
  const top = known.reduce((best, point) => (best === null || point[1] > best[1] ? point : best), null);
  const [last, drawnTo] = [points.at(-1), found.at(-1)?.[1]];
  const end = last && drawnTo ? (drawnTo[0] > last[0] ? drawnTo : last) : last ?? drawnTo ?? null;
  const drawn = [...points, ...found.flatMap(([a, b]) => [a, b])];
  return { handle: nameOf(one), known, points, segments: found, top, peak: points.includes(top) ? top : null, end, drawn };
}

function beliefOf(one, show, span, resets) {
  const believed = one.times.map((time, i) => [time, one.mu[i], one.sigma[i], one.rating[i]]).filter(([, mu, sigma]) => finite(mu) && finite(sigma));
  const rows = believed.some(([, , sigma]) => sigma) ? believed : []; // not of a system without an uncertainty
  const [upper, lower] = [2, -2].map((k) => split(rows.map(([time, mu, sigma]) => [time, mu + k * sigma]), resets).flatMap((part) => edge(part, span)));
  const differs = rows.some(([, mu, , rating]) => finite(rating) && show.number(rating) !== show.number(mu));
  const mean = differs ? split(rows.map(([time, mu]) => [time, mu]), resets).flatMap((part) => segments(part, span, Infinity)) : [];
  const perf = one.times.map((time, i) => [time, one.perf[i]]).filter(([time, value]) => finite(value) && time >= span[0] && time <= span[1]);
  return { upper, lower, mean, perf };
}

function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value * (1 - 1e-9)) ?? 20 * power;
}

/** The multiples of a round number, at most `most` of them. */
function multiples(low, high, most) {
  const step = niceStep((high - low) / most);
  const [first, last] = [Math.ceil(low / step), Math.floor(high / step)];
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => (first + i) * step);
}

function placeMarks(best, worst, most) {
  const powers = Array.from({ length: Math.ceil(Math.log10(Math.max(worst, 1))) + 1 }, (_, k) => 10 ** k);
  const marks = (steps) => powers.flatMap((power) => steps.map((step) => step * power)).filter((place) => best <= place && place <= worst);
  return marks([1, 2, 5]).length <= most ? marks([1, 2, 5]) : marks([1]);
}

/** Beginnings of years, of months or of days between two times, at most about `most` of them. */
function timeMarks([first, last], most) {
  const [from, to] = [first, last].map((time) => new Date(time * 1000)).map((time) => time.getUTCFullYear() * 12 + time.getUTCMonth());
  if (to - from >= 3) {
    const every = MONTHS.find((step) => (to - from) / step <= most);
    const months = Array.from({ length: to - from }, (_, i) => from + 1 + i).filter((month) => month % every === 0).map((month) => [Math.floor(month / 12), month % 12]);
    return months.map(([year, month]) => [Date.UTC(year, month) / 1000, month ? `${year}-${String(month + 1).padStart(2, "0")}` : String(year)]);
  }
  const step = DAY * Math.max(1, Math.ceil((last - first) / DAY / (0.75 * most)));
  const found = [];
  for (let time = Math.ceil(first / step) * step; time <= last; time += step) found.push([time, new Date(time * 1000).toISOString().slice(0, 10)]);
  return found;
}

/** The text of a value, given its height in the plot. */
export const shown = (height, show, view) => (view === "rating" ? show.number(height) : `place ${count(Math.round(10 ** -height))}`);

/** The geometry of the graph of players within a span of times; `plot` has the functions from values to pixels. */
export function layout(players, run, show, view, span, size) {
  const seasons = run.seasons ?? [];
  const resets = view === "rating" ? seasons.filter((season) => season.reset).map((season) => season.time) : [];
  const curves = players.map((one) => curveOf(one, view, span, resets));
  const alone = curves.length === 1 ? curves[0] : null;
  const belief = alone && view === "rating" && size.marks ? beliefOf(players[0], show, span, resets) : null;
  const titles = view === "rating" ? run.titles.map((title, i) => [title.minimum ?? -Infinity, run.titles[i + 1]?.minimum ?? Infinity, cut(visible(title.name), NAME)]) : [];
  const tall = size.height - size.top - size.bottom;

  let values = curves.flatMap((curve) => curve.drawn.map(([, value]) => value));
  if (belief) {
    values = [...values, ...[...belief.upper, ...belief.lower].flatMap(([a, b]) => [a[1], b[1]])];
    if (values.length) { // a member of a large team can show any number: far ones are at the edge
      const [low, high] = limits(values);
      const reach = Math.max(high - low, Math.abs(low), Math.abs(high));
      values = [...values, ...belief.perf.map(([, value]) => Math.min(Math.max(value, low - reach), high + reach))];
    } else values = belief.perf.map(([, value]) => value);
  }
  let [low, high] = values.length ? limits(values) : [0, 1];
  const space = (high - low) * MARGIN || Math.max(Math.abs(high) * MARGIN, 1);
  [low, high] = [low - space, high + space];
  if (alone?.peak) high = Math.max(high, (alone.peak[1] - (size.flag / tall) * low) / (1 - size.flag / tall));

  const height = (value) => size.top + ((high - value) / (high - low)) * tall;
  const y = (value) => tenth(height(Math.min(Math.max(value, low), high)));
  const hasName = (bottom, top) => size.named && Math.min(top, high) > Math.max(bottom, low) && height(Math.max(bottom, low)) - height(Math.min(top, high)) >= NAMED;
  const names = titles.filter(([bottom, top]) => hasName(bottom, top)).map(([, , name]) => columnsOf(name));
  const labels = alone ? [] : curves.map((curve) => columnsOf(cut(curve.handle, size.label)));
  const right = tenth(size.width - size.right - (labels.length ? LEADER + size.column * Math.max(...labels) : 0));
  const start = tenth(size.left + (names.length ? 2 * NAME_SPACE + NAME_COLUMN * Math.max(...names) : SPACE));
  const stop = tenth(right - SPACE);
  const foot = size.height - size.bottom;
  const x = (time) => tenth(start + ((time - span[0]) / (span[1] - span[0])) * (stop - start));
  const path = (found) => found.map((run) => `M${run.map(([time, value]) => `${x(time)} ${y(value)}`).join("L")}`).join("");

  return {
    ...size, right, foot, start, stop, x, y, curves, view, span,
    bands: titles.map(([bottom, top, name], i) => ({ y: y(top), height: tenth(y(bottom) - y(top)), class: `t${i}`, name, named: hasName(bottom, top), drawn: bottom < high && top > low })).filter((band) => band.drawn),
    lines: curves.map((curve) => path(runs(curve.segments, false))),
    pauses: curves.map((curve) => path(runs(curve.segments, true))),
    belief: belief ? runs(belief.upper, false).map((upper, i) => `${path([[...upper, ...[...runs(belief.lower, false)[i]].reverse()]])}Z`).join("") : "",
    mean: belief ? path(runs(belief.mean, false)) : "",
    dots: belief ? belief.perf.map(([time, value]) => [x(time), y(value)]) : [],
    points: alone ? alone.points.map(([time, value]) => [x(time), y(value)]) : [],
    labels: alone ? [] : labelsOf(curves, { x, y, right, foot, size }),
    peak: alone?.peak ? flagOf(alone.peak, { x, y, start, stop }, show, view) : null,
    across: (view === "rating" ? multiples(low, high, 6).map((value) => [value, show.number(value)]) : placeMarks(10 ** -high, 10 ** -low, 6).map((place) => [-Math.log10(place), place < 100_000 ? count(place) : `${count(Math.floor(place / 1000))}k`])).map(([value, text]) => ({ y: y(value), text })),
    along: (size.marks ? timeMarks(span, size.marks) : []).map(([time, text]) => ({ x: x(time), at: Math.min(x(time), size.width - 26), text })),
    seasons: size.marks ? seasonsOf(seasons, { x, right, span }, size.named ? NAME_COLUMN : size.column) : [],
    label: summary(curves, show, view),
    legend: legendOf(curves, belief, view, size),
    timeAt: (pixel) => span[0] + ((pixel - start) / (stop - start)) * (span[1] - span[0]),
  };
}

/** The beginnings of seasons within the span; a name without room before the next one is left out. */
function seasonsOf(seasons, { x, right, span }, column) {
  const shown = seasons.filter(({ time }) => span[0] <= time && time <= span[1]).map(({ time, name }) => [x(time), visible(name)]);
  return shown.map(([at, name], i) => {
    const text = cut(name, SEASON);
    const room = column * columnsOf(text) + NAME_SPACE <= (shown[i + 1]?.[0] ?? right) - at;
    return { x: at, at: tenth(at + 4), name, text: room ? text : "" };
  });
}

/** The handles beside the ends of the lines, from above, moved apart where they would overlap. */
function labelsOf(curves, { x, y, right, foot, size }) {
  const ends = curves.map((curve, i) => [curve.end, i]).filter(([end]) => end).map(([end, i]) => [y(end[1]), i, x(end[0])]).sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  const last = foot - size.apart / 2;
  const apart = Math.min(size.apart, (last - size.top) / Math.max(ends.length, 1));
  const at = [];
  for (const [height] of ends) at.push(Math.max(height, at.length ? at.at(-1) + apart : size.top));
  for (let i = at.length - 1; i >= 0; i--) at[i] = Math.min(at[i], i + 1 < at.length ? at[i + 1] - apart : last);
  return ends.map(([height, i, across], k) => ({
    x: tenth(right + LEADER), y: tenth(at[k] + 4), class: `s${i % 8}`, text: cut(curves[i].handle, size.label), end: [across, height],
    leader: `M${across} ${height}H${right}L${tenth(right + LEADER - 3)} ${tenth(at[k])}`,
  }));
}

/** The flag at the highest value, with its date; its text is on the side where there is room. */
function flagOf([time, value], plot, show, view) {
  const [x, y] = [plot.x(time), plot.y(value)];
  const side = x > (plot.start + plot.stop) / 2 ? -1 : 1;
  return { x, y, side, path: `M${x} ${y}v-22l${side * 9} 4l${-side * 9} 4`, at: tenth(x + side * 13), baseline: tenth(y - 14), anchor: side > 0 ? "start" : "end", text: `${shown(value, show, view)} · ${day(time)}` };
}

/** What a graph shows, for those who do not see it. */
function summary(curves, show, view) {
  const text = `${view === "rating" ? "Rating graph" : "Places over time"} of ${curves.map((curve) => curve.handle).join(", ")}`;
  if (curves.length !== 1 || !curves[0].known.length) return text;
  const { known, top } = curves[0];
  const values = [["highest", top], ["last", known.at(-1)]].map(([name, [time, value]]) => `${name} ${shown(value, show, view)} on ${day(time)}`);
  return `${text}, ${day(known[0][0])} to ${day(known.at(-1)[0])}: ${values.join(", ")}`;
}

/** What the signs of a graph mean: for each `class` its text, and where it is in a picture. */
function legendOf(curves, belief, view, size) {
  const signs = curves.length === 1 ? [["line", view]] : []; // several have labels
  if (belief?.upper.length) signs.push([belief.mean.length ? "belief mean" : "belief", "μ ± 2σ"]);
  if (belief?.perf.length) signs.push(["dot", "performance"]);
  if (curves.some((curve) => curve.segments.some(([, , pause]) => pause))) signs.push(["pause", "pause"]);
  let x = size.left;
  return signs.map(([kind, text]) => {
    const placed = { class: kind, text, x: tenth(x) };
    x += SIGN + size.column * columnsOf(text);
    return placed;
  });
}
