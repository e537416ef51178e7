// The preview of a contest: standings from a file, and the changes without a new page.
const form = document.querySelector("[data-preview]");
const field = form.querySelector("textarea");
const file = form.querySelector("[data-file]");
const result = document.querySelector("[data-result]");

async function take(files) {
  if (files.length) field.value = await files[0].text();
}

file.hidden = false;
file.querySelector("input").addEventListener("change", (event) => take(event.target.files));
field.addEventListener("dragover", (event) => event.preventDefault());
field.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return; // a text, which the browser inserts
  event.preventDefault();
  take(event.dataTransfer.files);
});

/** The changes that an answer has take the place of those on the page. */
async function replace(answer) {
  const response = await answer;
  const shown = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-result]");
  shown?.querySelector("[data-long]")?.remove(); // the field still has the standings
  result.replaceChildren(...(shown ? shown.childNodes : [`The preview failed: ${response.status} ${response.statusText}`]));
}

const accept = { accept: "text/html" };
const send = () => fetch(form.action, { method: "POST", headers: accept, body: new URLSearchParams(new FormData(form)) });

/** A page of the changes; if the server does not keep them any more, it is given the standings again. */
async function turn(address) {
  try {
    let response = await fetch(address, { headers: accept });
    if (response.status === 404 && field.value && (await send()).ok) response = await fetch(address, { headers: accept });
    await replace(response);
    result.scrollIntoView();
  } catch (error) {
    result.textContent = `The server does not answer: ${error.message}.`;
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    await replace(send());
    if (result.getBoundingClientRect().top > window.innerHeight * 0.7) result.scrollIntoView(); // below the form of a phone
  } catch (error) {
    result.textContent = `The server does not answer: ${error.message}.`;
  } finally {
    button.disabled = false;
  }
});

result.addEventListener("click", (event) => {
  const link = event.target.closest(".pager a, .named a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  turn(link.href);
});

result.addEventListener("submit", (event) => {
  event.preventDefault();
  turn(`${event.target.action}?${new URLSearchParams(new FormData(event.target))}`);
});
