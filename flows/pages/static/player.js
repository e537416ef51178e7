// The page of a player: the graph, and on the static site all values.
import { afterReset, contestAddress, day, element, format, isSame, json, kind, manifest, nouns, once, placeText, player, playerAddress, root, run, SCORES, version, visible } from "./data.js";
import { search } from "./search.js";
import { drawAsked, start } from "./graph.js";
import { bestMatch, picker } from "./picker.js";

const ROWS = 200; // of the table that are shown at once, as ROUND_ROWS of the server
const YEAR = 365.25 * 86400;
const LISTED = 20; // games of a row, as on the server
const FORM = 10; // games, as FORM_GAMES of the server
const page = document.querySelector("main [data-player]");
const figure = page.querySelector("[data-graph]");
const field = (name) => page.querySelector(`[data-field=${name}]`);

async function fill(site, one) {
  const show = format(site);
  const [rating, mu, sigma] = [one.rating.at(-1), one.mu.at(-1), one.sigma.at(-1)];
  const set = (name, text, kind = "") => {
    field(name).textContent = text;
    if (kind) field(name).className = kind;
  };
  document.title = `${visible(one.name ?? one.handle)} · ${document.body.dataset.title}`;
  document.querySelector("meta[name=description]").content = `${visible(one.name ?? one.handle)}: rating ${show.number(rating)}, ${show.title(rating)}`.replace(/, $/, "");
  set("handle", visible(one.name ?? one.handle), show.tier(rating));
  set("title", visible(show.title(rating)));
  set("rating", `${show.number(rating)}${one.missing ? "?" : ""}`, show.tier(rating));
  set("missing", one.missing ? `provisional: ${one.missing}` : "");
  set("place", placeText(one));
  const ranked = site.ranked_in?.[one.component] ?? site.ranked;
  set("ranked", one.place_now === null ? "" : `of ${ranked.toLocaleString("en")}`);
  set("below", show.share(one.below));
  set("others", one.below === null ? "" : "of the others");
  set("belief", `${show.number(mu)} ± ${show.number(sigma)}`);
  set("caution", caution(site, show, rating, mu, sigma));
  set("last", day(one.times.at(-1)));
  if (one.country) field("member").replaceChildren(element("span", {}, `country ${visible(one.country)}`));
  set("n_rounds", (one.played?.at(-1) ?? one.rating.length).toLocaleString("en"));
  career(site, show, one);
  rounds(site, show, one);
  if (one.games) await record(site, show, one);
  for (const part of page.querySelectorAll("[hidden]:not(.found)")) part.hidden = false;
  page.querySelector("[data-notice]").hidden = true;
  for (const [name, hide] of [["[data-part=next]", !field("next").textContent], ["[data-part=belief]", !sigma], ["[data-older]", one.rating.length <= ROWS]]) page.querySelector(name).hidden = hide;
}

/** Why the rating is below mu, as on the server; empty unless the uncertainty lowers it. */
function caution(site, show, rating, mu, sigma) {
  const lower = mu - site.deviations * (sigma - site.sigma_limit);
  if (!(site.deviations > 0) || rating >= mu || show.direction(lower, mu) !== "up") return "";
  const above = site.sigma_limit ? `(σ − ${Number(site.sigma_limit.toPrecision(4))})` : "σ";
  const level = site.steady ? ", less a shift that keeps the level of all ratings" : "";
  const least = site.minimum === null ? "" : `, at least ${show.number(site.minimum)}`;
  return `The uncertainty σ lowers the rating by ${show.change(lower, mu).slice(1)}: it is μ − ${Number(site.deviations.toPrecision(4))} × ${above}${level}${least}. It comes nearer to μ as further ${nouns.contests} make σ smaller.`;
}

