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

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const response = await fetch(form.action, { method: "POST", headers: { accept: "text/html" }, body: new URLSearchParams(new FormData(form)) });
    const shown = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-result]");
    result.replaceChildren(...(shown ? shown.childNodes : [`The preview failed: ${response.status} ${response.statusText}`]));
    if (result.getBoundingClientRect().top > window.innerHeight * 0.7) result.scrollIntoView(); // below the form of a phone
  } catch (error) {
    result.textContent = `The server does not answer: ${error.message}.`;
  } finally {
    button.disabled = false;
  }
});
