// A rating graph that answers: bands of titles, ratings, mu +- 2 sigma, performances; hover, zoom, link to the contest.
import { contestAddress, day, DAY, element, format, kind, readable, visible } from "./data.js";

const NS = "http://www.w3.org/2000/svg";
const SIDES = { left: 52, right: 10, top: 10, bottom: 28 };
const YEAR = 365.25 * DAY;
const NAMED = 16; // height of a band that has room for its name
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000]; // between two ticks of the time

function shape(name, attributes, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value * (1 - 1e-9)) ?? 20 * power;
}

/** Draw the histories of players into a figure; `run` has titles and decimals, each player one list a column. */
export function draw(figure, run, players) {
  const show = format(run);
  const alone = players.length === 1;
  const all = players.flatMap((one) => one.times);
  const whole = [Math.min(...all), Math.max(...all)];
  if (whole[0] === whole[1]) { whole[0] -= DAY; whole[1] += DAY; }
  let range = [...whole];
  let at = null; // [player, round] under the cursor

  const small = matchMedia("(max-width: 40rem)");
  const tip = element("div", { class: "tip", role: "status", hidden: "" });
  const buttons = [["All", Infinity], ["5 years", 5 * YEAR], ["2 years", 2 * YEAR], ["1 year", YEAR]]
    .filter(([, span]) => span === Infinity || span < whole[1] - whole[0])
    .map(([text, span]) => {
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", () => zoom([Math.max(whole[0], whole[1] - span), whole[1]]));
      return [button, span];
    });
  const help = element("span", { class: "help" }, "Drag or use + and − to zoom, arrows to move, Enter opens the contest");
  let svg = figure.querySelector("svg");

  function zoom(wanted) {
    const span = Math.min(Math.max(wanted[1] - wanted[0], 7 * DAY), whole[1] - whole[0]);
    const start = Math.min(Math.max(wanted[0], whole[0]), whole[1] - span);
    range = [start, start + span];
    at = null;
    render();
  }

  function render() {
    const wide = !small.matches;
    const size = wide ? { width: 960, height: 380 } : { width: 480, height: 340 };
    const side = wide ? SIDES : { ...SIDES, left: 48 };
    const inside = (one) => one.times.map((time, i) => [time, i]).filter(([time]) => time >= range[0] && time <= range[1]).map(([, i]) => i);
    const rounds = players.map(inside);
    const values = players.flatMap((one, p) => rounds[p].flatMap((i) => alone
      ? [one.rating[i], one.mu[i] - 2 * one.sigma[i], one.mu[i] + 2 * one.sigma[i]] : [one.rating[i]]));
    let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
    if (alone && values.length) { // a member of a large team can show any number: far ones are at the edge
      const reach = Math.max(high - low, Math.abs(low), Math.abs(high));
      const perf = rounds[0].map((i) => players[0].perf[i] ?? players[0].rating[i]);
      [low, high] = [Math.max(Math.min(low, ...perf), low - reach), Math.min(Math.max(high, ...perf), high + reach)];
    }
    const space = (high - low) * 0.06 || 1;
    [low, high] = [low - space, high + space];
    const x = (time) => side.left + ((time - range[0]) / (range[1] - range[0])) * (size.width - side.left - side.right);
    const y = (value) => side.top + ((high - Math.min(Math.max(value, low), high)) / (high - low)) * (size.height - side.top - side.bottom);
    const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
    const right = size.width - side.right;
    const foot = size.height - side.bottom;

    const bands = run.titles.map((title, i) => {
      const bottom = title.minimum ?? -Infinity;
      const top = run.titles[i + 1]?.minimum ?? Infinity;
      if (bottom >= high || top <= low) return "";
      return shape("rect", { class: `t${i}`, x: side.left, y: y(top), width: right - side.left, height: y(bottom) - y(top) }, shape("title", {}, visible(title.name)));
    });
    const axes = shape("g", { class: "axes" });
    const step = niceStep((high - low) / 6);
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
      axes.append(shape("path", { d: `M${side.left} ${y(value)}H${right}` }), shape("text", { x: side.left - 6, y: y(value) + 4, "text-anchor": "end" }, show.number(value)));
    }
    for (const [time, text] of ticks(range, wide ? 8 : 4)) {
      axes.append(shape("path", { d: `M${x(time)} ${side.top}V${foot}` }), shape("text", { x: x(time), y: foot + 19, "text-anchor": "middle" }, text));
    }
    const drawn = [shape("g", { class: "bands" }, ...bands.filter(Boolean)), axes];
    const names = shape("g", { class: "names" }, ...run.titles.flatMap((title, i) => {
      const [top, bottom] = [y(run.titles[i + 1]?.minimum ?? Infinity), y(title.minimum ?? -Infinity)];
      return bottom - top < NAMED ? [] : [shape("text", { class: `t${i}`, x: side.left + 8, y: top + 13 }, visible(title.name))];
    }));
    drawn.push(names);
    if (alone) {
      const [one, list] = [players[0], rounds[0]];
      const edge = (k) => list.map((i) => [x(one.times[i]), y(one.mu[i] + k * one.sigma[i])]);
      drawn.push(shape("path", { class: "belief", d: list.length ? `${path([...edge(2), ...edge(-2).reverse()])}Z` : "" }));
      drawn.push(shape("g", { class: "dots" }, ...list.filter((i) => one.perf[i] !== null).map((i) => shape("circle", { cx: x(one.times[i]), cy: y(one.perf[i]), r: 2.2 }))));
    }
    players.forEach((one, p) => drawn.push(shape("path", { class: `line s${p % 8}`, d: path(rounds[p].map((i) => [x(one.times[i]), y(one.rating[i])])) })));
    if (alone && rounds[0].length < 200) drawn.push(shape("g", { class: "points" }, ...rounds[0].map((i) => shape("circle", { cx: x(players[0].times[i]), cy: y(players[0].rating[i]), r: 2.5 }))));
    const cursor = shape("path", { class: "cursor" });
    const spot = shape("circle", { class: "spot", r: 0 });
    const marked = shape("rect", { class: "range", y: side.top, height: foot - side.top, width: 0 });
    const made = shape("svg", { class: wide ? "graph" : "graph small", viewBox: `0 0 ${size.width} ${size.height}`, role: "application", tabindex: 0, "aria-label": `Rating graph of ${players.map((one) => visible(one.handle)).join(", ")}; arrow keys move between rounds` }, ...drawn, marked, cursor, spot);
    const focused = svg && svg === document.activeElement;
    if (svg) svg.replaceWith(made); else figure.prepend(made);
    svg = made;
    if (focused) svg.focus();
    tip.hidden = true;
    for (const [button, span] of buttons) button.setAttribute("aria-pressed", String(Math.abs(Math.min(span, whole[1] - whole[0]) - (range[1] - range[0])) < DAY));

    const inner = (event) => ((event.clientX - svg.getBoundingClientRect().left) / svg.getBoundingClientRect().width) * size.width;
    const timeAt = (px) => range[0] + ((px - side.left) / (right - side.left)) * (range[1] - range[0]);

    function select(p, i) {
      at = [p, i];
      const one = players[p];
      const [px, py] = [x(one.times[i]), y(one.rating[i])];
      cursor.setAttribute("d", `M${px} ${side.top}V${foot}`);
      spot.setAttribute("cx", px);
      spot.setAttribute("cy", py);
      spot.setAttribute("r", 4.5);
      const change = i ? ` (${show.change(one.rating[i - 1], one.rating[i])})` : " (new)";
      const contest = visible(one.names[i] ?? one.ids[i]);
      tip.replaceChildren(element("b", {}, wide ? contest : element("a", { href: contestAddress(one.ids[i]) }, contest)), `${alone ? "" : `${visible(one.handle)} · `}${day(one.times[i])} · place ${one.place[i]} of ${one.n[i]}`,
        element("br"), "Rating ", element("span", { class: show.tier(one.rating[i]) }, show.number(one.rating[i])), change,
        element("br"), `${one.perf[i] === null ? "" : `Performance ${show.number(one.perf[i])} · `}μ ${show.number(one.mu[i])} ± ${show.number(one.sigma[i])}`);
      tip.hidden = false;
      if (!wide) return; // below the graph
      const scale = svg.getBoundingClientRect().width / size.width;
      const left = px * scale;
      tip.style.left = `${Math.max(0, left + tip.offsetWidth + 24 > svg.clientWidth ? left - tip.offsetWidth - 14 : left + 14)}px`;
      tip.style.top = `${Math.max(0, Math.min(py * scale - 20, svg.clientHeight - tip.offsetHeight))}px`;
    }
    function nearest(event) {
      const [px, box] = [inner(event), svg.getBoundingClientRect()];
      const py = ((event.clientY - box.top) / box.height) * size.height;
      let best = null;
      players.forEach((one, p) => rounds[p].forEach((i) => {
        const far = Math.hypot(x(one.times[i]) - px, alone ? 0 : y(one.rating[i]) - py);
        if (!best || far < best[0]) best = [far, p, i];
      }));
      if (best) select(best[1], best[2]);
    }
    const open = () => at && location.assign(contestAddress(players[at[0]].ids[at[1]]));
    let from = null;
    svg.addEventListener("pointerdown", (event) => { nearest(event); if (event.pointerType === "mouse" && event.button === 0) from = inner(event); });
    svg.addEventListener("pointermove", (event) => {
      nearest(event);
      if (from === null) return;
      const to = inner(event);
      marked.setAttribute("x", Math.min(from, to));
      marked.setAttribute("width", Math.abs(to - from));
    });
    svg.addEventListener("pointerup", (event) => {
      const to = inner(event);
      if (from !== null && Math.abs(to - from) > 8) zoom([timeAt(Math.min(from, to)), timeAt(Math.max(from, to))]);
      else if (from !== null) open();
      from = null;
    });
    svg.addEventListener("pointerleave", () => { from = null; marked.setAttribute("width", 0); tip.hidden = wide; });
    svg.addEventListener("keydown", (event) => {
      const middle = at ? players[at[0]].times[at[1]] : (range[0] + range[1]) / 2;
      const around = (factor) => zoom([middle - ((range[1] - range[0]) * factor) / 2, middle + ((range[1] - range[0]) * factor) / 2]);
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        const p = at ? at[0] : 0;
        const now = at ? rounds[p].indexOf(at[1]) : event.key === "ArrowLeft" ? rounds[p].length : -1;
        const next = rounds[p][now + (event.key === "ArrowLeft" ? -1 : 1)];
        if (next !== undefined) select(p, next);
      } else if (event.key === "ArrowDown" && players.length > 1) {
        const p = ((at ? at[0] : -1) + 1) % players.length;
        if (rounds[p].length) select(p, rounds[p].at(-1));
      } else if (event.key === "Enter") open();
      else if (event.key === "+" || event.key === "=") around(0.5);
      else if (event.key === "-") around(2);
      else if (event.key === "0" || event.key === "Escape") zoom(whole);
      else return;
      event.preventDefault();
    });
    if (!wide && rounds[0].length) select(0, rounds[0].at(-1));
  }

  render();
  figure.append(tip, element("div", { class: "zoom" }, ...(buttons.length > 1 ? buttons.map(([button]) => button) : []), help));
  figure.hidden = false;
  small.addEventListener("change", render);
}