/** The changes, the highest rating with its contest, and the next title. */
function career(site, show, one) {
  const [rating, small] = [one.rating.at(-1), (...children) => element("small", {}, ...children)];
  const signed = (before) => element("span", { class: show.direction(before, rating) }, show.change(before, rating));
  const put = (name, ...children) => field(name).replaceChildren(...children);
  const last = one.rating.at(-2);
  put("change", last === undefined ? "new" : afterReset(site, one, one.times.length - 1) ? "after a reset" : signed(last), " ", small(day(one.times.at(-1))));
  const since = site.last_time_seconds - YEAR;
  const before = site.last_time_seconds ? one.times.findLastIndex((time) => time && time <= since) : -1;
  put("change_year", ...(before < 0 ? ["– ", small("no rating before")] : [signed(one.rating[before]), ...(before === one.times.length - 1 ? [" ", small("inactive")] : [])]));
  const highest = one.highest ?? one.rating;
  const peak = highest.indexOf(Math.max(...highest));
  put("max_rating", show.number(one.max_rating));
  put("peak", element("a", { href: contestAddress(one.ids[peak]) }, one.times[peak] ? day(one.times[peak]) : visible((one.titles ?? one.names)[peak] ?? one.ids[peak])));
  const title = site.titles.find(({ minimum }) => minimum !== null && minimum > rating);
  put("next", ...(title ? [show.number(Math.max(title.minimum - rating, 10 ** -site.decimals)), " ", small(`to ${visible(title.name)}`)] : []));
}

/** The games of a period: the first ones, with links to the opponents, and a link to all. */
const listed = (handle, id, games) => element("td", {}, ...games.slice(0, LISTED).flatMap(({ opponent, name, result }) =>
  [element("span", {}, element("span", { class: result }, SCORES[result]), " ", element("a", { href: playerAddress(opponent) }, visible(name))), " "]),
...(games.length > LISTED ? [element("a", { href: `${contestAddress(id)}&q=${encodeURIComponent(handle)}` }, `all ${games.length.toLocaleString("en")} games`)] : []));

/** The record of a player's games, after the other facts. */
async function record(site, show, one) {
  const [games, small] = [one.games.flat(), (text) => element("small", {}, text)];
  const [wins, draws, losses] = ["win", "draw", "loss"].map((result) => games.filter((game) => game.result === result).length);
  let [streak, longest] = [0, 0];
  for (const { result } of games) longest = Math.max(longest, (streak = result === "win" ? streak + 1 : 0));
  const form = games.slice(-FORM).flatMap(({ result }) => [element("span", { class: result },
    element("span", { "aria-hidden": "true" }, result[0].toUpperCase()), element("span", { class: "unseen" }, result)), " "]);
  const fact = (name, attributes, ...children) => element("div", {}, element("dt", {}, name), element("dd", attributes, ...children));
  const made = [
    fact("Won, drawn, lost", {}, [wins, draws, losses].map((n) => n.toLocaleString("en")).join(" · "), " ", small(`${(100 * (wins + draws / 2) / games.length).toFixed(1)} % of the points`)),
    fact("Form", { class: "form" }, ...form, small(`longest streak of wins: ${longest.toLocaleString("en")}`)),
  ];
  if (one.best_win) {
    const [opponent, rating, round] = one.best_win;
    const contests = await once(`${root}${site.contests}`);
    const name = games.find((game) => game.opponent === opponent).name;
    made.push(fact("Best win", {}, element("span", { class: show.tier(rating) }, show.number(rating)), " ",
      small(element("a", { href: playerAddress(opponent) }, visible(name))), " ",
      small(element("a", { href: contestAddress(contests.contest_id[round]) }, contests.time_seconds[round] ? day(contests.time_seconds[round]) : visible(contests.contest_id[round])))));
  }
  field("n_rounds").closest("div").querySelector("dt").textContent = "Games";
  page.querySelector(".facts").append(...made);
  const table = page.querySelector("table.rounds");
  table.classList.add("games");
  table.rows[0].cells[2].textContent = "Games";
}

