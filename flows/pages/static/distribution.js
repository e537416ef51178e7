// The distribution on the static site: where one or two players are.
import { countPlayers, element, format, kind, manifest, nouns, player, playerAddress, readable, visible } from "./data.js";

const NS = "http://www.w3.org/2000/svg";
const form = document.querySelector("[data-here]");
const notice = document.querySelector("[data-notice]");
const legend = document.querySelector("[data-legend]");

function drawn(name, attributes) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** A line at a rating in a drawing, with the name above it: the same as in histogram.svg. */
function mark(svg, rating, name, number) {
  const { start, width, left, step } = svg.dataset;
  const { width: wide, height } = svg.viewBox.baseVal;
  const x = Math.min(Math.max(Number(left) + ((rating - start) / width) * step, Number(left)), wide - left);
  const group = drawn("g", { class: `here s${number}` });
  const text = drawn("text", { x, y: 13 + 14 * number, "text-anchor": x < 160 ? "start" : x > wide - 160 ? "end" : "middle" });
  text.textContent = name.length > 24 ? `${name.slice(0, 23)}…` : name;
  group.append(drawn("path", { d: `M${x} ${18 + 14 * number}V${height - 32}` }), text);
  svg.append(group);
}

async function show(handles) {
  const [site, ...found] = await Promise.all([manifest(), ...handles.map(player)]);
  const { number, share } = format(site);
  found.forEach((one, i) => {
    if (!one) {
      notice.append(`No rated ${nouns.player} is called ${visible(handles[i])}. `);
      return;
    }
    const at = legend.children.length;
    const rating = one.rating.at(-1);
    const place = one.missing ? `provisional: ${one.missing}` : `better than ${share(one.below)} of ${countPlayers(site.ranked)}`;
    legend.append(element("li", { class: `key s${at}` }, element("a", { href: playerAddress(handles[i]) }, visible(one.name ?? handles[i])), `: rating ${number(rating)}, ${place}`));
    for (const svg of document.querySelectorAll(".histogram")) mark(svg, rating, visible(one.name ?? handles[i]), at);
  });
}

if (kind === "site") {
  form.hidden = false;
  const given = new URLSearchParams(location.search);
  const handles = ["handle", "handle2"].map((name) => given.get(name)?.trim() ?? "");
  ["handle", "handle2"].forEach((name, i) => { form.elements[name].value = handles[i]; });
  legend.replaceChildren();
  notice.textContent = "";
  const asked = [...new Set(handles.filter(Boolean))];
  if (asked.length) readable(notice, show(asked));
}
