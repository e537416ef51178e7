// The leaderboard: the slider of its date, short addresses of its forms, and, on the static site, the way to a row.
import { DAY, element, kind, manifest, player, playerAddress, readable, root, version, visible } from "./data.js";
import { search } from "./search.js";

const choose = document.querySelector("[data-choose]");
const jump = document.querySelector("[data-jump]");
const notice = document.querySelector("[data-notice]");
const slider = document.querySelector("[data-date]");

/** Fields of a form without a value are no part of the address. */
for (const form of [choose, jump]) {
  form?.addEventListener("submit", () => {
    for (const field of form.elements) field.disabled = field.name !== "" && field.value === "";
  });
}
addEventListener("pageshow", () => {
  for (const form of [choose, jump]) for (const field of form?.elements ?? []) field.disabled = false;
});

if (slider) {
  const date = choose.elements.at;
  const days = (text) => Date.parse(text) / DAY / 1000;
  const text = (number) => new Date(number * DAY * 1000).toISOString().slice(0, 10);
  [slider.min, slider.max] = [days(date.min), days(date.max)];
  const follow = () => { slider.value = date.value ? days(date.value) : slider.max; };
  follow();
  slider.hidden = false;
  date.addEventListener("change", follow);
  slider.addEventListener("input", () => {
    date.value = slider.value === slider.max ? "" : text(Number(slider.value));
    slider.setAttribute("aria-valuetext", date.value || "now");
  });
  slider.addEventListener("change", () => choose.requestSubmit());
}

/** Mark the row of a player, and show it. */
function mark(handle) {
  for (const row of document.querySelectorAll(".board tbody tr")) {
    const link = row.cells[1].querySelector("a");
    if (new URLSearchParams(link.search).get("h") !== handle) continue;
    row.id = "here";
    row.className = "here";
    row.setAttribute("aria-current", "true");
    row.scrollIntoView({ block: "center" });
    return;
  }
}

/** The address of a row of all players: by its number from 1, or by a part of a handle; empty without one. */
async function find(text) {
  const site = await manifest();
  const { rows } = site.leaderboard;
  const page = (number, query) => `${folder}leaderboard/${String(number).padStart(3, "0")}.html${query}`;
  const folder = `${root}${await version()}`;
  const number = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= site.players) return page(Math.floor((number - 1) / rows), `?row=${((number - 1) % rows) + 1}`);
  const exact = await player(text);
  const handle = exact ? text : (await search(text, 1))[0]?.[0];
  if (handle === undefined) return "";
  const one = exact ?? (await player(handle));
  return page(one.page, `?player=${encodeURIComponent(handle)}`);
}

/** Later pages of the static site have plain handles without links, which need scripts as the pages behind them do. */
for (const row of document.querySelectorAll("[data-bare] tbody tr")) {
  const text = row.cells[1].firstChild;
  if (text.nodeType === Node.TEXT_NODE) text.replaceWith(element("a", { href: playerAddress(text.data.trim()) }, text.data.trim()), text.data.endsWith(" ") ? " " : "");
}

if (kind === "site") {
  jump.hidden = false;
  jump.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = jump.elements.to.value.trim();
    readable(notice, find(text).then((address) => {
      if (address) location.assign(address);
      else notice.textContent = `Nobody is called ${visible(text)}.`;
    }));
  });
  const given = new URLSearchParams(location.search);
  const row = document.querySelectorAll(".board tbody tr")[Number(given.get("row") ?? 0) - 1];
  const handle = given.get("player") ?? (row && new URLSearchParams(row.cells[1].querySelector("a").search).get("h"));
  if (handle) mark(handle);
}
