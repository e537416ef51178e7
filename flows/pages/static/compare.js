// The comparison of players: the graph, and on the static site all values.
import { element, format, manifest, placeText, player, playerAddress, visible } from "./data.js";
import { drawAsked, start } from "./graph.js";

const MOST = 20;
const figure = document.querySelector("[data-graph]");
const notice = document.querySelector("[data-notice]");

/** Rounds that two players have in common, not as members of one team, and how often each was placed before the other. */
function meet(one, other) {
  const place = new Map(one.ids.map((id, i) => [id, one.place[i]]));
  const team = new Map(one.ids.map((id, i) => [id, one.team[i]]));
  const met = { rounds: 0, first: 0, second: 0, ties: 0 };
  other.ids.forEach((id, i) => {
    if (!place.has(id) || (other.team[i] !== null && other.team[i] === team.get(id))) return;
    met.rounds++;
    met[place.get(id) < other.place[i] ? "first" : place.get(id) > other.place[i] ? "second" : "ties"]++;
  });
  return met;
}

/** The chance that a standard normal number is at most x, to 1e-7. */
function normal(x) {
  const [z, t] = [Math.abs(x) / Math.SQRT2, 1 / (1 + (0.3275911 * Math.abs(x)) / Math.SQRT2)];
  const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * Math.exp(-z * z) / 2;
  return x > 0 ? 1 - tail : tail;
}

/** The difference of two skills with its standard deviation, and the chance that the first one is the higher, as cells. */
function skills(site, show, one, other) {
  if (!site.uncertainty) return [];
  const [mu, of] = [other.mu.at(-1), one.mu.at(-1)];
  const deviation = site.uncertainty * Math.hypot(one.sigma.at(-1), other.sigma.at(-1));
  const chance = normal((of - mu) / deviation);
  const shown = chance > 0.999 ? "> 99.9 %" : chance < 0.001 ? "< 0.1 %" : `${(100 * chance).toFixed(1)} %`;
  return [element("td", {}, `${show.change(mu, of)} ± ${show.number(deviation)}`), element("td", {}, shown)];
}

function fill(site, players) {
  const show = format(site);
  document.querySelector("main [data-players] tbody").replaceChildren(...players.map((one, p) => element("tr", {},
    element("td", {}, element("span", { class: `key line s${p % 8}` }), element("a", { class: show.tier(one.rating.at(-1)), href: playerAddress(one.handle) }, visible(one.handle))),
    element("td", {}, placeText(one)),
    element("td", { class: show.tier(one.rating.at(-1)) }, `${show.number(one.rating.at(-1))}${one.missing ? "?" : ""}`),
    element("td", {}, show.number(one.max_rating)),
    element("td", {}, String(one.rating.length)))));
  const pairs = players.flatMap((one, p) => players.slice(p + 1).map((other) => [one, other, meet(one, other)]));
  document.querySelector("[data-pairs] tbody").replaceChildren(...pairs.map(([one, other, met]) => element("tr", {},
    element("td", {}, element("span", { class: "pair" }, visible(one.handle)), " and ", element("span", { class: "pair" }, visible(other.handle))),
    element("td", { class: "wide" }, String(met.rounds)),
    element("td", {}, `${met.first} : ${met.second}`, ...(met.ties ? [element("small", {}, ` (${met.ties} tied)`)] : [])),
    ...skills(site, show, one, other))));
  document.querySelector("main [data-players]").hidden = false;
  for (const part of document.querySelectorAll("[data-pairs], [data-skills]")) part.hidden = pairs.length === 0;
}

start(figure, notice, async (text) => {
  document.getElementById("handles").value = text;
  const handles = [...new Set(text.split(",").map((handle) => handle.trim()).filter(Boolean))].slice(0, MOST);
  if (!handles.length) return;
  const site = await manifest();
  const found = await Promise.all(handles.map(player));
  const missing = handles.filter((_, i) => !found[i]);
  const players = found.filter(Boolean);
  const apart = players.find((one) => one.component !== players[0].component);
  notice.textContent = [
    ...(missing.length ? [`No rated player is called ${missing.map(visible).join(", ")}.`] : []),
    ...(apart ? [`'${visible(players[0].handle)}' and '${visible(apart.handle)}' never met, not even through others: their ratings cannot be compared`] : []),
  ].join(" ");
  if (!players.length) return;
  fill(site, players);
  await drawAsked(figure, site, players);
});
