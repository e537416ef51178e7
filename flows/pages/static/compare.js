// The comparison of players: the graph, and on the static site all values.
import { afterReset, contestAddress, day, element, format, manifest, nouns, placeText, player, playerAddress, SCORES, visible } from "./data.js";
import { nameOf } from "./geometry.js";
import { drawAsked, start } from "./graph.js";
import { bestMatch, picker } from "./picker.js";
import { search } from "./search.js";

const MOST = 20;
const ROWS = 100; // of the common contests that are shown at once, as COMMON_ROWS of the server
const figure = document.querySelector("[data-graph]");
const notice = document.querySelector("[data-notice]");

/** Rounds that two players have in common, not as members of one team, and how often each was placed before the other. */
function meet(one, other) {
  if (one.games) return record(one.games.flat().filter(({ opponent }) => opponent === other.handle));
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

/** The same of the games between two players. */
function record(games) {
  const count = (result) => games.filter((game) => game.result === result).length;
  return { rounds: games.length, first: count("win"), second: count("loss"), ties: count("draw") };
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
    element("td", {}, element("span", { class: `key line s${p % 8}` }), element("a", { class: show.tier(one.rating.at(-1)), href: playerAddress(one.handle) }, nameOf(one))),
    element("td", {}, placeText(one)),
    element("td", { class: show.tier(one.rating.at(-1)) }, `${show.number(one.rating.at(-1))}${one.missing ? "?" : ""}`),
    element("td", {}, show.number(one.max_rating)),
    element("td", {}, String(one.played?.at(-1) ?? one.rating.length)))));
  const key = (p) => element("span", { class: `key line s${p % 8}` });
  const heads = players.map((one, p) => element("th", { scope: "col" }, key(p), nameOf(one)));
  const table = document.querySelector(".matrix");
  table.tHead.rows[0].replaceChildren(table.tHead.rows[0].cells[0], ...heads);
  table.tBodies[0].replaceChildren(...players.map((one, p) => element("tr", {}, element("th", { scope: "row" }, key(p), nameOf(one)), ...players.map((other) => score(one, other)))));
  const pairs = players.flatMap((one, p) => players.slice(p + 1).map((other) => [one, other]));
  document.querySelector(".pairs tbody")?.replaceChildren(...pairs.map(([one, other]) => element("tr", {},
    element("td", {}, element("span", { class: "pair" }, nameOf(one)), " and ", element("span", { class: "pair" }, nameOf(other))),
    ...skills(site, show, one, other))));
  document.querySelector("main [data-players]").hidden = false;
  for (const part of document.querySelectorAll("[data-pairs], [data-skills]")) part.hidden = pairs.length === 0;
  common(site, show, players);
}

/** A cell of the table of scores. */
function score(one, other) {
  if (one === other) return element("td", {}, "–");
  const met = meet(one, other);
  return element("td", {}, `${met.first} : ${met.second}`, ...(met.ties ? [element("small", {}, `${met.ties} tied`)] : []));
}