/** Beginnings of years, of months or of days between two times, at most about `most` of them. */
function ticks([first, last], most) {
  const [from, to] = [first, last].map((time) => new Date(time * 1000)).map((time) => time.getUTCFullYear() * 12 + time.getUTCMonth());
  if (to - from >= 3) {
    const every = MONTHS.find((step) => (to - from) / step <= most);
    const months = Array.from({ length: to - from }, (_, i) => from + 1 + i).filter((month) => month % every === 0).map((month) => [Math.floor(month / 12), month % 12]);
    return months.map(([year, month]) => [Date.UTC(year, month) / 1000, month ? `${year}-${String(month + 1).padStart(2, "0")}` : String(year)]);
  }
  const step = DAY * Math.ceil((last - first) / DAY / (most * 0.7));
  const found = [];
  for (let time = Math.ceil(first / step) * step; time <= last; time += step) found.push([time, day(time)]);
  return found;
}

/** Draw the histories that a page of the server has; on the site, `read` the players that the address names. */
export async function start(figure, notice, read) {
  const given = document.getElementById("history");
  if (given) {
    const { run, players } = JSON.parse(given.textContent);
    draw(figure, run, players);
  } else if (kind === "site") await readable(notice, read(new URLSearchParams(location.search).get("h") ?? ""));
}
