// Light or dark, before anything is drawn. A classic script, so that the page never flashes in the wrong one.
'use strict';
(() => {
  const root = document.documentElement;
  const chosen = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null; // Storage may be switched off; the system's own choice holds then.
    }
  };
  if (chosen() === 'light' || chosen() === 'dark') root.dataset.theme = chosen();
})();
