// Sets the theme before the first paint: the chosen one, or the system's. A module would run too late.
(function () {
  const KEY = 'rewind.theme';
  const order = ['auto', 'light', 'dark'];
  const system = matchMedia('(prefers-color-scheme: dark)');
  let chosen = stored();

  function stored() {
    try {
      const found = localStorage.getItem(KEY);
      return order.includes(found) ? found : 'auto';
    } catch (_) {
      return 'auto'; // storage may be forbidden
    }
  }

  function apply() {
    const dark = chosen === 'auto' ? system.matches : chosen === 'dark';
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  }

  window.rewindTheme = {
    get: () => chosen,
    next() {
      chosen = order[(order.indexOf(chosen) + 1) % order.length];
      try {
        localStorage.setItem(KEY, chosen);
      } catch (_) {
        /* the choice is kept only for this page */
      }
      apply();
      return chosen;
    },
  };
  system.addEventListener('change', apply);
  apply();
})();
