// Follows changes: asks for the page again when the server says that something is different, and
// replaces the parts that differ. Forms are not parts, so nothing that is being typed is lost.
"use strict";

const status = document.getElementById("connection");
let isAsking = false;
let isOwed = false;

async function refresh() {
  if (isAsking) {
    isOwed = true;
    return;
  }
  isAsking = true;
  try {
    do {
      isOwed = false;
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } while (isOwed);
  } catch (error) {
    status.textContent = "cannot be reached";
  } finally {
    isAsking = false;
  }
}

function show(page) {
  const parts = [...document.querySelectorAll("[data-live]")];
  const found = [...page.querySelectorAll("[data-live]")];
  const names = (of) => of.map((it) => it.dataset.live).join();
  if (names(parts) !== names(found)) {
    const main = document.getElementById("main");
    if (!main.querySelector("form :focus")) {
      main.replaceChildren(...page.getElementById("main").childNodes);
    }
    return;
  }
  parts.forEach((part, number) => {
    if (part.innerHTML !== found[number].innerHTML) {
      replace(part, found[number]);
    }
  });
}

function replace(part, found) {
  const focused = part.contains(document.activeElement) ? path(part, document.activeElement) : null;
  const scrolled = [...part.querySelectorAll(".wide")].map((it) => it.scrollLeft);
  part.replaceChildren(...found.childNodes);
  [...part.querySelectorAll(".wide")].forEach((it, number) => {
    it.scrollLeft = scrolled[number] || 0;
  });
  if (focused !== null) {
    (part.querySelectorAll(focused.selector)[focused.number] || part).focus();
  }
}

function path(part, element) {
  const selector = element.tagName.toLowerCase();
  return { selector, number: [...part.querySelectorAll(selector)].indexOf(element) };
}

const changes = new EventSource(status.dataset.changes);
changes.addEventListener("changed", () => {
  status.textContent = "live";
  refresh();
});
changes.addEventListener("error", () => {
  status.textContent = "not connected: what is shown may be old";
});
