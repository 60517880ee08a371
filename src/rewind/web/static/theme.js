// The chosen theme, set before the first paint. Not a module: modules run after it.
(function () {
  const KEY = 'rewind.theme';
  const order = ['auto', 'light', 'dark'];

  function stored() {
    try {
      const found = localStorage.getItem(KEY);
      return order.includes(found) ? found : 'auto';
    } catch (_) {
      return 'auto'; // storage may be forbidden
    }
  }

  function apply(theme) {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }

  window.rewindTheme = {
    get: stored,
    next() {
      const theme = order[(order.indexOf(stored()) + 1) % order.length];
      try { localStorage.setItem(KEY, theme); } catch (_) { /* lasts for this page only */ }
      apply(theme);
      return theme;
    },
  };
  apply(stored());
})();
