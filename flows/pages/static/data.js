// The data of a run: files of the static site, or the API of the server; the same answers from both.
export const { kind, root, run, home } = document.body.dataset;
export const nouns = document.body.dataset; // player, players, contest, contests: the words of the run
export const DAY = 86400;
const NAMED = 3; // games of a point of the graph
export const SCORES = { win: "1–0", draw: "½–½", loss: "0–1" }; // of a game, the player first
const LARGE = 1e9; // rating points beyond every scale; three digits are shown

/** Text with characters that would reorder or hide the text around them written as \u{...}; at most 80 characters. */
export function visible(text) {
  const shown = text.slice(0, 80).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Cn}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
  return text.length > 80 ? `${shown.slice(0, 79)}…` : shown;
}

/** Whether two names differ in case alone. */
export const isSame = (one, other) => one.toLowerCase() === other.toLowerCase();

export function day(seconds) {
  const time = new Date(seconds * 1000);
  return seconds && !Number.isNaN(time.getTime()) ? time.toISOString().slice(0, 10) : "–";
}

/** A number of players with its noun. */
export const countPlayers = (n) => `${n.toLocaleString("en")} ${n === 1 ? nouns.player : nouns.players}`;

/** An element with properties, attributes (names with a dash or `class`, `role`) and children; texts are never parsed. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const links = {
  site: { player: (h) => `${root}player.html?h=${encodeURIComponent(h)}`, contest: (id) => `${root}contest.html?id=${encodeURIComponent(id)}` },
  server: { player: (h) => `${home}/p/${encodeURIComponent(h)}`, contest: (id) => `${home}/c/${encodeURIComponent(id)}` },
}[kind];
export const { player: playerAddress, contest: contestAddress } = links;

/** How numbers are shown, from the titles and decimals of a run. */
export function format({ titles, decimals }) {
  const step = (rating) => (rating === null ? -1 : titles.findLastIndex((title) => title.minimum === null || rating >= title.minimum));
  const tier = (rating) => (step(rating) < 0 ? "t" : `t t${step(rating)}`);
  const share = (percent) => (percent === null ? "–" : `${percent.toFixed(2)} %`);
  const text = (value) => (Math.abs(value) < LARGE ? value.toFixed(decimals) : String(Number(value.toPrecision(3))));
  const number = (value) => (value === null ? "–" : text(value));
  const difference = (before, after) => Number(after.toFixed(decimals)) - Number(before.toFixed(decimals)); // of the shown numbers
  const change = (before, after) => `${difference(before, after) < 0 ? "" : "+"}${text(difference(before, after))}`;
  const direction = (before, after) => ({ 1: "up", "-1": "down" })[Math.sign(difference(before, after))] ?? "";
  const title = (rating) => titles.findLast((one) => one.minimum === null || rating >= one.minimum)?.name ?? "";
  return { step, tier, number, change, direction, share, title };
}

