// A field that finds players while a visitor types: a list below it, for the keyboard and for a pointer.
import { element, format, nouns, shown, visible } from "./data.js";
import { search } from "./search.js";

let made = 0;

/** Find players in a field; `choose` gets the handle that is chosen. */
export function picker(input, choose) {
  const list = element("ul", { role: "listbox", class: "found", id: `picked-${++made}`, hidden: "", "aria-label": `Found ${nouns.players}` });
  let [at, asked, waiting] = [-1, 0, 0];
  for (const [name, value] of [["role", "combobox"], ["aria-expanded", "false"], ["aria-controls", list.id], ["aria-autocomplete", "list"]]) input.setAttribute(name, value);
  input.parentElement.classList.add("picker");
  input.after(list);

  const close = () => {
    list.hidden = true;
    at = -1;
    asked++; // an answer that is on its way is too late
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (number) => {
    const options = [...list.querySelectorAll("[role=option]")];
    if (!options.length) return;
    at = (number + options.length) % options.length;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
    input.setAttribute("aria-activedescendant", options[at].id);
    options[at].scrollIntoView({ block: "nearest" });
  };
  const take = (handle) => {
    close();
    choose(handle);
  };
  async function find() {
    const text = input.value.trim();
    if (!text) return close();
    const number = ++asked;
    const [found, run] = await Promise.all([search(text), shown()]).catch((error) => (console.error(error), [[], null]));
    if (number !== asked || !run) return; // a later text has been typed
    const show = format(run);
    list.replaceChildren(...found.map(([handle, rating, name], i) => {
      const option = element("li", { role: "option", id: `${list.id}-${i}`, "aria-selected": "false" }, element("span", { class: show.tier(rating) }, visible(name ?? handle)), element("span", {}, show.number(rating)));
      option.dataset.handle = handle;
      option.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
      option.addEventListener("click", () => take(handle));
      return option;
    }));
    if (!found.length) list.append(element("li", { role: "presentation" }, `No such ${nouns.player}`));
    at = -1;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(find, 60);
  });
  input.addEventListener("keydown", (event) => {
    const options = list.hidden ? [] : [...list.querySelectorAll("[role=option]")];
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) find();
      else mark(at < 0 ? (event.key === "ArrowDown" ? 0 : -1) : at + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && at >= 0 && options[at]) {
      event.preventDefault();
      take(options[at].dataset.handle);
    }
  });
  input.addEventListener("blur", close);
}

/** The best match of a text, as `search` has it: the player with this handle, else the first one that is found; null without one. */
export async function bestMatch(text) {
  const found = await search(text);
  return found.find(([handle]) => handle === text) ?? found[0] ?? null;
}
