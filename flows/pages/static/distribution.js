// The distribution on the static site: where one player is.
import { format, kind, manifest, player, readable, visible } from "./data.js";

const NS = "http://www.w3.org/2000/svg";
const svg = document.querySelector(".histogram");
const form = document.querySelector("[data-here]");
const notice = document.querySelector("[data-notice]");

function mark(rating) {
  const { start, width, left, step } = svg.dataset;
  const { width: wide, height } = svg.viewBox.baseVal;
  const x = Math.min(Math.max(Number(left) + ((rating - start) / width) * step, Number(left)), wide - left);
  svg.querySelector(".here")?.remove();
  const group = document.createElementNS(NS, "g");
  group.setAttribute("class", "here");
  const line = document.createElementNS(NS, "path");
  line.setAttribute("d", `M${x} 28V${height - 32}`);
  const text = document.createElementNS(NS, "text");
  text.setAttribute("x", x);
  text.setAttribute("y", 21);
  text.setAttribute("text-anchor", x < 120 ? "start" : x > wide - 120 ? "end" : "middle");
  text.textContent = "you are here";
  group.append(line, text);
  svg.append(group);
}

async function show(handle) {
  const [site, one] = await Promise.all([manifest(), player(handle)]);
  if (!one) {
    notice.textContent = `No rated player is called ${visible(handle)}.`;
    return;
  }
  const rating = one.rating.at(-1);
  const { number, share } = format(site);
  notice.textContent = `${visible(handle)}: rating ${number(rating)}, ${one.missing ? `provisional: ${one.missing}` : `better than ${share(one.below)} of ${site.ranked.toLocaleString("en")} players`}`;
  mark(rating);
}

if (kind === "site") {
  form.hidden = false;
  const handle = new URLSearchParams(location.search).get("handle");
  if (handle) {
    document.getElementById("handle").value = handle;
    readable(notice, show(handle));
  }
}
