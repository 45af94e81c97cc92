// What plain HTML and htmx cannot do alone: theme switch, keys, focus after a page change, lost network.
(() => {
  const root = document.documentElement;
  const find = (selector) => document.querySelector(selector);

  const isDark = () =>
    root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;

  const switchTheme = () => {
    const theme = isDark() ? "light" : "dark";
    root.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // The choice then lasts until the page is left.
    }
  };

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-theme-switch]")) switchTheme();
  });

  // --- keys: "/" finds, "j" and "k" walk the rows, Esc closes the drawer -----------------------

  const walk = (step) => {
    const rows = [...document.querySelectorAll(".row .txt")];
    const at = rows.indexOf(document.activeElement);
    rows[Math.max(0, Math.min(at + step, rows.length - 1))]?.focus();
  };

  const keys = {
    "/": () => find("[data-find]")?.focus(),
    j: () => walk(1),
    k: () => walk(-1),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (!find("#side:popover-open")) find("[data-close-drawer]")?.click();
      return;
    }
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    if (!keys[event.key] || root.dataset.keys === "off") return;
    event.preventDefault();
    keys[event.key]();
  });

  // --- short addresses: what is empty and folded away need not be said --------------------------

  document.addEventListener("htmx:config:request", (event) => {
    const { request, sourceElement: form } = event.detail.ctx;
    if (request.method !== "GET" || form.tagName !== "FORM") return;
    for (const field of form.elements) {
      if (field.value === "" && !field.closest("details[open]")) request.body.delete(field.name);
    }
  });

  // --- focus after a page change ---------------------------------------------------------------
  // A morph keeps what had the focus when it is still there; else the reader is led on.

  let opener = null;
  let before = null;

  const drawerRecord = () => find("#drawer")?.dataset.record ?? null;

  // What makes an address another page: its path, and where in a list it starts.
  const place = () => {
    const query = new URLSearchParams(location.search);
    return [location.pathname, query.get("before"), query.get("after")].join();
  };

  // Messages loaded above push the page down: what was read before stays in its place.
  let reading = null;

  const holdReading = () => {
    if (!reading) return;
    scrollBy(0, reading.message.getBoundingClientRect().top - reading.top);
    find("#earlier")?.focus({ preventScroll: true });
    reading = null;
  };

  // What changes by itself leads nobody anywhere, and closes nothing.
  const isPolled = ({ target }) => target?.id === "live";

  document.addEventListener("htmx:before:swap", (event) => {
    if (isPolled(event.detail.ctx)) return;
    const { target } = event.detail.ctx;
    const message = target?.id === "earlier" && find(".talk .msg");
    reading = message ? { message, top: message.getBoundingClientRect().top } : null;
    opener = document.activeElement?.closest(".row")?.id ?? opener;
    before = { place: place(), record: drawerRecord() };
  });

  const lead = (left) => {
    const active = document.activeElement;
    const isLost = active === document.body;
    const isNew = left.place !== place();
    if (isNew) scrollTo(0, 0);
    const wrong = find("#main [aria-invalid=true]");
    if (wrong && !active.closest(".filters, .line")) return wrong.focus();
    const shown = drawerRecord();
    if (shown && (shown !== left.record || isLost)) return find("#drawer h2").focus();
    const row = opener && document.getElementById(opener);
    if (left.record && !shown && row) return row.querySelector(".txt").focus();
    if (isNew) return find("#main h1")?.focus();
    // A button that was switched off while sending has lost the focus: stay where the reader is.
    if (isLost) (find("#main [data-next]") ?? find("#main"))?.focus({ preventScroll: true });
  };

  // Earlier messages come with the heading of their last day, which may stand there already.
  const dropRepeatedDays = () => {
    let shown = null;
    for (const day of document.querySelectorAll(".talk .day")) {
      if (day.textContent === shown) day.remove();
      else shown = day.textContent;
    }
  };

  // A morph keeps what was typed; a new page shows what its server says, but for the form in use.
  const showStored = ({ select, target }) => {
    if (select !== "#shell" && target !== document.body) return;
    for (const form of document.querySelectorAll("#shell form")) {
      if (!form.contains(document.activeElement)) form.reset();
    }
  };

  document.addEventListener("htmx:after:swap", (event) => {
    if (isPolled(event.detail.ctx)) return;
    showStored(event.detail.ctx);
    dropRepeatedDays();
    find("#side:popover-open")?.hidePopover();
    holdReading();
    if (before) lead(before);
    before = null;
  });

  // --- the server cannot be reached ------------------------------------------------------------

  const tell = (text) => {
    const list = find("#toasts");
    if (!list) return;
    const toast = document.createElement("p");
    toast.className = "toast error";
    toast.textContent = text;
    list.append(toast);
  };

  document.addEventListener("htmx:error", () => tell(root.dataset.offline));
})();
