// The page of a contest: rows after the first ones, and the way from an id to the page.
import { element, format, json, manifest, playerAddress, root, visible } from "./data.js";

async function rest(table) {
  const [site, all] = await Promise.all([manifest(), json(table.dataset.rows)]);
  const show = format(site);
  const body = table.tBodies[0];
  const rows = [];
  for (let i = body.rows.length; i < all.handle.length; i++) {
    const [handle, perf, rating, change] = [all.handle[i], all.perf[i], all.rating[i], all.change[i]];
    rows.push(element("tr", { class: show.tier(rating) },
      element("td", {}, String(all.place[i])),
      element("td", {}, element("a", { href: playerAddress(handle) }, visible(handle))),
      element("td", {}, show.number(perf)),
      element("td", {}, show.number(change === null ? null : rating - change)),
      element("td", {}, show.number(rating)),
      element("td", {}, change === null ? "new" : element("span", { class: show.direction(rating - change, rating) }, show.change(rating - change, rating)))));
  }
  body.append(...rows);
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
if (notice) find(notice).catch((error) => { notice.textContent = `The data cannot be read: ${error.message}.`; });
