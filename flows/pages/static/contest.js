// The page of a contest: rows after the first ones, and the way from an id to the page. Each participant of a contest
// of teams has a body of the table: a row with the name of the team, and a row for each member.
import { element, format, json, manifest, playerAddress, readable, root, visible } from "./data.js";

async function rest(table) {
  const [site, all] = await Promise.all([manifest(), json(table.dataset.rows)]);
  const show = format(site);
  const rows = [];
  const bodies = [];
  for (let i = table.querySelectorAll("tbody tr:not(.team)").length; i < all.handle.length; i++) {
    const team = all.team?.[i] ?? null;
    if (all.team && (team === null || team !== all.team[i - 1])) {
      bodies.push(element("tbody"));
      if (team !== null) bodies.at(-1).append(element("tr", { class: "team" }, element("td", {}, String(all.place[i])), element("td", { colspan: "5" }, visible(team))));
    }
    const [handle, perf, rating, change] = [all.handle[i], all.perf[i], all.rating[i], all.change[i]];
    const row = element("tr", { class: show.tier(rating) },
      element("td", {}, team === null ? String(all.place[i]) : ""),
      element("td", {}, rating === null ? visible(handle) : element("a", { href: playerAddress(handle) }, visible(handle))),
      element("td", {}, show.number(perf)),
      element("td", {}, show.number(change === null ? null : rating - change)),
      element("td", {}, show.number(rating)),
      element("td", {}, all.rated?.[i] === false ? "unrated" : change === null ? "new" : element("span", { class: show.direction(rating - change, rating) }, show.change(rating - change, rating))));
    if (all.team) bodies.at(-1).append(row);
    else rows.push(row);
  }
  if (bodies.length) table.append(...bodies);
  else table.tBodies[0].append(...rows);
}

async function find(notice) {
  const id = new URLSearchParams(location.search).get("id") ?? "";
  const site = await manifest();
  const contests = await json(`${root}${site.contests}`);
  const at = contests.contest_id.indexOf(id);
  if (at >= 0 && contests.page[at]) location.replace(`${root}${contests.page[at]}`);
  else notice.textContent = `${visible(site.run)} has no rated contest ${visible(id)}.`;
}

const table = document.querySelector("[data-rows]");
const more = document.querySelector("[data-more]");
if (more) {
  const button = element("button", { type: "button" }, "Show all");
  button.addEventListener("click", () => {
    button.disabled = true;
    rest(table).then(() => more.remove(), (error) => { button.disabled = false; console.error(error); });
  });
  more.append(" ", button);
}
const notice = document.querySelector("[data-find]");
if (notice) readable(notice, find(notice));
