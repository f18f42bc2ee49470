// Not a module: it runs before the first paint, so that the page never flashes in the wrong colours.
(() => {
  const themes = ["system", "light", "dark"];

  function load() {
    try {
      const stored = localStorage.getItem("theme");
      return themes.includes(stored) ? stored : "system";
    }
    catch {
      return "system";
    }
  }

  function show(theme) {
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = "Theme: " + theme;
    }
  }

  let theme = load();
  show(theme);
  document.addEventListener("DOMContentLoaded", () => {
    show(theme);
    document.getElementById("theme").addEventListener("click", () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      show(theme);
      try {
        localStorage.setItem("theme", theme);
      }
      catch {
        // Then it lasts as long as the page.
      }
    });
  });
})();
