/* Adjudge: live updates, instant filters and keys. Every page works without this file, except for these.

   Markup:
     [data-theme-switch]           a button that changes the theme (key t)
     [data-copy="ADDRESS"]         a button that copies an address
     [data-copy-text="TEXT"]       a button that copies a text, such as a command
     form[data-instant="#ID"]      a filter: each change fetches the element #ID again (…&part=1)
     [data-live="URL"]             fetched every two seconds; {version, html, is_live} replaces it
     table[data-rows]              j and k move, Enter opens the link of the row
     table[data-cells]             arrows move from cell to cell
     form[data-pick="N"]           its button works once N boxes are checked
     details[data-raw]             the raw text of a rendered one; r switches all of a page, and the choice is kept
     a[rel=prev], a[rel=next]      k and j, or the arrows, where there is no table
     a[data-pane]                  opens its item in #pane, beside the list
     [data-invited]                the page of an invitation: its secret, in the fragment, is exchanged for a session
     html[data-static]             a copy without a server: its lists are filtered and sorted here, by the fragment of the
                                   address and by tr[data-row], the facts of a row; a[data-sort] sorts by one of them
     [data-texts="1.0 1.7"]        a text of a copy: its lines, by file and line, are loaded when it is in view or its drawer is opened
     form[data-save="ADDRESS"]     posts its fields and data-body as JSON; the answer is shown in its [role=status]
     #help                         a dialog (key ?) */
