// The page of a player: the graph, and on the static site all values.
import { contestAddress, day, element, format, manifest, placeText, player, playerAddress, search, version, visible, root } from "./data.js";
import { drawAsked, start } from "./graph.js";

const page = document.querySelector("main [data-player]");
const figure = page.querySelector("[data-graph]");
const field = (name) => page.querySelector(`[data-field=${name}]`);

function fill(site, one) {
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
  set("below", show.share(one.below));
  set("max_rating", show.number(one.max_rating));
  set("belief", `${show.number(mu)} ± ${show.number(sigma)}`);
  set("last", day(one.times.at(-1)));
  if (one.country) field("member").replaceChildren(element("span", {}, `country ${visible(one.country)}`));
  set("n_rounds", one.rating.length.toLocaleString("en"));
  const rows = one.times.map((time, i) => element("tr", {},
    element("td", {}, day(time)),
    element("td", {}, element("a", { href: contestAddress(one.ids[i]) }, visible(one.names[i] ?? one.ids[i])), ...(one.team[i] === null ? [] : [" ", element("small", { class: "with" }, visible(one.team[i]))])),
    element("td", {}, String(one.place[i]), element("small", {}, ` / ${one.n[i]}`)),
    element("td", { class: show.tier(one.perf[i]) }, show.number(one.perf[i])),
    element("td", { class: show.tier(one.rating[i]) }, show.number(one.rating[i])),
    element("td", {}, i ? element("span", { class: show.direction(one.rating[i - 1], one.rating[i]) }, show.change(one.rating[i - 1], one.rating[i])) : "new")));
  page.querySelector("tbody").replaceChildren(...rows.reverse());
  for (const part of page.querySelectorAll("[hidden]")) part.hidden = false;
  page.querySelector("[data-notice]").hidden = true;
}

const notice = page.querySelector("[data-notice]");
start(figure, notice, async (handle) => {
  const [site, one] = await Promise.all([manifest(), player(handle)]);
  if (!one) {
    field("handle").textContent = "No such player";
    notice.textContent = `${visible(site.run)} has no rated player called ${visible(handle)}.`;
    const near = await search(handle, 5);
    if (near.length) notice.append(" Similar: ", ...near.flatMap(([name], i) => [i ? ", " : "", element("a", { href: playerAddress(name) }, visible(name))]));
    return;
  }
  fill(site, one);
  const here = `handle=${encodeURIComponent(handle)}`;
  field("distribution").href = `${root}${await version()}distribution.html?${here}`;
  field("compare").href = `${root}compare.html?h=${encodeURIComponent(handle)}`;
  await drawAsked(figure, site, [one]);
});
