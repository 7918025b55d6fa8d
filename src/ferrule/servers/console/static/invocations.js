/* Lists of calls: a filter that is chosen counts at once, and addresses hold only what was said. A running call says for how long
   nothing was heard of it. */
'use strict';
(() => {
  const { all } = window.ferrule;

  function tidy(form) {
    const empty = all('input[name], select[name]', form).filter(field => !field.value.trim() && !field.disabled);
    empty.forEach(field => { field.disabled = true; });
    setTimeout(() => empty.forEach(field => { field.disabled = false; }));
  }
  document.addEventListener('submit', event => { if (event.target.matches('form[data-auto]')) tidy(event.target); });
  document.addEventListener('change', event => {
    const form = event.target.closest('form[data-auto]');
    if (form && event.target.matches('select')) form.requestSubmit();
  });

  /* The server says how long ago it heard last; from then on this clock counts. */
  const heard = new WeakMap();
  function drawQuiet() {
    const now = performance.now();
    all('[data-quiet]').forEach(slot => {
      const said = slot.dataset.quiet;
      let known = heard.get(slot);
      if (!known || known.said !== said) { known = { said, at: now - 1000 * Number(said) }; heard.set(slot, known); }
      const seconds = Math.floor((now - known.at) / 1000);
      const text = seconds >= 5 ? `no news for ${seconds} s` : 'live';
      if (slot.textContent !== text) slot.textContent = text;
      slot.classList.toggle('stale', seconds >= 5);
    });
  }
  document.addEventListener('ferrule:shown', drawQuiet);
  drawQuiet();
  setInterval(drawQuiet, 1000);
})();
