// The list of contests on the static site: all contests with a part of the name, also those of other pages.
import { day, element, json, manifest, playerAddress, readable, root, visible } from "./data.js";
import { fold } from "./search.js";

const MOST = 200; // rows; as on a page
const form = document.querySelector("[data-named]");
const notice = document.querySelector("[data-notice]");
const table = document.getElementById("contests");
const bodies = [...(table?.tBodies ?? [])];
const pager = document.querySelector(".pager");
let reading;

/** All contests, oldest first: columns, and their winners. */
async function columns() {
  const site = await manifest();
  const [found, winners] = await Promise.all([json(`${root}${site.contests}`), json(`${root}${site.winners}`)]);
  const folded = found.name.map((name, i) => fold(`${name} ${found.contest_id[i]}`));
  return { ...found, folded, ...winners };
}

function row(all, i) {
  const [page, best] = [all.page[i], all.winner[i]];
  const name = visible(all.name[i]);
  const first = best && (best.team === null ? element("a", { href: playerAddress(best.handles[0]) }, visible(all.names[best.handles[0]] ?? best.handles[0])) : visible(best.team));
  const others = best && best.n > 1 ? [" ", element("small", {}, `and ${(best.n - 1).toLocaleString("en")} other${best.n > 2 ? "s" : ""}`)] : [];
  const number = (value) => element("td", {}, (value ?? 0).toLocaleString("en"));
  return element("tr", {},
    element("td", {}, day(all.time_seconds[i])),
    element("td", {}, page ? element("a", { href: root + page }, name) : name, ...(page ? [] : [" ", element("small", {}, "not rated")])),
    all.n_games ? number(all.n_games[i]) : element("td", {}, first ?? "–", ...others), number(all.n_players[i]));
}

async function show() {
  const wanted = fold(form.elements.q.value.trim());
  const found = element("tbody");
  if (wanted) {
    reading ??= columns();
    const all = await reading;
    if (wanted !== fold(form.elements.q.value.trim())) return; // a later text has been typed
    const rows = all.folded.map((text, i) => (text.includes(wanted) ? i : -1)).filter((i) => i >= 0).reverse();
    found.append(...rows.slice(0, MOST).map((i) => row(all, i)));
    notice.textContent = `${rows.length.toLocaleString("en")} found${rows.length > MOST ? `, the latest ${MOST} are shown` : ""}.`;
  } else notice.textContent = "";
  for (const body of [...table.tBodies]) body.remove();
  table.append(...(wanted ? [found] : bodies));
  if (pager) pager.hidden = wanted !== "";
}

if (table) {
  form.hidden = false;
  form.addEventListener("input", () => readable(notice, show()));
  form.addEventListener("submit", (event) => event.preventDefault());
}