/** JSON of an address; the files of the site are compressed, whether or not the web server says so. */
export async function json(address, options = {}) {
  const response = await fetch(address, options);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  const data = new Uint8Array(await response.arrayBuffer());
  if (data[0] !== 0x1f || data[1] !== 0x8b) return JSON.parse(new TextDecoder().decode(data));
  return new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** Wait for what a page reads; an error becomes its notice. */
export async function readable(notice, reading) {
  try {
    await reading;
  } catch (error) {
    notice.textContent = `The data cannot be read: ${error.message}. Reload the page to try again.`;
    console.error(error);
  }
}

const kept = new Map();
/** JSON of an address, requested once. */
export function once(address) {
  if (!kept.has(address)) kept.set(address, json(address));
  return kept.get(address);
}

/** The folder of the newest version of the site, which its first page names. */
export async function version() {
  if (!kept.has("")) {
    kept.set("", fetch(`${root}index.html`, { cache: "no-cache" }).then((response) => response.text()).then((page) => {
      const found = /<meta name="ranklake-version" content="(v\/\d+\/)">/.exec(page);
      if (!found) throw new Error("index.html names no version of the site");
      return found[1];
    }));
  }
  return kept.get("");
}

export async function manifest() {
  return once(`${root}${await version()}manifest.json`);
}

/** Titles and decimals of the run. */
export async function shown() {
  return kind === "site" ? manifest() : once(`${root}/api/v1/runs/${encodeURIComponent(run)}`);
}

const CRC = Uint32Array.from({ length: 256 }, (_, i) => {
  for (let k = 0; k < 8; k++) i = i & 1 ? 0xedb88320 ^ (i >>> 1) : i >>> 1;
  return i;
});

/** CRC-32 of a text in UTF-8. */
export function crc32(text) {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Whether ratings were reset between a round of a player and the one before: their difference is then no result. */
export const afterReset = (run, one, i) => i > 0 && (run.seasons ?? []).some((season) => season.reset && one.times[i - 1] < season.time && season.time <= one.times[i]);

/** The history of a player, one list a column, and the player's place; null if the site has no such player. */
export async function player(handle) {
  const site = await manifest();
  const contests = await once(`${root}${site.contests}`);
  const columns = Object.fromEntries(["ids", "names", "times", "n", "place", "perf", "mu", "sigma", "rating", "team", "rounds", ...(site.games ? ["games"] : [])].map((name) => [name, []]));
  for (const { folder, shards } of site.histories) {
    const shard = String(crc32(handle) % shards).padStart(4, "0");
    const file = await once(`${root}${folder}${shard}.json.gz`);
    const at = file.handle.indexOf(handle);
    if (at < 0) continue;
    const first = file.rows.slice(0, at).reduce((sum, n) => sum + n, 0);
    const rows = Object.fromEntries(Object.entries(file).filter(([, all]) => Array.isArray(all)).map(([name, all]) => [name, all.slice(first, first + file.rows[at])]));
    let [round, rating] = [0, 0];
    rows.contest.forEach((step, i) => {
      round += step;
      rating = Number((rating + rows.change[i]).toFixed(site.decimals));
      const mu = Number((rating + rows.margin[i]).toFixed(site.decimals));
      const values = { ids: contests.contest_id[round], names: contests.name[round], times: contests.time_seconds[round] ?? 0, n: contests.n_players[round], place: rows.place[i], perf: rows.perf[i], mu, sigma: rows.sigma[i], rating, team: rows.team?.[i] ?? null, rounds: round };
      if (site.games) {
        const opponent = rows.opponent[i];
        values.games = { opponent, name: file.names?.[opponent] ?? opponent, result: rows.result[i] };
      }
      for (const [name, value] of Object.entries(values)) columns[name].push(value);
    });
  }
  if (!columns.rating.length) return null;
  const place = await placeOf(site, handle, columns.rating.at(-1));
  return { handle, ...(site.games ? joined(columns) : columns), ...place };
}

/** A row a period instead of one a game, with the `games` of each, how many were `played` until its end, and its `highest` rating. */
function joined(columns) {
  const { games, ...rows } = columns;
  const ends = rows.rounds.flatMap((round, i) => (round === rows.rounds[i + 1] ? [] : [i + 1]));
  const begin = (k) => (k ? ends[k - 1] : 0);
  const made = Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, ends.map((end) => values[end - 1])]));
  const names = ends.map((end, k) => {
    const some = games.slice(begin(k), end);
    const scores = some.slice(0, NAMED).map(({ name, result }) => `${SCORES[result]} ${name}`).join(", ");
    return `${rows.names[end - 1] ?? rows.ids[end - 1]}: ${scores}${some.length > NAMED ? ` and ${some.length - NAMED} more` : ""}`;
  });
  const perf = ends.map((end, k) => {
    const known = rows.perf.slice(begin(k), end).filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  });
  const none = ends.map(() => null);
  return { ...made, titles: made.names, names, perf, place: none, n: none, played: ends, games: ends.map((end, k) => games.slice(begin(k), end)),
    highest: ends.map((end, k) => Math.max(...rows.rating.slice(begin(k), end))) };
}

/** The places of a player at the ends of past periods, among the ranked players by their shown ratings; see flows/site/past.py. */
export async function places(one) {
  const site = await manifest();
  const past = await once(`${root}${site.past_places}`);
  const found = { handle: one.handle, name: one.name, times: [], places: [], of: [], period: past.period };
  past.rounds.forEach((round, k) => {
    const last = one.rounds.findLastIndex((played) => played <= round);
    if (last < 0 || (one.played?.[last] ?? last + 1) < past.min_rounds || (past.max_sigma !== null && one.sigma[last] > past.max_sigma)) return;
    const own = Math.round(one.rating[last] * 10 ** site.decimals);
    let [level, above, total] = [0, 0, 0];
    past.levels[k].forEach((step, i) => {
      level += step;
      total += past.counts[k][i];
      if (level > own) above += past.counts[k][i];
    });
    for (const [name, value] of Object.entries({ times: past.times[k], places: above + 1, of: total })) found[name].push(value);
  });
  return found;
}

/** A place with its interval, as 12 (9-17); a dash for a provisional player. */
export function placeText({ place_now: place, place_high: high, place_low: low }) {
  const count = (value) => value.toLocaleString("en");
  return place === null ? "–" : count(place) + (high ? ` (${count(high)}-${count(low)})` : "");
}

/** Place with its interval, what is missing for one, highest rating, country and component, from the page of the leaderboard that has the rating. */
async function placeOf(site, handle, rating) {
  const { first, files, rows } = site.leaderboard;
  let page = first.findLastIndex((top) => top >= rating);
  for (page = Math.max(page, 0); page >= 0; page--) {
    const board = await once(`${root}data/leaderboard/${String(page).padStart(3, "0")}-${files[page]}.json.gz`);
    const at = board.handle.indexOf(handle);
    if (at >= 0) {
      const [place, value] = [board.place[at], (name) => board[name]?.[at]];
      const interval = { place_now: place, place_high: value("place_high"), place_low: value("place_low"), missing: value("missing") };
      return { ...interval, below: value("percentile"), max_rating: board.max_rating[at], country: value("country"), name: value("name"), component: value("component"), best_win: value("best_win"), page, rows };
    }
    if (board.rating[0] > rating) break;
  }
  throw new Error(`the leaderboard has no ${handle}`);
}
