/* Before the first paint, so that nothing flashes. */
(() => {
  try {
    const saved = localStorage.getItem('ferrule-theme');
    if (saved === 'light' || saved === 'dark') document.documentElement.dataset.theme = saved;
  } catch { /* no storage: the system decides */ }
})();