/** The rows of the latest rounds, or periods of games; a button shows older ones. */
function rounds(site, show, one) {
  const row = (i) => element("tr", {},
    element("td", {}, day(one.times[i])),
    element("td", {}, element("a", { href: contestAddress(one.ids[i]) }, visible((one.titles ?? one.names)[i] ?? one.ids[i])), ...(one.team[i] === null ? [] : [" ", element("small", { class: "with" }, visible(one.team[i]))])),
    one.games ? listed(one.handle, one.ids[i], one.games[i]) : element("td", {}, String(one.place[i]), element("small", {}, ` / ${one.n[i]}`)),
    ...(site.has_performance ? [element("td", { class: show.tier(one.perf[i]) }, show.number(one.perf[i]))] : []),
    element("td", { class: show.tier(one.rating[i]) }, show.number(one.rating[i])),
    element("td", {}, afterReset(site, one, i) ? "after a reset" : i ? element("span", { class: show.direction(one.rating[i - 1], one.rating[i]) }, show.change(one.rating[i - 1], one.rating[i])) : "new"));
  const [body, older] = [page.querySelector("tbody"), page.querySelector("[data-older]")];
  let next = one.times.length;
  const add = () => {
    const stop = Math.max(next - ROWS, 0);
    while (next > stop) body.append(row(--next));
    older.hidden = next === 0;
  };
  body.replaceChildren();
  add();
  older.querySelector("button").addEventListener("click", add);
}

const notice = page.querySelector("[data-notice]");
const against = page.querySelector("[data-against]");
const other = against.querySelector("#against");
const answer = against.querySelector("[data-answer]");

/** The chance against another player, from the API; on the static site, which has none, the comparison of the two. */
async function meet(text) {
  const mine = against.querySelector("[type=hidden]").value;
  const best = await bestMatch(text);
  const found = best?.[0] ?? null;
  if (found === null || found === mine) {
    answer.textContent = found === mine ? `Choose another ${nouns.player}.` : `No ${nouns.player} is called ${visible(text)}.`;
    return;
  }
  other.value = found;
  const both = [mine, found].map((handle) => `h=${encodeURIComponent(handle)}`).join("&");
  const compared = `${against.action}?${both}`;
  if (kind === "site") return location.assign(compared);
  const listed = [mine, found].map((handle) => (handle.includes(",") ? `"${handle.replaceAll('"', '""')}"` : handle)).join(",");
  const { pairs: [pair], note } = await json(`${root}/api/v1/runs/${encodeURIComponent(run)}/compare?handles=${encodeURIComponent(listed)}`);
  const met = pair.wins + pair.losses + pair.draws;
  const percent = (chance) => `${Math.min(Math.max(Math.round(chance * 100), 1), 99)} %`;
  const [first, rest] = pair.win === undefined ? [pair.chance, ` to finish before ${visible(best[2] ?? found)}`]
    : [pair.win, ` to win against ${visible(best[2] ?? found)}, ${percent(pair.draw)} draw, ${percent(pair.loss)} loss`];
  answer.replaceChildren(element("b", {}, percent(first)), rest,
    met ? `; so far ${pair.wins} : ${pair.losses}${pair.draws ? ` (${pair.draws} tied)` : ""}. ` : `; no common ${nouns.contests}. `,
    ...(note ? [`${note}. `] : []), element("a", { href: compared }, "Compare"));
}

const ask = (text) => meet(text).catch((error) => {
  answer.textContent = `The data cannot be read: ${error.message}.`;
  console.error(error);
});
picker(other, (handle) => {
  other.value = handle;
  ask(handle);
});
against.addEventListener("submit", (event) => {
  event.preventDefault();
  if (other.value.trim()) ask(other.value.trim());
});
start(figure, notice, async (handle) => {
  const [site, one] = await Promise.all([manifest(), player(handle)]);
  if (!one) {
    const near = await search(handle, 5);
    const same = near.filter(([name]) => isSame(name, handle));
    if (same.length === 1) return location.replace(`${playerAddress(same[0][0])}${location.hash}`);
    field("handle").textContent = `No such ${nouns.player}`;
    notice.textContent = `${visible(site.run)} has no rated ${nouns.player} called ${visible(handle)}.`;
    if (near.length) notice.append(" Similar: ", ...near.flatMap(([other, , name], i) => [i ? ", " : "", element("a", { href: playerAddress(other) }, visible(name ?? other))]));
    return;
  }
  await fill(site, one);
  against.querySelector("[type=hidden]").value = handle;
  const here = `handle=${encodeURIComponent(handle)}`;
  field("distribution").href = `${root}${await version()}distribution.html?${here}`;
  field("compare").href = `${root}compare.html?h=${encodeURIComponent(handle)}`;
  if (field("problems")) field("problems").href = `${root}player-problems.html?h=${encodeURIComponent(handle)}&chance=0.8`;
  await drawAsked(figure, site, [one]);
});
