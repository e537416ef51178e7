// The page of a contest: names are found as they are typed, among all rows, and pages change in their place; and the
// way from an id to the page. The server answers with the page; a static site has all rows as data.
import { element, format, isSame, json, kind, manifest, nouns, playerAddress, readable, root, visible } from "./data.js";
import { fold } from "./search.js";

const PAGE_ROWS = 200; // as on the server, also games, which have two rows each
const PAUSE = 200; // milliseconds without a key before a search

const form = document.querySelector("[data-names]");
const region = document.querySelector("[data-standings]");
const field = form?.querySelector("input");
const ofGames = region?.dataset.games !== undefined; // a period of games
const most = ofGames ? 2 * PAGE_ROWS : PAGE_ROWS;

/** The first row of each participant: of each team, and of each individual; of a period, of each game. */
const begins = (all, i) => ofGames ? i % 2 === 0 : !all.team || i === 0 || all.team[i] === null || all.team[i] !== all.team[i - 1];

/** The rows of the participants in whose names each word is; a team is found with all its members, and so is a game. */
function named(all, q) {
  const words = fold(q).split(/\s+/).filter(Boolean);
  const rows = [];
  for (let i = 0, stop; i < all.handle.length; i = stop) {
    stop = i + 1;
    while (stop < all.handle.length && !begins(all, stop)) stop++;
    const handles = all.handle.slice(i, stop);
    const text = fold([all.team?.[i] ?? "", ...handles, ...(all.names?.slice(i, stop) ?? [])].join("\n"));
    if (words.every((word) => text.includes(word))) handles.forEach((_, k) => rows.push(i + k));
  }
  return rows;
}

/** The first row of each page, and the number of rows; no team is divided. */
function pageEdges(all, rows) {
  const edges = [0];
  while (edges.at(-1) < rows.length) {
    let next = Math.min(edges.at(-1) + most, rows.length);
    while (next < rows.length && !begins(all, rows[next])) next++;
    edges.push(next);
  }
  return edges;
}

/** The cells of a row after the place. */
function cells(all, i, show) {
  const [handle, rating, change] = [all.handle[i], all.rating[i], all.change[i]];
  const name = visible(all.names?.[i] ?? handle);
  const before = change === null ? null : rating - change;
  const rated = all.rated?.[i] !== false;
  const moved = before !== null && rated ? show.step(rating) - show.step(before) : 0;
  const made = element("td", {}, rating === null ? name : element("a", { href: playerAddress(handle) }, name));
  if (moved) made.append(" ", element("small", { class: moved > 0 ? "rise" : "fall" }, visible(show.title(rating)) || "no title"));
  return [made, ...[...(all.perf ? [all.perf[i]] : []), before, rating].map((value) => element("td", {}, show.number(value))),
    element("td", {}, rated && change !== null ? element("span", { class: show.direction(before, rating) }, show.change(before, rating)) : rated ? "new" : "unrated")];
}

/** The player of a row of a period, the rating before and its change. */
function side(all, i, show) {
  const [handle, rating, change] = [all.handle[i], all.rating[i], all.change[i]];
  const before = change === null ? null : rating - change;
  const by = before === null ? "new" : element("span", { class: show.direction(before, rating) }, show.change(before, rating));
  return [element("td", { class: show.tier(rating).replace(/^t ?/, "") }, element("a", { href: playerAddress(handle) }, visible(all.names?.[i] ?? handle))),
    element("td", {}, show.number(before)), element("td", {}, by)];
}

/** The body of a table of games, a row each, given their rows. */
function games(all, rows, show) {
  const score = (i) => all.place[i] === all.place[i + 1] ? "½–½" : all.place[i] < all.place[i + 1] ? "1–0" : "0–1";
  return element("tbody", {}, ...rows.filter((i) => i % 2 === 0).map((i) =>
    element("tr", {}, ...side(all, i, show), element("td", {}, score(i)), ...side(all, i + 1, show))));
}

/** The bodies of a table of some rows; with teams each participant has one. */
function bodies(all, rows, show) {
  const made = [element("tbody")];
  for (const i of rows) {
    const team = all.team?.[i] ?? null;
    const first = begins(all, i);
    if (all.team && first && made.at(-1).rows.length) made.push(element("tbody"));
    if (team !== null && first) made.at(-1).append(element("tr", { class: "team" }, element("td", {}, String(all.place[i])), element("td", { colspan: all.perf ? "5" : "4" }, visible(team))));
    made.at(-1).append(element("tr", { class: `${show.tier(all.rating[i]).replace(/^t ?/, "")}${team === null ? "" : " member"}` },
      element("td", {}, team === null ? String(all.place[i]) : ""), ...cells(all, i, show)));
  }
  return made;
}

const address = (page, q) => {
  const query = new URLSearchParams({ ...(page && { page }), ...(q && { q }) }).toString();
  return `${location.pathname}${query && "?"}${query}`;
};

