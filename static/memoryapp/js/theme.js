// Not deferred: the theme is set before the first paint, so nothing flashes.
(() => {
  const root = document.documentElement;
  let stored = null;
  try {
    stored = localStorage.getItem("theme");
  } catch {
    // Storage is off: the system's theme is used.
  }
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
})();
