// On every page: search as you type, filters of tables, and the links of pages that belong to no version.
import { element, kind, format, nouns, playerAddress, shown, version, visible, root } from "./data.js";
import { fold, quick, search } from "./search.js";

const form = document.querySelector("[data-search]");
const input = form.querySelector("input");
const list = form.querySelector("ul");
let chosen = -1;
let asked = 0;

function close() {
  list.hidden = true;
  chosen = -1;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
}

function choose(at) {
  const options = list.querySelectorAll("[role=option]");
  if (!options.length) return;
  chosen = (at + options.length) % options.length;
  options.forEach((option, i) => option.setAttribute("aria-selected", String(i === chosen)));
  input.setAttribute("aria-activedescendant", options[chosen].id);
  options[chosen].scrollIntoView({ block: "nearest" });
}

/** Show players in the list. */
function fill(found, show) {
  list.replaceChildren(...found.map(([handle, rating, name], i) => element("li", { role: "option", id: `found-${i}`, "aria-selected": "false" },
    element("a", { href: playerAddress(handle), class: show.tier(rating), tabindex: "-1" },
      element("span", {}, visible(name ?? handle)), element("span", {}, show.number(rating))))));
  if (!found.length) list.append(element("li", { role: "presentation" }, element("p", {}, `No such ${nouns.player}`)));
  list.hidden = false;
  chosen = -1;
  input.setAttribute("aria-expanded", "true");
}

async function show() {
  const text = input.value.trim();
  const number = ++asked;
  if (!text) return close();
  let show = { tier: () => "t", number: (value) => Math.round(value).toString() };
  let found = [];
  try {
    show = format(await shown());
    const first = await quick(text);
    if (first?.length && number === asked) fill(first, show);
    found = await search(text);
  } catch (error) {
    console.error(error);
  }
  if (number === asked) fill(found, show); // no later text has been typed
}

let waiting = 0;
input.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(show, 60);
});
input.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (list.hidden) show();
    else choose(chosen < 0 ? (event.key === "ArrowDown" ? 0 : -1) : chosen + (event.key === "ArrowDown" ? 1 : -1));
  }
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = input.value.trim();
  if (!text) return;
  const option = list.querySelectorAll("a")[Math.max(chosen, 0)];
  if (!list.hidden && option) location.assign(option.href);
  else {
    const found = await search(text).catch(() => []);
    location.assign(playerAddress(found.length ? found[0][0] : text));
  }
});
form.addEventListener("focusout", (event) => {
  if (!form.contains(event.relatedTarget)) close();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    input.focus();
  }
});

/** The names in a row of a table, or in a body: those of a team and of its members. */
const namesIn = (part) => fold([...(part.rows ?? [part])].map((row) => row.cells[1].textContent).join("\n"));

for (const filter of document.querySelectorAll("[data-filter]")) {
  filter.closest("label").hidden = false;
  filter.addEventListener("input", () => {
    const wanted = fold(filter.value.trim());
    const bodies = document.getElementById(filter.dataset.filter).tBodies;
    for (const part of bodies.length > 1 ? bodies : bodies[0].rows) {
      part.hidden = wanted !== "" && !namesIn(part).includes(wanted);
    }
  });
}

if (kind === "site") {
  for (const page of ["contests", "distribution", "groups", "problems"]) {
    const link = document.querySelector(`nav [data-page=${page}]`);
    if (link?.getAttribute("href").endsWith("index.html")) {
      version().then((folder) => { link.href = `${root}${folder}${page}.html`; }, console.error);
    }
  }
}

// Where no font draws flags, their two letters or two boxes would stand beside the code of the country.
const pen = document.createElement("canvas").getContext("2d");
const width = (text) => pen.measureText(text).width;
if (width("\u{1F1EB}\u{1F1F7}") > 1.5 * width("\u{1F1EB}")) document.documentElement.classList.add("no-flags");