/** The links to the pages. */
function pager(page, n, q) {
  const link = (to, text, attributes = {}) => element("a", { href: address(to, q), ...attributes }, text);
  const near = [...new Set([0, page - 2, page - 1, page, page + 1, page + 2, n - 1])].filter((to) => to >= 0 && to < n);
  const shown = near.flatMap((to, i) => [
    ...(i && to > near[i - 1] + 1 ? [element("span", { "aria-hidden": "true" }, "…")] : []),
    link(to, String(to + 1), to === page ? { "aria-current": "page" } : {}),
  ]);
  return element("nav", { class: "pager", "aria-label": "Pages of the standings" },
    ...(page > 0 ? [link(page - 1, "Previous", { rel: "prev" })] : []), ...shown,
    ...(page < n - 1 ? [link(page + 1, "Next", { rel: "next" })] : []));
}

let loaded;
/** A page of the rows that the data of a static site has. */
async function draw(page, q) {
  loaded ??= Promise.all([manifest(), json(`${root}${region.dataset.rows}`)]);
  const [site, all] = await loaded;
  const rows = q ? named(all, q) : all.handle.map((_, i) => i);
  const edges = pageEdges(all, rows);
  const number = Math.min(page, Math.max(edges.length - 2, 0));
  const some = rows.slice(edges[number], edges[number + 1] ?? 0);
  const count = (value) => value.toLocaleString("en");
  const participants = (chosen) => chosen.filter((i) => begins(all, i)).length;
  const everybody = participants(all.handle.map((_, i) => i));
  const [each, things, heading] = ofGames ? [2, "games", "Games"] : [1, all.team ? "participants" : nouns.players, "Rows"];
  const said = element("p", { class: "more", role: "status" }, q
    ? `${count(participants(rows))} of ${count(everybody)} ${things}${rows.length ? "" : `: no name has “${visible(q)}”`}`
    : `${heading} ${count(edges[number] / each + 1)} to ${count((edges[number + 1] ?? 0) / each)} of ${count(rows.length / each)}`);
  const head = region.querySelector("thead") ?? draw.head;
  draw.head = head;
  const show = format(site);
  const table = element("table", { class: ofGames ? "period" : "standings" }, head, ...(ofGames ? [games(all, some, show)] : bodies(all, some, show)));
  const made = [said, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": ofGames ? "Games" : "Standings" }, table)];
  return edges.length > 2 ? [...made, pager(number, edges.length - 1, q)] : made;
}

/** The same from the server. */
async function ask(page, q) {
  const response = await fetch(address(page, q), { headers: { accept: "text/html" } });
  const found = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-standings]");
  if (!found) throw new Error(`${response.status} ${response.statusText}`);
  return [...found.childNodes];
}

let asked = 0;
async function show(page, q, record) {
  const number = ++asked;
  try {
    const made = await (kind === "site" ? draw(page, q) : ask(page, q));
    if (number !== asked) return; // a later text has been typed
    region.replaceChildren(...made);
    record?.call(history, null, "", address(page, q));
  } catch (error) {
    if (number === asked) region.prepend(element("p", { class: "notice", role: "alert" }, `The rows cannot be read: ${error.message}.`));
    console.error(error);
  }
}

/** The page and the names in the address. */
function wanted() {
  const query = new URLSearchParams(location.search);
  return [Math.max(Number.parseInt(query.get("page") ?? "0", 10) || 0, 0), (query.get("q") ?? "").trim()];
}

if (form) {
  form.hidden = false;
  let waiting = 0;
  const search = () => {
    clearTimeout(waiting);
    return show(0, field.value.trim(), history.replaceState);
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, PAUSE);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  region.addEventListener("click", async (event) => {
    const link = event.target.closest(".pager a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const query = new URL(link.href).searchParams;
    await show(Number(query.get("page") ?? 0), query.get("q") ?? "", history.pushState);
    form.scrollIntoView();
  });
  addEventListener("popstate", () => {
    const [page, q] = wanted();
    field.value = q;
    show(page, q);
  });
  const more = region.querySelector("[data-more]");
  if (more) {
    const button = element("button", { type: "button" }, `Show all, ${PAGE_ROWS} a page`);
    button.addEventListener("click", () => show(0, "", history.replaceState));
    more.append(" ", button);
  }
  const [page, q] = wanted();
  if (kind === "site" && (page || q)) {
    field.value = q;
    show(page, q);
  }
}

async function find(notice) {
  const [id, q] = ["id", "q"].map((name) => new URLSearchParams(location.search).get(name) ?? "");
  const site = await manifest();
  const contests = await json(`${root}${site.contests}`);
  const near = contests.contest_id.flatMap((other, i) => (isSame(other, id) ? [i] : []));
  const exact = contests.contest_id.indexOf(id);
  const at = exact < 0 && near.length === 1 ? near[0] : exact;
  if (at >= 0 && contests.page[at]) location.replace(`${root}${contests.page[at]}${q && `?q=${encodeURIComponent(q)}`}`);
  else notice.textContent = `${visible(site.run)} has no rated ${nouns.contest} ${visible(id)}.`;
}

const notice = document.querySelector("[data-find]");
if (notice) readable(notice, find(notice));