/** The rounds, or the periods with games between them, of at least two of the players, latest first; a button shows older ones. */
function common(site, show, players) {
  const at = players.map((one) => new Map(one.ids.map((id, i) => [id, i])));
  const times = new Map(players.flatMap((one) => one.ids.map((id, i) => [id, [one.times[i], (one.titles ?? one.names)[i]]])));
  const order = new Map(players.flatMap((one) => one.ids.map((id, i) => [id, one.rounds[i]])));
  const scores = (one, i) => one.games[i].filter(({ opponent }) => others.has(opponent)).map(({ result }) => SCORES[result]).join(", ") || "–";
  const others = new Set(players.map((one) => one.handle));
  const met = (id) => players.filter((one, p) => at[p].has(id) && (!one.games || scores(one, at[p].get(id)) !== "–")).length > 1;
  const found = [...times.keys()].filter(met).sort((one, other) => order.get(other) - order.get(one));
  const cell = (one, i) => one.games ? element("td", {}, i === undefined ? "–" : scores(one, i)) : element("td", {}, ...(i === undefined ? ["–"] : [String(one.place[i]), ...(i && !afterReset(site, one, i) ? [" ", element("small", { class: show.direction(one.rating[i - 1], one.rating[i]) }, show.change(one.rating[i - 1], one.rating[i]))] : [])]));
  const row = (id) => element("tr", {}, element("td", {}, day(times.get(id)[0])), element("td", {}, element("a", { href: contestAddress(id) }, visible(times.get(id)[1] ?? id))), ...players.map((one, p) => cell(one, at[p].get(id))));
  const [table, older] = [document.querySelector(".common"), document.querySelector("[data-older]")];
  table.tHead.rows[0].replaceChildren(...[...table.tHead.rows[0].cells].slice(0, 2), ...players.map((one) => element("th", { scope: "col" }, nameOf(one))));
  table.tBodies[0].replaceChildren();
  let next = 0;
  const add = () => {
    table.tBodies[0].append(...found.slice(next, next + ROWS).map(row));
    next += ROWS;
    older.hidden = next >= found.length;
  };
  add();
  older.querySelector("button").addEventListener("click", add);
  document.querySelector("[data-total]").textContent = found.length.toLocaleString("en");
  for (const part of document.querySelectorAll("[data-common]")) part.hidden = found.length === 0;
}

const chips = document.querySelector("[data-chips]");
const adding = document.querySelector("[data-add]");
const field = adding.querySelector("#add");
const address = (handles) => `${adding.action}${handles.length ? `?${handles.map((handle) => `h=${encodeURIComponent(handle)}`).join("&")}` : ""}`;
const chosen = () => [...chips.querySelectorAll("input")].map((input) => input.value);

/** The players that the address asks for: one each, or one list with commas between them. */
async function asked() {
  const given = new URLSearchParams(location.search).getAll("h").map((text) => text.trim()).filter(Boolean);
  if (given.length !== 1 || (await player(given[0]))) return [...new Set(given)];
  const listed = [...given[0].matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))/g)].map(([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare.trim());
  return [...new Set(listed.filter(Boolean))];
}

const chip = (one, p, known) => element("li", { class: "chip" }, element("span", { class: `key line s${p % 8}` }),
  element("a", { href: playerAddress(one.handle) }, nameOf(one)), " ",
  element("a", { class: "remove", href: address(known.filter((other) => other !== one.handle)), "aria-label": `Remove ${nameOf(one)}` }, "×"),
  element("input", { type: "hidden", name: "h", value: one.handle }));

const add = (handle) => location.assign(address([...new Set([...chosen(), handle])].slice(0, MOST)));
picker(field, add);
adding.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = field.value.trim();
  if (text) bestMatch(text).then((found) => add(found?.[0] ?? text), console.error);
});

start(figure, notice, async () => {
  const handles = (await asked()).slice(0, MOST);
  if (!handles.length) return;
  const site = await manifest();
  const found = await Promise.all(handles.map(player));
  const missing = handles.filter((_, i) => !found[i]);
  const players = found.filter(Boolean);
  const known = players.map((one) => one.handle);
  const apart = players.find((one) => one.component !== players[0].component);
  const similar = await Promise.all(missing.map((handle) => search(handle, 5)));
  notice.replaceChildren(
    ...missing.flatMap((handle, i) => [`No rated ${nouns.player} is called ${visible(handle)}`,
      ...(similar[i].length ? ["; similar: ", ...similar[i].flatMap(([other, , name], j) => [j ? ", " : "", element("a", { href: address([...known, other]) }, visible(name ?? other))])] : []), ". "]),
    ...(apart ? [`'${nameOf(players[0])}' and '${nameOf(apart)}' never met, not even through others: their ratings cannot be compared`] : []));
  if (!players.length) return;
  document.getElementById("handles").value = known.map((handle) => (handle.includes(",") ? `"${handle.replaceAll('"', '""')}"` : handle)).join(", ");
  document.querySelector("details.list").open = false;
  chips.replaceChildren(...players.map((one, p) => chip(one, p, known)));
  fill(site, players);
  await drawAsked(figure, site, players);
});
