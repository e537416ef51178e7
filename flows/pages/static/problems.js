// Problems on the static site: the page of one, the list with its filters, and the problems that a player solves with a chance.
import { contestAddress, element, format, json, manifest, player, playerAddress, readable, root, visible } from "./data.js";
import { fold } from "./search.js";

const MOST = 200; // rows; as on a page
const SIGNS = { above: "> ", below: "< " };
const notice = document.querySelector("[data-notice]");
const table = document.getElementById("problems");
const asked = new URLSearchParams(location.search);
let reading;

/** All problems, hardest first, one list a column, with the folded names; null if the site has none. */
async function columns() {
  const site = await manifest();
  if (!site.problems) return null;
  const [all, contests] = await Promise.all([json(`${root}${site.problems}`), json(`${root}${site.contests}`)]);
  return { ...all, contests, show: format(site), folded: all.problem.map((id, i) => fold(`${all.name[i] ?? ""} ${id}`)) };
}

function row(all, i, chance = null) {
  const small = (text, kind = "") => [" ", element("small", kind ? { class: kind } : {}, visible(text))];
  const name = all.name[i] ?? all.problem[i];
  const cell = (value, kind = "") => element("td", kind ? { class: kind } : {}, value);
  const number = (value) => value.toLocaleString("en", { maximumSignificantDigits: 6 });
  const at = all.contest[i];
  return element("tr", {},
    element("td", {}, element("a", { href: root + all.page[i] }, visible(name)), ...(all.name[i] === null ? [] : small(all.problem[i])), ...(all.tags[i] ?? []).flatMap((tag) => small(tag, "tag"))),
    ...(chance === null ? [] : [cell(`${Math.min(Math.max(Math.round(chance * 100), 1), 99)} %`)]),
    cell(`${SIGNS[all.bound[i]] ?? ""}${all.show.number(all.difficulty[i])}`), cell(all.show.number(all.deviation[i]), "wide"),
    cell(`${number(all.solved[i])} of ${number(all.counted[i])}`),
    cell(element("a", { href: contestAddress(all.contests.contest_id[at]) }, visible(all.contests.name[at] ?? all.contests.contest_id[at])), "wide"));
}

/** The page of a problem by its id. */
async function find() {
  const id = asked.get("id") ?? "";
  const all = await columns();
  const at = all?.problem.indexOf(id) ?? -1;
  if (at >= 0) location.replace(root + all.page[at]);
  else notice.textContent = `There is no problem ${visible(id)}.`;
}

const orders = {
  difficulty: (all) => all.difficulty, "-difficulty": (all) => all.difficulty.map((value) => value === null ? null : -value),
  solved: (all) => all.solved, "-solved": (all) => all.solved.map((value) => -value),
  "-deviation": (all) => all.deviation.map((value) => value === null ? null : -value),
};

/** The list with its filters, as the page of the server has it. */
function list(form) {
  const [first, pager] = [table?.tBodies[0], document.querySelector(".pager")];
  const wanted = () => Object.fromEntries(["q", "tag", "min", "max", "order"].map((name) => [name, form.elements[name]?.value.trim() ?? ""]));
  const limit = (text, otherwise) => (text === "" || Number.isNaN(Number(text)) ? otherwise : Number(text));
  async function show() {
    const choice = wanted();
    const [q, low, high] = [fold(choice.q), limit(choice.min, null), limit(choice.max, null)];
    const whole = !q && !choice.tag && low === null && high === null && choice.order === "difficulty";
    if (pager) pager.hidden = !whole;
    if (whole) {
      notice.textContent = "";
      table.tBodies[0].replaceWith(first);
      return;
    }
    reading ??= columns();
    const all = await reading;
    if (JSON.stringify(choice) !== JSON.stringify(wanted())) return; // a later choice
    const fits = (i) => all.folded[i].includes(q) && (!choice.tag || (all.tags[i] ?? []).includes(choice.tag))
      && (low === null || (all.difficulty[i] !== null && all.difficulty[i] >= low)) && (high === null || (all.difficulty[i] !== null && all.difficulty[i] < high));
    const rows = all.problem.map((_, i) => i).filter(fits);
    const by = orders[choice.order](all);
    rows.sort((one, other) => (by[other] ?? -Infinity) - (by[one] ?? -Infinity) || one - other);
    notice.textContent = `${rows.length.toLocaleString("en")} of ${all.problem.length.toLocaleString("en")} problems${rows.length > MOST ? `, the first ${MOST} are shown` : ""}.`;
    table.tBodies[0].replaceWith(element("tbody", {}, ...rows.slice(0, MOST).map((i) => row(all, i))));
  }
  form.hidden = false;
  for (const name of ["q", "tag", "min", "max", "order"]) if (asked.has(name) && form.elements[name]) form.elements[name].value = asked.get(name);
  form.addEventListener("input", () => readable(notice, show()));
  form.addEventListener("submit", (event) => event.preventDefault());
  return show();
}

/** The chance of a player, as flows/answers/problems/chances.py has it. */
function chanceOf(all, i, mu, sigma) {
  const rate = Math.LN10 / all.scale;
  const variance = all.uncertainty ? (all.uncertainty * sigma) ** 2 + all.deviation[i] ** 2 : 0;
  return 1 / (1 + Math.exp((rate * (all.difficulty[i] - mu)) / Math.sqrt(1 + (3 * rate ** 2 * variance) / Math.PI ** 2)));
}

/** The problems that a player solves with a chance, hardest first. */
async function chances(form) {
  for (const field of ["chance", "width"]) if (asked.get(field)) form.elements[field].value = asked.get(field);
  form.addEventListener("submit", (event) => event.preventDefault());
  const [all, one] = await Promise.all([columns(), player(asked.get("h") ?? "")]);
  if (!all || !one) {
    notice.textContent = all ? `There is no player ${visible(asked.get("h") ?? "")}.` : "The site has no problems.";
    return;
  }
  const name = visible(one.name ?? one.handle);
  document.querySelector("[data-field=handle]").replaceChildren("Problems for ", element("a", { href: playerAddress(one.handle) }, name));
  document.title = `Problems for ${name} · ${document.body.dataset.title}`;
  const show = () => {
    const [chance, width] = ["chance", "width"].map((field) => Number(form.elements[field].value));
    if (!(chance > 0 && chance < 1 && width >= 0 && width <= 1)) {
      notice.textContent = "The chance must be between 0 and 1, and the width from 0 to 1.";
      return;
    }
    const known = all.problem.map((_, i) => i).filter((i) => all.difficulty[i] !== null).map((i) => [i, chanceOf(all, i, one.mu.at(-1), one.sigma.at(-1))]);
    const rows = known.filter(([, value]) => Math.abs(value - chance) <= width);
    const percent = (value) => Number((100 * value).toPrecision(6));
    notice.textContent = `${rows.length.toLocaleString("en")} problem${rows.length === 1 ? "" : "s"} with a chance of ${percent(chance)} ± ${percent(width)} %, hardest first${rows.length > MOST ? `; the first ${MOST} are shown` : ""}`;
    table.tBodies[0].replaceChildren(...rows.slice(0, MOST).map(([i, value]) => row(all, i, value)));
  };
  form.addEventListener("input", show);
  show();
}

const [choose, by] = ["problems", "chances"].map((name) => document.querySelector(`[data-${name}]`));
if (document.querySelector("[data-find]")) readable(notice, find());
else if (choose && table) readable(notice, list(choose));
else if (by) readable(notice, chances(by));
