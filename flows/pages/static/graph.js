// A rating graph that answers: hover, zoom by wheel, fingers, keys and a slider, a range in the address, pictures to save.
import { afterReset, contestAddress, day, DAY, element, format, kind, nouns, places, readable, visible } from "./data.js";
import { drawing, shape, sign } from "./drawing.js";
import { layout, nameOf, shown, SIZES, wholeSpan } from "./geometry.js";
import { save } from "./saving.js";
import { slider } from "./slider.js";

const YEAR = 365.25 * DAY;
const LEAST = 7 * DAY; // of a range
const SETTLED = 400; // milliseconds after the last step of a zoom, which is one entry of the history of the browser
const REACH = { mouse: 9, pen: 12, touch: 18 }; // pixels around a point
const WHEEL = 0.002; // logarithm of a zoom for a pixel of the wheel
const VIEWS = { rating: "Rating", place: "Place" };

const date = (seconds) => new Date(Math.round(seconds) * 1000).toISOString().slice(0, 10);
const count = (value) => value.toLocaleString("en");

/** The range in the address, days with both ends; null without one. */
function askedSpan() {
  const asked = new URL(location.href).searchParams;
  const [from, to] = ["from", "to"].map((name) => (asked.get(name) ? Date.parse(`${asked.get(name)}T00:00:00Z`) / 1000 : NaN));
  return Number.isNaN(from) && Number.isNaN(to) ? null : [Number.isNaN(from) ? -Infinity : from, Number.isNaN(to) ? Infinity : to + DAY - 1];
}

/** Which of the `VIEWS` the address asks for. */
export const askedView = () => (new URL(location.href).searchParams.get("view") === "place" ? "place" : "rating");