"use strict";
(() => {
  const root = document.documentElement;
  const storage = { get: (name) => { try { return localStorage.getItem(name); } catch { return null; } },
                    set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* private window */ } } };

  // Before the body loads, so that no page flashes in the other theme.
  const chosen = storage.get("adjudge-theme");
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  function switchTheme() {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    storage.set("adjudge-theme", root.dataset.theme);
  }

  /* Make an element like a fragment from this server, touching only what differs: no flicker, and what is open, checked,
     selected or focused stays so. */
  function replace(element, html) {
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    fresh.content.querySelectorAll("[data-needs-script][hidden]").forEach((part) => { part.hidden = false; });
    alter(element, fresh.content);
    settle(element);
  }

  function alter(old, fresh) {
    const before = [...old.childNodes], after = [...fresh.childNodes];
    after.forEach((node, index) => {
      const known = before[index];
      if (!known) old.append(node);
      else if (known.isEqualNode(node)) return;
      else if (known.nodeType === Node.ELEMENT_NODE && known.tagName === node.tagName && known.id === node.id) {
        const kept = known.tagName === "DETAILS" ? "open" : "checked";
        for (const { name } of [...known.attributes]) if (name !== kept && !node.hasAttribute(name)) known.removeAttribute(name);
        for (const { name, value } of node.attributes) if (name !== kept && known.getAttribute(name) !== value) known.setAttribute(name, value);
        alter(known, node);
      } else known.replaceWith(node);
    });
    before.slice(after.length).forEach((node) => node.remove());
  }

  /* What a new part of a page needs. */
  function settle(part) {
    part.querySelectorAll("[data-needs-script][hidden]").forEach((one) => { one.hidden = false; });
    if (storage.get("adjudge-raw") === "1") part.querySelectorAll("details[data-raw]").forEach((one) => { one.open = true; });
    document.querySelectorAll("form[data-pick]").forEach(countPicked);
  }

  function switchRaw() {
    const all = [...document.querySelectorAll("details[data-raw]")];
    const isRaw = !all.some((one) => one.open);
    storage.set("adjudge-raw", isRaw ? "1" : "0");
    all.forEach((one) => { one.open = isRaw; });
  }

  function countPicked(form) {
    const button = form.querySelector("button"), wanted = Number(form.dataset.pick);
    const n = [...form.elements].filter((box) => box.type === "checkbox" && box.checked).length;
    button.disabled = n !== wanted;
    button.title = n === wanted ? "" : `Select ${wanted}; ${n} selected`;
  }

  function follow(element) {
    let version = element.dataset.version;
    const ask = async () => {
      if (!element.isConnected) return;
      let wait = 2000;
      if (!document.hidden) {
        try {
          const url = new URL(element.dataset.live, location.href);
          url.searchParams.set("version", version);
          const response = await fetch(url, { headers: { Accept: "application/json" } });
          if (response.ok) {
            const part = await response.json();
            if (part.version !== version) {
              version = part.version;
              const current = position();
              replace(element, part.html);
              if (current >= 0) mark(current);
            }
            if (!part.is_live) return;
          } else wait = 10000;
        } catch { wait = 10000; }
      }
      setTimeout(ask, wait);
    };
    setTimeout(ask, 1000);
  }

  function filterInstantly(form) {
    const target = document.querySelector(form.dataset.instant);
    if (!target) return;
    let timer = 0, turn = 0;
    const query = () => {
      const parameters = new URLSearchParams();
      for (const [name, value] of new FormData(form)) if (value !== "") parameters.append(name, value);
      if (!form.querySelector("input[name=col]:not(:checked)")) parameters.delete("col");  // all of them is no choice
      return parameters;
    };
    const update = async () => {
      const mine = ++turn;
      const parameters = query();
      const shown = `${form.getAttribute("action")}?${parameters}`;
      parameters.set("part", "1");
      try {
        const response = await fetch(`${form.getAttribute("action")}?${parameters}`);
        if (!response.ok || mine !== turn) return;
        target.innerHTML = await response.text();
        settle(target);
        if (target.dataset.live) target.dataset.live = `${target.dataset.live.split("?")[0]}?${shown.split("?")[1]}`;
        history.replaceState(null, "", shown);
      } catch { form.requestSubmit(); }
    };
    form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 120); });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); update(); });
  }

  /* Lists of a static copy. The conditions are those of the server's filter, and have its names. */
  const SLACK = 1e-9;
  const isNumber = (value) => typeof value === "number";
  /* Each says of one result whether it is wanted; a row is shown where one of its results is. */
  const CONDITIONS = {
    q: (one, text, wanted, row) => textOf(row).includes(text.toLowerCase()),
    system: (one, name) => [one.system, one.system_a, one.system_b].includes(name),
    other: (one, name) => [one.system_a, one.system_b].includes(name),
    winner: (one, name) => (name === "tie" ? one.choice === "tie" : (one.choice === "a" && one.system_a === name) || (one.choice === "b" && one.system_b === name)),
    status: (one, name) => (name === "failed" ? one.status !== "ok" : one.status === name),
    flag: (one, name) => (one.flags ?? "").split(" ").includes(name),
    tag: (one, name) => (one.tags ?? []).includes(name),
    low: (one, least) => isNumber(one.score) && one.score >= Number(least) - SLACK,
    high: (one, most) => isNumber(one.score) && one.score <= Number(most) + SLACK,
    people: (one, choice) => one.label === choice,
    people_low: (one, least) => isNumber(one.label) && one.label >= Number(least) - SLACK,
    people_high: (one, most) => isNumber(one.label) && one.label <= Number(most) + SLACK,
    apart: (one, kind, wanted) => isNumber(one[kind]) && (wanted.has("least") ? one[kind] >= Number(wanted.get("least")) : one[kind] > 0),
    least: () => true,
  };
  for (const name of ["criterion", "protocol", "model", "choice", "how"]) CONDITIONS[name] = (one, value) => one[name] === value;

  const gapOf = ({ score, label }) => (isNumber(score) && isNumber(label) ? Math.abs(score - label) : undefined);

  function textOf(row) {
    row.words ??= [row.textContent, ...[...row.querySelectorAll("[title]")].map((part) => part.title)].join(" ").toLowerCase();
    return row.words;
  }

  /* What a row is sorted by: of the wanted results the one that comes first; without facts, what the column says. */
  function orderOf(row, name, column, way) {
    const keys = row.found.map((one) => one[name]).filter((key) => key !== undefined);
    if (keys.length) return keys.reduce((first, key) => ((key < first) === (way > 0) ? key : first));
    if (row.dataset.row) return null;
    const text = row.cells[column]?.textContent.trim() ?? "";
    const number = Number(text.replace(/[$,+%]/g, ""));
    return text === "–" ? null : text !== "" && Number.isFinite(number) ? number : text.toLowerCase();
  }

  function sortRows(table, all, sort, criterion) {
    const name = sort.replace(/^-/, ""), way = sort.startsWith("-") ? -1 : 1;
    const heads = [...table.querySelectorAll("a[data-sort]")].filter((link) => link.dataset.sort === name);
    const head = heads.find((link) => (link.dataset.criterion ?? criterion) === criterion)?.closest("th");
    table.querySelectorAll("th[aria-sort]").forEach((cell) => cell.removeAttribute("aria-sort"));
    if (head) head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
    const keyed = all.map((row, index) => ({ row, index, key: sort ? orderOf(row, name, head?.cellIndex, way) : null }));
    keyed.sort((one, other) => {
      if (one.key === null || other.key === null) return (one.key === null) - (other.key === null) || one.index - other.index;
      const before = typeof one.key === typeof other.key ? one.key < other.key : isNumber(one.key);
      return one.key === other.key ? one.index - other.index : (before ? -way : way);
    });
    table.tBodies[0].append(...keyed.map((one) => one.row));
  }

  function filterHere(form) {
    const target = document.querySelector(form.dataset.instant);
    const table = target?.querySelector("table[data-rows]");
    if (!table) return;
    const all = [...table.tBodies[0].rows];
    const kinds = JSON.parse(table.dataset.kinds ?? "[]");
    for (const row of all) {
      const { results, ...names } = JSON.parse(row.dataset.row ?? '{"results":[{}]}');
      row.results = results.map(({ kind, ...one }) => ({ ...names, ...kinds[kind], people: gapOf(one), ...one }));
    }
    const said = JSON.parse(form.dataset.said ?? "{}");
    const total = target.querySelector("[data-count]");
    const chips = total?.parentElement.insertBefore(document.createElement("span"), total.nextSibling);
    let wanted = new URLSearchParams();

    const show = () => {
      const conditions = [...wanted].filter(([name]) => Object.hasOwn(CONDITIONS, name));
      for (const row of all) {
        row.found = row.results.filter((one) => conditions.every(([name, value]) => CONDITIONS[name](one, value, wanted, row)));
        row.hidden = !row.found.length;
      }
      sortRows(table, all, wanted.get("sort") ?? "", wanted.get("criterion") ?? undefined);
      const n = all.filter((row) => !row.hidden).length;
      if (total) total.textContent = `${n === all.length ? "" : `${n.toLocaleString("en-US")} of `}${all.length.toLocaleString("en-US")} ${total.dataset.count}`;
      chips?.replaceChildren(...conditions.map(([name, value]) => {
        const chip = document.createElement("button");
        chip.type = "button";
        chip.className = "chip";
        chip.title = "Remove this condition";
        chip.textContent = `${said[`${name}=${value}`] ?? (said[name] ?? `${name} {}`).replace("{}", value)} ×`;
        chip.addEventListener("click", () => { wanted.delete(name); if (name === "apart") wanted.delete("least"); write(); });
        return chip;
      }));
    };
    const write = () => {
      for (const field of form.elements) if (field.name) field.value = wanted.get(field.name) ?? "";
      history.replaceState(null, "", `#${wanted}`);
      show();
    };
    const read = () => {
      const fragment = location.hash.slice(1);
      wanted = new URLSearchParams(fragment.includes("=") ? fragment : "");
      for (const field of form.elements) if (field.name) field.value = wanted.get(field.name) ?? "";
      show();
    };
    const change = () => {
      for (const field of form.elements) {
        if (!field.name) continue;
        if (field.value === "") wanted.delete(field.name); else wanted.set(field.name, field.value);
      }
      history.replaceState(null, "", `#${wanted}`);
      show();
    };
    form.addEventListener("input", change);
    form.addEventListener("submit", (event) => { event.preventDefault(); change(); });
    form.addEventListener("reset", () => { wanted = new URLSearchParams(); write(); });
    table.tHead.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-sort]");
      if (!link) return;
      event.preventDefault();
      const name = link.dataset.sort, { criterion } = link.dataset;
      const now = criterion && criterion !== wanted.get("criterion") ? "" : wanted.get("sort") ?? "";
      if (criterion) wanted.set("criterion", criterion);
      // As on the server: disagreements begin with the largest, everything else with the lowest.
      const startsDown = ["samples", "judges", "orders", "people"].includes(name);
      wanted.set("sort", now === name || (startsDown && now !== `-${name}`) ? `-${name}` : name);
      write();
    });
    addEventListener("hashchange", read);
    read();
  }

  /* Texts that the pages of a copy share. A page from a folder may load nothing but a script. */
  const ownAddress = document.currentScript.src;
  const texts = new Map();
  window.adjudgeTexts = (number, lines) => texts.get(number).resolve(lines);

  function linesOf(number) {
    if (!texts.has(number)) {
      const file = {};
      file.lines = new Promise((resolve, reject) => Object.assign(file, { resolve, reject }));
      texts.set(number, file);
      const script = document.createElement("script");
      script.addEventListener("error", file.reject);
      script.src = new URL(`../pages/texts-${number}.js`, ownAddress);
      document.head.append(script);
    }
    return texts.get(number).lines;
  }

  async function fill(element) {
    const places = element.dataset.texts.split(" ").filter(Boolean).map((place) => place.split(".").map(Number));
    delete element.dataset.texts;
    element.classList.add("tall");
    Object.entries({ dir: "auto", tabindex: "0", role: "group", "aria-label": "text" }).forEach(([name, value]) => element.setAttribute(name, value));
    try {
      const lines = await Promise.all(places.map(async ([file, line]) => (await linesOf(file))[line]));
      element.textContent = lines.join("\n");
    } catch { element.textContent = "The file with this text is missing beside the page."; }
  }

  const rows = () => [...document.querySelectorAll("table[data-rows] tbody tr")].filter((row) => !row.hidden && row.querySelector("a[href]"));
  const position = () => rows().findIndex((row) => row.classList.contains("is-current"));

  function mark(index) {
    const all = rows();
    all.forEach((row) => row.classList.remove("is-current"));
    const row = all[Math.max(0, Math.min(all.length - 1, index))];
    if (!row) return;
    row.classList.add("is-current");
    row.scrollIntoView({ block: "nearest" });
  }

  function move(step) {
    if (rows().length) {
      const here = position();
      mark(here < 0 ? 0 : here + step);
      return;
    }
    const link = document.querySelector(`a[rel=${step > 0 ? "next" : "prev"}][href]`);
    if (link) location.assign(link.href);
  }

  function openHelp() {
    const help = document.getElementById("help");
    if (!help) return;
    if (help.open) help.close(); else help.showModal();
  }

  const KEYS = {
    t: switchTheme,
    r: switchRaw,
    "?": openHelp,
    "/": () => { const search = document.querySelector("input[type=search]"); if (search) { search.focus(); search.select(); } },
    j: () => move(1), ArrowDown: () => rows().length && move(1), ArrowRight: () => !rows().length && move(1),
    k: () => move(-1), ArrowUp: () => rows().length && move(-1), ArrowLeft: () => !rows().length && move(-1),
    u: () => { const up = document.querySelector("[data-up][href]"); if (up) location.assign(up.href); },
    Enter: () => { const row = rows()[position()]; if (row) row.querySelector("a[href]").click(); },
  };
  // Keys that also scroll the page: used only where there are rows.
  const ONLY_WITH_ROWS = new Set(["ArrowDown", "ArrowUp", "Enter"]);

  /* From a cell to the next one with a link, in the same row or column. */
  function moveCell(link, key) {
    const cell = link.closest("td"), row = cell.parentElement, at = [...row.cells].indexOf(cell);
    const cells = key === "ArrowLeft" || key === "ArrowRight" ? [...row.cells] : [...row.parentElement.rows].map((one) => one.cells[at]);
    const step = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
    for (let index = cells.indexOf(cell) + step; cells[index]; index += step) {
      const next = cells[index].querySelector("a[href]");
      if (next) { next.focus(); return; }
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
    const target = event.target;
    if (target.closest("input, select, textarea, [contenteditable]")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (document.querySelector("dialog[open]") && event.key !== "?") return;
    const link = event.key.startsWith("Arrow") && target.closest("table[data-cells] td a");
    if (link) { event.preventDefault(); moveCell(link, event.key); return; }
    const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
    if (!act || root.dataset.keys === "own") return;
    if (ONLY_WITH_ROWS.has(event.key) && (!rows().length || (event.key === "Enter" && target.closest("a, button, summary")))) return;
    if (event.key.startsWith("Arrow") && target.closest(".scroll, .quote.tall")) return;
    event.preventDefault();
    act();
  });

  /* The item of a cell beside its matrix; where that fails, the link itself does it. */
  async function openBeside(link) {
    const pane = document.getElementById("pane");
    const url = new URL(link.href);
    url.searchParams.set("part", "pane");
    try {
      const response = await fetch(url);
      if (!response.ok) throw new Error(String(response.status));
      pane.innerHTML = await response.text();
      settle(pane);
    } catch { location.assign(link.href); return; }
    history.replaceState(null, "", link.href);
    document.querySelector(".workspace").classList.add("is-open");
    document.querySelectorAll(".matrix td.is-open").forEach((cell) => cell.classList.remove("is-open"));
    link.closest("td").classList.add("is-open");
    pane.scrollTop = 0;
    pane.focus({ preventScroll: matchMedia("(min-width: 901px)").matches });
  }

  document.addEventListener("click", async (event) => {
    const cell = event.target.closest("a[data-pane]");
    if (cell && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      await openBeside(cell);
      return;
    }
    const button = event.target.closest("[data-theme-switch], [data-copy], [data-copy-text], [data-help]");
    if (button) {
      if ("themeSwitch" in button.dataset) switchTheme();
      else if ("help" in button.dataset) openHelp();
      else {
        await navigator.clipboard.writeText(button.dataset.copyText ?? new URL(button.dataset.copy, location.href).href);
        const before = button.textContent;
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = before; }, 1200);
      }
      return;
    }
    // A click on a row opens it, unless it selects text.
    const row = event.target.closest("tr.is-link");
    if (row && !event.target.closest("a, input, button, label, summary") && !String(getSelection())) row.querySelector("a[href]").click();
  });

  /* Notes: what the server says of them is shown beside the button. */
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-save]");
    if (!form) return;
    event.preventDefault();
    const status = form.querySelector("[role=status]");
    const body = JSON.parse(form.dataset.body);
    for (const field of form.querySelectorAll("[name]")) body[field.name] = field.value;
    const headers = { "Content-Type": "application/json", "X-Adjudge-CSRF": document.querySelector("meta[name=csrf]").content };
    try {
      const answer = await fetch(form.dataset.save, { method: "POST", headers, body: JSON.stringify(body) });
      const isJson = (answer.headers.get("Content-Type") ?? "").startsWith("application/json");
      const reply = isJson ? await answer.json() : {};
      status.textContent = reply.said ?? reply.error ?? "The server did not accept this. Load the page again.";
    } catch { status.textContent = "The server does not respond. Start Adjudge again."; }
  });

  /* The secret leaves the address bar before anything else happens. */
  async function enter(page) {
    const token = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    const said = page.querySelector("[role=status]");
    try {
      const response = await fetch(location.pathname, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ token }),
      });
      const reply = await response.json();
      if (response.ok) location.replace(reply.go);
      else said.textContent = reply.error;
    } catch { said.textContent = "The server does not respond. Open your link again later."; }
  }

  /* What a fragment names is shown: its drawers are opened, and of a criterion its tab is chosen. */
  function showTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target.matches(".tabset > .panel")) document.getElementById(`pick-${target.id}`).checked = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", showTarget);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) showTarget();  // the same address again is no change of it
  });

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-invited]").forEach(enter);
    settle(document);
    document.addEventListener("change", (event) => { if (event.target.form?.dataset.pick) countPicked(event.target.form); });
    if (matchMedia("(max-width: 640px)").matches) document.querySelectorAll("[data-fold-on-phone]").forEach((part) => { part.open = false; });
    if (!("static" in root.dataset)) showTarget();
    document.querySelectorAll("[data-texts]").forEach((one) => { if (!one.closest("details")) fill(one); });
    document.addEventListener("toggle", ({ target }) => {
      if (target.open) target.querySelectorAll("[data-texts]").forEach((one) => { if (one.closest("details") === target) fill(one); });
    }, true);
    document.querySelectorAll("[data-live]").forEach(follow);
    document.querySelectorAll("form[data-instant]").forEach("static" in root.dataset ? filterHere : filterInstantly);
  });
})();
