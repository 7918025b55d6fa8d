/* The console's own script. Everything it does is optional: pages can be read, and forms sent, without it. There are no inline
   handlers and no styles in markup: what an element wants is in its data attributes. */
'use strict';
(() => {
  const root = document.documentElement;
  const one = (selector, inside = document) => inside.querySelector(selector);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const kept = {
    get(name) { try { return localStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { value === null ? localStorage.removeItem(name) : localStorage.setItem(name, value); } catch { /* only for this page */ } },
  };

  /* Told politely, and not more often than every five seconds. */
  let saidAt = -Infinity, later = 0;
  function say(text, atOnce = false) {
    const box = one('#say');
    if (!box) return;
    clearTimeout(later);
    const wait = atOnce ? 0 : Math.max(0, saidAt + 5000 - performance.now());
    later = setTimeout(() => { saidAt = performance.now(); box.textContent = text; }, wait);
  }

  const themes = ['auto', 'light', 'dark'];
  const theme = () => root.dataset.theme || 'auto';
  function showTheme() { all('[data-theme-name]').forEach(slot => { slot.textContent = theme(); }); }
  function nextTheme() {
    const next = themes[(themes.indexOf(theme()) + 1) % themes.length];
    if (next === 'auto') delete root.dataset.theme; else root.dataset.theme = next;
    kept.set('ferrule-theme', next === 'auto' ? null : next);
    showTheme();
    say(`Theme: ${next}`, true);
    document.dispatchEvent(new CustomEvent('ferrule:theme'));
  }

  /* Times are UTC in the page; people read local ones. */
  const clockForm = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  const fullForm = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });
  function localTimes(inside) {
    all('time[data-local]', inside).forEach(slot => {
      const at = new Date(slot.dateTime);
      if (!Number.isNaN(at.getTime())) slot.textContent = (slot.dataset.local === 'full' ? fullForm : clockForm).format(at);
    });
  }

  /* The server sends how much is left; the clock only shows it, and decides nothing. */
  const endings = new WeakMap();
  function drawClocks() {
    const now = performance.now();
    all('[data-left]').forEach(slot => {
      const left = slot.dataset.left;
      let known = endings.get(slot);
      if (!known || known.left !== left) { known = { left, at: now + 1000 * Number(left) }; endings.set(slot, known); }
      const seconds = Math.max(0, Math.round((known.at - now) / 1000));
      const h = Math.floor(seconds / 3600), m = Math.floor(seconds % 3600 / 60), s = seconds % 60;
      slot.textContent = seconds === 0 ? 'expired' : h ? `${h} h ${String(m).padStart(2, '0')} m` : `${m}:${String(s).padStart(2, '0')}`;
      slot.classList.toggle('soon', seconds < 600);
    });
    all('[data-clock]').forEach(slot => { slot.textContent = clockForm.format(new Date()); });
  }

  function pickTab(tab) {
    const list = tab.closest('[role=tablist]');
    all('[role=tab]', list).forEach(other => {
      const on = other === tab;
      other.setAttribute('aria-selected', on);
      other.tabIndex = on ? 0 : -1;
      const panel = document.getElementById(other.getAttribute('aria-controls'));
      if (panel) panel.hidden = !on;
    });
    tab.dispatchEvent(new CustomEvent('ferrule:tab', { bubbles: true }));
  }

  async function copy(button) {
    const from = one(button.dataset.copy);
    if (!from) return;
    const text = 'value' in from ? from.value : from.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {  /* not a secure page: select it instead, so that Ctrl+C does it */
      const range = document.createRange();
      range.selectNodeContents(from);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      say('Selected; press Ctrl+C', true);
      return;
    }
    const label = one('span', button) || button, was = label.textContent;
    label.textContent = 'Copied';
    say('Copied', true);
    setTimeout(() => { label.textContent = was; }, 1400);
  }

  /* Keys: single ones are off while somebody types, and move focus; they never press anything. */
  let lead = -Infinity;
  const typed = 'input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]';
  function move(step) {
    const rows = all('[data-rows] > *').filter(row => !row.hidden);
    if (!rows.length) return;
    const now = rows.findIndex(row => row.classList.contains('cur'));
    const next = rows[Math.max(0, Math.min(rows.length - 1, now + step))];
    rows.forEach(row => row.classList.toggle('cur', row === next));
    (one('a', next) || next).focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
  }
  function pressed(event) {
    if ((event.metaKey || event.ctrlKey) && event.key === 'k') {
      const jump = one('#jump');
      if (jump && !jump.open) { jump.showModal(); event.preventDefault(); }
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || one('dialog[open]')) return;
    const at = document.activeElement;
    if (at && at.matches(typed)) { if (event.key === 'Escape') at.blur(); return; }
    if (kept.get('ferrule-single-keys') === 'off' && event.key !== '?') return;
    if (performance.now() - lead < 900) {
      lead = -Infinity;
      const link = one(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) { location.assign(link.href); return; }
    }
    switch (event.key) {
      case 'g': lead = performance.now(); break;
      case '/': { const field = one('[data-find]'); if (field) { field.focus(); event.preventDefault(); } break; }
      case '?': one('#keys')?.showModal(); break;
      case 'j': move(1); break;
      case 'k': move(-1); break;
      default: {
        const button = event.key.length === 1 && one(`[data-key="${CSS.escape(event.key)}"]`);
        if (button) { button.focus(); event.preventDefault(); }
      }
    }
  }

  /* News: one stream for the page. Each kind becomes an event on the body (`live:calls`), which parts of the page fetch
     themselves anew for: hx-trigger="live:calls from:body throttle:1s". htmx drops what comes within that second; so that the
     last news of all are not lost, they are told again when it is over. Only htmx knows when that is: its second begins when it
     has sent its request, which takes a while on a busy machine. So what counts is whether it took the news (`htmx:trigger`). */
  const topics = ['calls', 'inbox', 'catalog', 'policy'], takenAt = new WeakMap(), timers = {};
  let taking = new Set();
  document.addEventListener('htmx:trigger', event => { taking.add(event.target); takenAt.set(event.target, performance.now()); });
  function tell(topic) {
    taking = new Set();
    document.body.dispatchEvent(new CustomEvent(`live:${topic}`));
    const now = performance.now();
    const waits = all(`[hx-trigger*="live:${topic}"]`).filter(part => !taking.has(part)).map(part => {
      const every = 1000 * Number((part.getAttribute('hx-trigger').match(/throttle:([\d.]+)s/) || [0, 0])[1]);
      const left = (takenAt.has(part) ? takenAt.get(part) : now) + every + 30 - now;
      return left > 0 ? left : Math.max(100, Math.min(every, -left));  /* overdue: less and less often */
    });
    clearTimeout(timers[topic]);
    if (waits.length) timers[topic] = setTimeout(() => tell(topic), Math.min(...waits));
  }
  let heardAt = performance.now(), isOpen = false, isNew = true, source = null, again = 0, away = 0;
  function listen(address) {
    clearTimeout(again);
    source?.close();
    source = new EventSource(address);
    const heard = () => { heardAt = performance.now(); isOpen = true; isNew = false; showState(); };
    source.onopen = () => {
      const wasLost = !isOpen && heardAt !== 0;
      heard();
      if (wasLost) topics.forEach(tell);
    };
    source.onerror = () => {
      isOpen = isNew = false;
      showState();
      /* One that was answered with an error does not try again by itself. */
      if (source.readyState === EventSource.CLOSED) again = setTimeout(() => listen(address), 3000 + 4000 * Math.random());
    };
    source.addEventListener('beat', heard);
    topics.forEach(topic => source.addEventListener(topic, () => { heard(); tell(topic); }));
  }
  /* A browser opens few connections to one host, all tabs together: those that nobody sees let theirs go. */
  function watchSight(address) {
    document.addEventListener('visibilitychange', () => {
      clearTimeout(away);
      if (!document.hidden) { if (source.readyState === EventSource.CLOSED) listen(address); }
      else away = setTimeout(() => { clearTimeout(again); source.close(); isOpen = false; showState(); }, 15000);
    });
    addEventListener('pagehide', () => { clearTimeout(again); source.close(); isOpen = false; });
    addEventListener('pageshow', event => { if (event.persisted) listen(address); });
  }
  function showState() {
    const silent = Math.round((performance.now() - heardAt) / 1000);
    const isLive = isOpen && silent < 20;
    all('[data-live-state]').forEach(slot => {
      slot.classList.toggle('stale', !isLive);
      const text = isLive ? 'live' : isOpen ? `no news for ${silent} s` : isNew ? 'connecting' : 'not connected';
      if (slot.textContent !== text) slot.textContent = text;
    });
  }

  /* Nothing that has focus, is pointed at or holds typed text is replaced under somebody's hands: it waits. */
  const held = new Set();
  const isInUse = box => box.matches(':hover') && box.hasAttribute('data-hold') ||
    (box !== document.body && box.contains(document.activeElement) && document.activeElement !== document.body) ||
    all('input, textarea', box).some(field => 'value' in field && field.type !== 'hidden' && field.value !== field.defaultValue);
  document.addEventListener('htmx:beforeSwap', event => {
    const cause = event.detail.requestConfig?.triggeringEvent?.type || '';
    if (event.detail.xhr.status >= 400 && event.detail.xhr.status !== 401) { event.detail.shouldSwap = true; event.detail.isError = false; }
    if (cause.startsWith('live:') && (event.detail.xhr.status >= 400 || isInUse(event.detail.target))) {
      event.detail.shouldSwap = false;
      held.add(event.detail.elt);
    }
  });
  function retryHeld() {
    for (const part of held) {
      if (!part.isConnected) held.delete(part);
      else if (!isInUse(part)) {
        held.delete(part);
        const topic = (part.getAttribute('hx-trigger') || '').match(/live:(\w+)/);
        if (topic) tell(topic[1]);
      }
    }
  }

  function prepare(inside) {
    localTimes(inside);
    drawClocks();
    all('[role=tablist]', inside).forEach(list => {
      if (!one('[role=tab][aria-selected=true]', list)) { const first = one('[role=tab]', list); if (first) pickTab(first); }
    });
    document.dispatchEvent(new CustomEvent('ferrule:shown', { detail: inside }));
  }

  document.addEventListener('click', event => {
    const on = selector => event.target.closest && event.target.closest(selector);
    let found;
    if ((found = on('[data-theme-toggle]'))) nextTheme();
    else if ((found = on('[data-open]'))) one(found.dataset.open)?.showModal();
    else if ((found = on('[data-close]'))) found.closest('dialog').close();
    else if ((found = on('[data-copy]'))) copy(found);
    else if ((found = on('[role=tab]'))) pickTab(found);
    else if ((found = on('[aria-disabled=true]'))) event.preventDefault();
  });
  document.addEventListener('submit', event => {
    if (event.submitter && event.submitter.getAttribute('aria-disabled') === 'true') event.preventDefault();
  }, true);
  document.addEventListener('keydown', event => {
    const tab = event.target.closest && event.target.closest('[role=tab]');
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (tab && step) {
      const tabs = all('[role=tab]', tab.closest('[role=tablist]'));
      const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
      pickTab(next);
      next.focus();
      event.preventDefault();
      return;
    }
    pressed(event);
  });
  document.addEventListener('input', event => {
    const field = event.target;
    if (field.dataset.enables) one(field.dataset.enables).setAttribute('aria-disabled', field.value.trim() !== field.dataset.expect);
    if (field.matches('[data-single-keys]')) kept.set('ferrule-single-keys', field.checked ? null : 'off');
    all(`[data-filtered="#${CSS.escape(field.id)}"] > *`).forEach(row => {
      row.hidden = !row.textContent.toLowerCase().includes(field.value.trim().toLowerCase());
    });
  });
  document.addEventListener('htmx:afterSwap', event => prepare(event.detail.target));
  document.addEventListener('htmx:historyRestore', () => prepare(document));

  window.ferrule = { say, one, all, pickTab };
  showTheme();
  prepare(document);
  const switched = one('[data-single-keys]');
  if (switched) switched.checked = kept.get('ferrule-single-keys') !== 'off';
  if (document.body.dataset.live && window.EventSource) { listen(document.body.dataset.live); watchSight(document.body.dataset.live); }
  setInterval(() => { drawClocks(); showState(); retryHeld(); }, 1000);
})();