/** Draw players into a figure; `run` has titles and decimals, each player one list a column, those of the `view`. */
export function draw(figure, run, players, view = "rating") {
  const show = format(run);
  const alone = players.length === 1;
  const whole = wholeSpan(players);
  const small = matchMedia("(max-width: 40rem)");
  const svg = shape("svg", { role: "application", tabindex: 0, "aria-roledescription": "graph" });
  const tip = element("div", { class: "tip", role: "status", hidden: "" });
  const now = element("output", { class: "now" });
  let span = whole;
  let g = null; // the geometry
  let at = null; // [player, index among the known points] that is selected
  let range = null; // the slider
  let settling = 0;

  const points = (p) => g.curves[p].known;
  const inSpan = ([time]) => time >= span[0] && time <= span[1];
  const clamp = ([from, to]) => {
    const length = Math.min(Math.max(to - from, LEAST), whole[1] - whole[0]);
    const start = Math.min(Math.max(from, whole[0]), whole[1] - length);
    return [start, start + length];
  };
  const isWhole = () => span[0] <= whole[0] && span[1] >= whole[1];

  /** Show a range; it enters the address once it is `settled`, or a while after the last step. */
  function zoom(wanted, settled) {
    span = clamp(wanted);
    if (at && !inSpan(points(at[0])[at[1]])) at = null;
    requestRender();
    clearTimeout(settling);
    if (settled) enter();
    else settling = setTimeout(enter, SETTLED);
  }
  const around = (middle, factor, settled) => zoom([middle + (span[0] - middle) * factor, middle + (span[1] - middle) * factor], settled);

  function address() {
    const url = new URL(location.href);
    const [from, to] = isWhole() ? [] : span.map(date);
    for (const [name, value] of [["from", from], ["to", to]]) {
      if (value) url.searchParams.set(name, value);
      else url.searchParams.delete(name);
    }
    return url;
  }
  function enter() {
    const url = address();
    if (url.href !== location.href) history.pushState(null, "", url);
    linkViews();
  }
  function linkViews() {
    for (const link of document.querySelectorAll("[data-view]")) {
      const url = address();
      if (link.dataset.view === "rating") url.searchParams.delete("view");
      else url.searchParams.set("view", link.dataset.view);
      link.href = url.href;
      if (link.dataset.view === view) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  let asked = 0;
  const requestRender = () => { asked ||= requestAnimationFrame(render); };
  const cursor = shape("path", { class: "cursor" });
  const spots = shape("g", { class: "spots" });
  const marked = shape("rect", { class: "range", width: 0 });

  function render() {
    if (asked) cancelAnimationFrame(asked);
    asked = 0;
    g = layout(players, run, show, view, span, small.matches ? SIZES.small : SIZES.wide);
    svg.setAttribute("class", small.matches ? "graph small" : "graph");
    svg.setAttribute("viewBox", `0 0 ${g.width} ${g.height}`);
    svg.setAttribute("aria-label", `${g.label}. Arrow keys move between rounds, plus and minus zoom, 0 shows all${view === "rating" ? `, Enter opens the ${nouns.contest}` : ""}.`);
    for (const [name, value] of [["y", g.top], ["height", g.foot - g.top], ["width", 0]]) marked.setAttribute(name, value);
    svg.replaceChildren(...drawing(g), marked, cursor, spots);
    now.textContent = `${day(Math.round(span[0]) || 1)} – ${day(Math.round(span[1]) || 1)}`;
    range.set(span);
    for (const [button, length] of buttons) button.setAttribute("aria-pressed", String(span[1] >= whole[1] - DAY && Math.abs(Math.min(length, whole[1] - whole[0]) - (span[1] - span[0])) < DAY));
    if (at) select(...at);
    else unselect();
  }

  /** Show nothing selected; on a phone the last round is, as its place is below the graph. */
  function unselect() {
    at = null;
    cursor.setAttribute("d", "");
    spots.replaceChildren();
    tip.hidden = true;
    if (!small.matches) return;
    const p = players.findIndex((_, i) => points(i).some(inSpan));
    if (p >= 0) select(p, points(p).findLastIndex(inSpan));
  }

  function select(p, k) {
    at = [p, k];
    const [time, value] = points(p)[k];
    const then = g.curves.map((curve) => curve.known.findLast((point) => point[0] <= time) ?? null);
    then[p] = points(p)[k];
    cursor.setAttribute("d", `M${g.x(time)} ${g.top}V${g.foot}`);
    const there = g.curves.flatMap((curve, i) => (then[i] && (i === p || then[i][0] < curve.known.at(-1)[0] || then[i][0] === time) ? [[i, g.y(levelAt(curve, time))]] : []));
    spots.replaceChildren(...there.map(([i, y]) => shape("circle", { class: `spot s${i % 8}`, cx: g.x(time), cy: i === p ? g.y(value) : y, r: i === p ? 4.5 : 3 })));
    tip.replaceChildren(...(alone ? aboutOne(points(p)[k]) : aboutAll(p, points(p)[k], then)));
    tip.hidden = false;
    if (small.matches) {
      tip.style.removeProperty("left");
      tip.style.removeProperty("top");
      return;
    }
    const scale = svg.clientWidth / g.width;
    const left = g.x(time) * scale;
    tip.style.left = `${Math.max(0, left + tip.offsetWidth + 24 > svg.clientWidth ? left - tip.offsetWidth - 14 : left + 14)}px`;
    tip.style.top = `${Math.max(0, Math.min((alone ? g.y(value) : g.top) * scale - 20, svg.clientHeight - tip.offsetHeight))}px`;
  }

  /** The height of a line at a time between two rounds. */
  function levelAt({ known }, time) {
    const before = known.findLastIndex((point) => point[0] <= time);
    const [one, other] = [known[before], known[before + 1]];
    return other && other[0] > one[0] ? one[1] + ((other[1] - one[1]) * (time - one[0])) / (other[0] - one[0]) : one[1];
  }

  const worth = (value) => (view === "rating" ? element("span", { class: show.tier(value) }, show.number(value)) : shown(value, show, view));
  const contestOf = (one, i) => element("b", {}, element("a", { href: contestAddress(one.ids[i]) }, visible(one.names[i] ?? one.ids[i])));

  /** The tip about a point of one player. */
  function aboutOne([time, value, i]) {
    const one = players[0];
    if (view === "place") return [element("b", {}, day(time)), `Place ${count(one.places[i])} of ${count(one.of[i])}`];
    const change = afterReset(run, one, i) ? " (after a reset)" : i ? ` (${show.change(one.rating[i - 1], one.rating[i])})` : " (new)";
    const title = visible(show.title(value));
    return [contestOf(one, i), one.place[i] === null ? day(time) : `${day(time)} · place ${one.place[i]} of ${one.n[i]}`, // games have none
      element("br"), "Rating ", worth(value), change, title ? `, ${title}` : "",
      element("br"), `${one.perf[i] === null ? "" : `Performance ${show.number(one.perf[i])} · `}μ ${show.number(one.mu[i])} ± ${show.number(one.sigma[i])}`];
  }

  /** The tip about all players at the time of a point, best first. */
  function aboutAll(p, [time, , i], then) {
    const rows = then.map((point, q) => [q, point]).sort((one, other) => (other[1]?.[1] ?? -Infinity) - (one[1]?.[1] ?? -Infinity));
    return [view === "rating" ? contestOf(players[p], i) : element("b", {}, day(time)), view === "rating" ? day(time) : "",
      element("ul", {}, ...rows.map(([q, point]) => element("li", q === p ? { class: "chosen" } : {},
        element("span", { class: `key line s${q % 8}` }), element("span", { class: "who" }, nameOf(players[q])), " ",
        ...(point ? [worth(point[1])] : ["–"]), point && point[0] < time - YEAR ? element("small", {}, ` ${day(point[0])}`) : "")))];
  }

  const inner = (event) => {
    const box = svg.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * g.width, ((event.clientY - box.top) / box.height) * g.height, g.width / box.width];
  };

  /** Select what is nearest to the pointer: the point under it, else the nearest of one player's in time. */
  function nearest(event) {
    const [px, py, scale] = inner(event);
    let [best, hit] = [null, null];
    players.forEach((_, p) => points(p).forEach((point, k) => {
      if (!inSpan(point)) return;
      const [across, up] = [g.x(point[0]) - px, g.y(point[1]) - py];
      const away = Math.hypot(across, up);
      const far = alone ? Math.abs(across) + 0.01 * Math.abs(up) : away;
      if (!best || far < best[0]) best = [far, p, k];
      if (away <= (REACH[event.pointerType] ?? REACH.mouse) * scale && (!hit || away < hit[0])) hit = [away, p, k];
    }));
    const found = hit ?? best;
    if (found) select(found[1], found[2]);
    svg.classList.toggle("hit", Boolean(hit) && view === "rating");
    return hit;
  }
  function open(event) {
    if (!at || view !== "rating") return;
    const to = contestAddress(players[at[0]].ids[points(at[0])[at[1]][2]]);
    if (event.ctrlKey || event.metaKey) window.open(to, "_blank", "noopener");
    else location.assign(to);
  }

  listen();
  const buttons = [["All", Infinity], ["5 years", 5 * YEAR], ["2 years", 2 * YEAR], ["1 year", YEAR]]
    .filter(([, length]) => length === Infinity || length < whole[1] - whole[0])
    .map(([text, length]) => {
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", () => zoom([Math.max(whole[0], whole[1] - length), whole[1]], true));
      return [button, length];
    });
  const title = document.querySelector(".brand span")?.textContent ?? "";
  const saves = ["png", "svg"].map((name) => {
    const button = element("button", { type: "button", "data-save": name, "aria-label": `Save the graph as ${name.toUpperCase()}` }, name.toUpperCase());
    button.addEventListener("click", () => {
      const who = players.map(nameOf).join(", ");
      save(name, svg, g, `${who} · ${title}${view === "place" ? " · place over time" : ""}`, who.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 100));
    });
    return button;
  });
  const help = element("span", { class: "help" }, `Drag, wheel or + and − zoom, arrows move${view === "rating" ? `, a click on a point or Enter opens the ${nouns.contest}` : ""}`);
  const tools = element("div", { class: "zoom" }, ...(buttons.length > 1 ? buttons.map(([button]) => button) : []), now, element("span", { class: "save" }, ...saves), help);
  const place = element("div", { class: "slider" });

  function build() {
    range = slider(players, run, show, view, whole, small.matches, zoom);
    place.replaceChildren(range.svg);
    render();
    const legend = document.querySelector("[data-legend]");
    legend?.replaceChildren(...g.legend.map((entry) => element("span", { class: "entry" }, sign(entry.class), entry.text)));
  }
  const begin = askedSpan();
  if (begin) span = clamp([Math.max(begin[0], whole[0]), Math.min(begin[1], whole[1])]);
  figure.replaceChildren(svg, place, tip, tools);
  for (const part of [figure, figure.closest("[data-figure]")]) if (part) part.hidden = false;
  build();
  linkViews();
  small.addEventListener("change", build);
  window.addEventListener("popstate", () => {
    const back = askedSpan();
    clearTimeout(settling);
    span = back ? clamp([Math.max(back[0], whole[0]), Math.min(back[1], whole[1])]) : whole;
    if (at && !inSpan(points(at[0])[at[1]])) at = null;
    render();
    linkViews();
  });

  function listen() {
    let from = null; // where a drag of the mouse began, in the drawing
    const fingers = new Map(); // where each finger is, in the drawing
    let pinch = null; // the times under two fingers
    let seen = null; // the last place of the pointer
    let aimed = false; // whether the pointer has moved here since the page was scrolled
    let turned = -Infinity; // when the wheel last zoomed
    window.addEventListener("scroll", () => { aimed = false; }, { passive: true });

    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") fingers.set(event.pointerId, inner(event)[0]);
      if (fingers.size === 2) {
        pinch = [...fingers].map(([id, px]) => [id, g.timeAt(px)]);
        for (const [id] of pinch) svg.setPointerCapture(id);
        return;
      }
      nearest(event);
      if (event.pointerType === "mouse" && event.button === 0) {
        [from] = inner(event);
        svg.setPointerCapture(event.pointerId);
        svg.focus({ preventScroll: true });
        event.preventDefault();
      }
    });
    svg.addEventListener("pointermove", (event) => {
      if (seen?.[0] !== event.clientX || seen?.[1] !== event.clientY) aimed = true;
      seen = [event.clientX, event.clientY];
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, inner(event)[0]);
      if (pinch) {
        const [[one, first], [other, second]] = pinch;
        const [px, qx] = [fingers.get(one), fingers.get(other)];
        const each = (second - first) / (Math.abs(qx - px) < 10 ? 10 * Math.sign(qx - px || 1) : qx - px); // seconds of a pixel
        if (each > 0) zoom([first - (px - g.start) * each, first + (g.stop - px) * each], false);
        return;
      }
      if (event.pointerType === "touch" && !fingers.has(event.pointerId)) return;
      nearest(event);
      if (from === null) return;
      const [to] = inner(event);
      marked.setAttribute("x", Math.min(from, to));
      marked.setAttribute("width", Math.abs(to - from));
    });
    svg.addEventListener("pointerup", (event) => {
      if (from !== null) {
        const [to] = inner(event);
        if (Math.abs(to - from) > 8) zoom([g.timeAt(Math.min(from, to)), g.timeAt(Math.max(from, to))], true);
        else if (nearest(event)) open(event);
        marked.setAttribute("width", 0);
      }
      ended(event);
    });
    svg.addEventListener("pointercancel", ended);
    function ended(event) {
      from = null;
      fingers.delete(event.pointerId);
      if (fingers.size < 2) pinch = null;
    }
    svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch" && !small.matches) unselect(); // the tip below a small graph has a link
      svg.classList.remove("hit");
    });
    svg.addEventListener("blur", () => { if (!svg.matches(":hover") && !small.matches) unselect(); });

    svg.addEventListener("wheel", (event) => {
      if (!aimed && !event.ctrlKey) return; // the page is scrolled, and the graph came under the pointer
      const unit = event.deltaMode ? 16 : 1;
      const [across, up] = [(event.shiftKey ? event.deltaY : event.deltaX) * unit, (event.shiftKey ? 0 : event.deltaY) * unit];
      const time = g.timeAt(Math.min(Math.max(inner(event)[0], g.start), g.stop));
      if (Math.abs(across) <= Math.abs(up) && up > 0 && isWhole() && !event.ctrlKey && event.timeStamp - turned > SETTLED) return;
      event.preventDefault();
      turned = event.timeStamp;
      if (Math.abs(across) > Math.abs(up)) {
        const by = (across * (span[1] - span[0])) / (g.stop - g.start);
        zoom(span.map((end) => end + by), false);
      } else around(time, Math.exp(Math.min(Math.max(up * WHEEL * (event.ctrlKey ? 5 : 1), -0.5), 0.5)), false);
    }, { passive: false });

    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const middle = at ? points(at[0])[at[1]][0] : (span[0] + span[1]) / 2;
      const p = at ? at[0] : 0;
      const seek = (q, k) => { if (points(q)[k] && inSpan(points(q)[k])) select(q, k); };
      const edges = () => [points(p).findIndex(inSpan), points(p).findLastIndex(inSpan)];
      const steps = { ArrowLeft: -1, ArrowRight: 1 };
      if (event.key in steps) seek(p, at ? at[1] + steps[event.key] : edges()[steps[event.key] < 0 ? 1 : 0]);
      else if (event.key === "Home" || event.key === "End") seek(p, edges()[Number(event.key === "End")]);
      else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !alone) {
        const q = (p + (event.key === "ArrowDown" ? 1 : players.length - 1)) % players.length;
        const k = points(q).findLastIndex((point) => inSpan(point) && point[0] <= (at ? middle : Infinity));
        seek(q, k >= 0 ? k : points(q).findIndex(inSpan));
      } else if (event.key === "Enter") open(event);
      else if (event.key === "+" || event.key === "=") around(middle, 0.5, false);
      else if (event.key === "-") around(middle, 2, false);
      else if (event.key === "0" || event.key === "Escape") zoom(whole, false);
      else return;
      event.preventDefault();
    });
  }
}

/** Draw the players that a page of the server has; on the site, `read` those that the address names. */
export async function start(figure, notice, read) {
  const given = document.getElementById("history");
  if (given) {
    const { run, players, view } = JSON.parse(given.textContent);
    draw(figure, run, players, view);
  } else if (kind === "site") await readable(notice, read(document.body.dataset.handle ? decodeURIComponent(document.body.dataset.handle) : new URLSearchParams(location.search).get("h") ?? ""));
}

/** Draw players of the site in the view that the address asks for; `site` is its manifest. */
export async function drawAsked(figure, site, players) {
  const found = site.past_places && askedView() === "place" ? await Promise.all(players.map(places)) : [];
  const placed = found.some((one) => one.times.length); // not of players who never had a place
  const note = document.querySelector("[data-about-places]");
  document.querySelector("[data-views]").hidden = !site.past_places;
  note.hidden = !placed;
  if (placed) note.querySelector("[data-period]").textContent = found[0].period;
  draw(figure, site, placed ? found : players, placed ? "place" : "rating");
}
