// Pages work without this script. With it a form doesn't reload the page: the answer's <main> takes
// the place of the old one; focus, scroll, open details and what isn't sent yet stay as they were.
"use strict";

const PAUSE = 250; // from the last change of a live form until it is sent: keys repeat faster
const CONTROLS = "a[href], button, input, select, textarea, summary";
const FIELDS = "input[id], select[id], textarea[id]";
const byId = (id) => document.getElementById(id);

// ------------------------------------------------------------ what a page shows

function usual(it) {
  if (it.type === "checkbox" || it.type === "radio") return it.defaultChecked;
  if (it.tagName !== "SELECT") return it.defaultValue;
  return ([...it.options].find((each) => each.defaultSelected) ?? it.options[0])?.value;
}

function said(it) {
  return it.type === "checkbox" || it.type === "radio" ? it.checked : it.value;
}

// What nobody touched shows what is in force: a number, say, whose slider was sent.
function refresh(main, next) {
  for (const it of main.querySelectorAll(FIELDS)) {
    const fresh = next.getElementById(it.id), what = typeof said(it) === "boolean" ? "checked" : "value";
    if (!fresh || it.type === "file") continue;
    if (said(it) === usual(it)) it[what] = fresh[what];
    if (what === "checked") it.defaultChecked = fresh.defaultChecked;
    else if (it.tagName !== "SELECT") it.defaultValue = fresh.defaultValue;
  }
}

// What is written and not sent stays, unless the page has something else there by now.
function carry(old, fresh, sent) {
  for (const it of old.querySelectorAll(FIELDS)) {
    const next = fresh.querySelector(`#${CSS.escape(it.id)}`);
    if (!next || it.form === sent || it.type === "file" || said(it) === usual(it)) continue;
    if (it.type !== "text" && it.tagName !== "TEXTAREA" && usual(it) !== usual(next)) continue;
    const what = typeof said(it) === "boolean" ? "checked" : "value";
    next[what] = it[what];
  }
}

function swap(next, address, { stays = false, sent = null } = {}) {
  const main = byId("main"), fresh = document.importNode(next.getElementById("main"), true);
  const open = [...main.querySelectorAll("details[open][id]")].map((it) => it.id);
  const scroll = [scrollX, scrollY], focused = document.activeElement, held = main.contains(focused);
  const place = [...main.querySelectorAll(CONTROLS)].indexOf(focused);
  if (stays) carry(main, fresh, sent);
  main.replaceWith(fresh);
  document.title = next.title;
  const nav = next.querySelector("header nav");
  if (nav) document.querySelector("header nav")?.replaceWith(document.importNode(nav, true));
  if (stays) {
    for (const id of open) byId(id)?.setAttribute("open", "");
    scrollTo(...scroll);
    const there = [...fresh.querySelectorAll(CONTROLS)][place];
    const isSame = there?.tagName === focused.tagName && there.textContent === focused.textContent;
    const again = (focused.id && byId(focused.id)) || (isSame ? there : fresh);
    if (held) again.focus({ preventScroll: true });
  } else {
    scrollTo(0, 0);
    fresh.focus({ preventScroll: true });
  }
  if (address && address !== location.href) history.pushState(null, "", address);
  shown = location.pathname + location.search;
  watch();
}

// The place of notices stays, so that what is put into it is read out.
function note(lines) {
  byId("notices")?.replaceChildren(...lines.map((it) => document.importNode(it, true)));
}

// ------------------------------------------------------------ forms, one after the other

const waiting = new Map(); // live forms that changed, with the timers that send them
const queue = [];
let sending = null, link = null, stamp = null, notices = [];

function send(form, submitter) {
  if (sending === form && !("live" in form.dataset)) return; // a button was pressed twice
  clearTimeout(waiting.get(form));
  waiting.delete(form);
  for (const [other, timer] of waiting) { // what was changed before comes before
    clearTimeout(timer);
    queue.push([other, null]);
  }
  waiting.clear();
  queue.push([form, submitter]);
  byId("main").setAttribute("aria-busy", "true");
  if (!sending) work();
}

async function work() {
  while (queue.length) {
    const [form, submitter] = queue.shift(), isLive = "live" in form.dataset;
    sending = form;
    try {
      const body = new FormData(form, submitter);
      // The same user changed a live form of this page in between, and nobody else did.
      if (stamp) body.set("version", stamp);
      const where = submitter?.getAttribute("formaction") || form.getAttribute("action");
      // Without files it is read much faster. A control may have the name of a property.
      const hasFiles = form.getAttribute("enctype") === "multipart/form-data";
      const answer = await fetch(where, { method: "POST", body: hasFiles ? body : new URLSearchParams(body) });
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      notices.push(...(next.getElementById("notices")?.children ?? []));
      stamp = isLive ? next.querySelector("input[name=version]")?.value : null;
      if (queue.length || waiting.size) {
        refresh(byId("main"), next);
        continue; // a newer value is on its way
      }
      const failed = notices.some((it) => it.classList.contains("bad"));
      const address = new URL(answer.url), stays = address.pathname === location.pathname;
      address.searchParams.delete("said");
      note(notices);
      swap(next, address.href, { stays, sent: failed && !isLive ? null : form });
      stamp = null;
      notices = [];
      if (failed) link = null;
    } catch {
      const line = document.createElement("p");
      line.className = "notice bad";
      line.textContent = "The workbench doesn't answer. Start it again in the terminal: your work is kept.";
      note([line]);
      byId("main").removeAttribute("aria-busy");
      queue.length = 0;
      link = null;
    }
  }
  sending = null;
  if (link && !waiting.size) location.href = link;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post" || "download" in form.dataset) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (!form || !("live" in form.dataset)) return;
  clearTimeout(waiting.get(form));
  byId("main").setAttribute("aria-busy", "true");
  waiting.set(form, setTimeout(() => {
    waiting.delete(form);
    if (form.reportValidity()) return send(form, null);
    link = null;
    byId("main").removeAttribute("aria-busy");
  }, PAUSE));
});

// A link waits until what was changed is sent.
document.addEventListener("click", (event) => {
  const found = event.target.closest?.("a[href]");
  if (!found || event.ctrlKey || event.metaKey || !(sending || waiting.size)) return;
  event.preventDefault();
  link = found.href;
});

// ------------------------------------------------------------ small things

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
  await navigator.clipboard.writeText(byId(copy.dataset.copy).textContent);
  copy.textContent = "Copied";
});

let shown = location.pathname + location.search;
addEventListener("popstate", () => {
  if (shown !== location.pathname + location.search) location.reload(); // else it is a place of the page
});

// ------------------------------------------------------------ jobs

let poller = 0;
function watch() {
  clearTimeout(poller);
  const job = document.querySelector("[data-poll]");
  if (job) poller = setTimeout(poll, Number(job.dataset.poll), job.id);
}

async function poll(id) {
  if (sending || waiting.size) return watch();
  try {
    const html = await (await fetch(location.href)).text();
    if (sending || waiting.size) return watch();
    const next = new DOMParser().parseFromString(html, "text/html"), fresh = next.getElementById(id);
    const own = byId(id);
    if (own && fresh && "poll" in fresh.dataset) {
      const held = own.contains(document.activeElement);
      own.replaceWith(document.importNode(fresh, true));
      if (held) byId(id).querySelector("button")?.focus();
      watch();
    } else if (own) swap(next, null, { stays: true });
  } catch {
    watch(); // the workbench was stopped, or starts again
  }
}

watch();
