// Pages work without this script. With it a form doesn't reload the page: the answer's <main> takes
// the place of the old one, and focus, scroll and open details stay where they were.
"use strict";

let asked = 0;

function swap(html, address, keep) {
  const next = new DOMParser().parseFromString(html, "text/html");
  const main = document.getElementById("main"), fresh = next.getElementById("main");
  const focused = document.activeElement && document.activeElement.id;
  const open = new Set([...main.querySelectorAll("details[open][id]")].map((it) => it.id));
  const scroll = [scrollX, scrollY];
  main.replaceWith(document.importNode(fresh, true));
  document.title = next.title;
  const nav = next.querySelector("header nav"), own = document.querySelector("header nav");
  if (nav && own) own.replaceWith(document.importNode(nav, true));
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (keep) {
    scrollTo(...scroll);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  } else {
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  }
  if (address && address !== location.href) history.pushState(null, "", address);
  watch();
}

async function ask(address, options, keep) {
  const number = ++asked, main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, options), html = await answer.text();
    if (number !== asked) return; // a later question has its answer on the way
    const page = new URL(answer.url).pathname;
    swap(html, answer.url, keep || page === location.pathname);
  } catch {
    main.removeAttribute("aria-busy");
    const said = document.getElementById("notices");
    const line = document.createElement("p");
    line.className = "notice bad";
    line.textContent = "The workbench doesn't answer. Start it again in the terminal: your work is kept.";
    said?.replaceChildren(line);
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || "download" in form.dataset) return;
  event.preventDefault();
  const body = new FormData(form, event.submitter);
  ask(event.submitter?.getAttribute("formaction") || form.action, { method: "POST", body }, false);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && "live" in form.dataset) form.requestSubmit();
});

document.addEventListener("input", (event) => {
  const shown = event.target.id && document.querySelector(`output[for="${event.target.id}"]`);
  if (shown) shown.textContent = event.target.value;
});

for (const name of ["dragover", "drop"]) {
  document.addEventListener(name, (event) => {
    const zone = event.target.closest?.("[data-drop]");
    event.preventDefault(); // a file that misses the zone must not replace the page
    if (zone) zone.classList.toggle("over", name === "dragover");
    if (!zone || name !== "drop" || !event.dataTransfer.files.length) return;
    const input = zone.querySelector("input[type=file]");
    input.files = event.dataTransfer.files;
    input.form.requestSubmit();
  });
}

document.addEventListener("click", async (event) => {
  const copy = event.target.closest?.("[data-copy]");
  if (!copy) return;
  await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
  copy.textContent = "Copied";
});

addEventListener("popstate", () => ask(location.href, {}, false));

let waiting = 0;
function watch() {
  clearTimeout(waiting);
  const job = document.querySelector("[data-poll]");
  if (job) waiting = setTimeout(poll, Number(job.dataset.poll), job.id);
}

async function poll(id) {
  try {
    const html = await (await fetch(location.href)).text();
    const next = new DOMParser().parseFromString(html, "text/html").getElementById(id);
    const own = document.getElementById(id);
    if (own && next && "poll" in next.dataset) {
      const held = own.contains(document.activeElement);
      own.replaceWith(document.importNode(next, true));
      if (held) document.getElementById(id).querySelector("button")?.focus();
      watch();
    } else if (own) swap(html, null, true);
  } catch {
    watch(); // the workbench was stopped, or starts again
  }
}

watch();
