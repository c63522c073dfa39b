// Sends each key press of a rater and shows the page that the server returns. No state is kept here: a label counts
// when the server has confirmed it, and the server makes every page. HTML is never built from text.
"use strict";
(() => {
  const csrf = document.querySelector('meta[name="csrf"]').content;
  // The viewer's script switches the theme and opens the help; its keys mean other things here.
  document.documentElement.dataset.keys = "own";
  const SHARED = { t: "[data-theme-switch]", "?": "[data-help]" };
  let isBusy = false;
  let waiting = [];

  const itemShown = () => document.getElementById("sheet")?.dataset.item ?? "";

  function complain(text) {
    const place = document.getElementById("problem");
    if (place) {
      place.textContent = text;
      place.hidden = false;
    }
  }

  const pageHere = () => location.pathname + location.search;
  let shownAt = pageHere();

  // Replaces the main part with that of another page; the frame is the same for all pages.
  async function show(address, isNew) {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = page.querySelector("main");
    if (!main) throw new Error("no page");
    document.querySelector("main").replaceWith(document.adoptNode(main));
    // So that the Tab key continues from here, and a screen reader reads the new item.
    main.tabIndex = -1;
    main.focus({ preventScroll: true });
    document.title = page.title;
    // The address that names this very item: "the next open item" would lead elsewhere after going back.
    const here = document.getElementById("sheet")?.dataset.here ?? address;
    if (isNew) history.pushState(null, "", here);
    else history.replaceState(null, "", here);
    shownAt = pageHere();
  }

  async function go(address, isNew = true) {
    const before = itemShown();
    await show(address, isNew);
    if (itemShown() !== before) {
      // Keys pressed before an item was visible do not apply to it.
      waiting = [];
      window.scrollTo(0, 0);
    }
    document.querySelector("[autofocus]")?.focus();
  }

  async function busy(work) {
    if (isBusy) return;
    isBusy = true;
    document.body.classList.add("is-busy");
    try {
      await work();
    } catch {
      waiting = [];
      complain("The server does not respond. What was confirmed is saved. Try again when Adjudge runs again.");
    } finally {
      isBusy = false;
      document.body.classList.remove("is-busy");
    }
    const next = waiting.shift();
    if (next) press(next);
  }

  function post(address, body) {
    return busy(async () => {
      const answer = await fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Adjudge-CSRF": csrf },
        body: JSON.stringify(body),
      });
      const kind = answer.headers.get("Content-Type") ?? "";
      const reply = kind.startsWith("application/json") ? await answer.json() : {};
      if (answer.ok && reply.go) {
        await go(reply.go);
      } else {
        waiting = [];
        complain(reply.error ?? "The server did not accept this. Load the page again.");
      }
    });
  }

  function keyed(key) {
    return [...document.querySelectorAll("[data-key]")].find((element) => element.dataset.key.split(" ").includes(key));
  }

  function press(key) {
    const control = Object.hasOwn(SHARED, key) ? document.querySelector(SHARED[key]) : keyed(key);
    if (control) {
      if (!control.disabled && control.getAttribute("aria-disabled") !== "true") control.click();
      return true;
    }
    const field = document.querySelector("[data-number]");
    if (field && /^[0-9.+-]$/.test(key)) {
      field.focus();
      field.value = key;
      return true;
    }
    return false;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
    if (event.target instanceof Element && event.target.closest("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (isBusy) {
      if (keyed(event.key)) {
        waiting.push(event.key);
        event.preventDefault();
      }
      return;
    }
    if (press(event.key)) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-post]");
    if (button) {
      const body = JSON.parse(button.dataset.body);
      // What is typed beside a button is sent with it.
      const field = button.dataset.sends && document.querySelector(button.dataset.sends);
      if (field) body[field.name] = field.value;
      post(button.dataset.post, body);
      return;
    }
    const link = event.target.closest("a[data-go]");
    if (link && link.href && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      busy(() => go(link.href));
    }
  });

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-form]");
    if (!form) return;
    event.preventDefault();
    const body = JSON.parse(form.dataset.body ?? "{}");
    for (const field of form.querySelectorAll("input[name]")) {
      // Many countries use a decimal comma; the server rejects anything that is not a number.
      body[field.name] = "number" in field.dataset ? asNumber(field.value) : field.value;
    }
    post(form.dataset.form, body);
  });

  function asNumber(text) {
    const number = Number(text.trim().replace(",", "."));
    return text.trim() === "" || !Number.isFinite(number) ? text : number;
  }

  // A browser focuses the field some time after the page is there; what is typed before that would be lost.
  document.querySelector("[autofocus]")?.focus();
  const here = document.getElementById("sheet")?.dataset.here;
  if (here) history.replaceState(null, "", here);
  // A link to a place on this page changes the fragment alone: nothing is to be loaded.
  window.addEventListener("popstate", () => { if (pageHere() !== shownAt) busy(() => go(location.href, false)); });
})();
