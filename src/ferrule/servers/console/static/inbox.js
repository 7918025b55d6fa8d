/* The inbox while it is open: an item that changes is shown anew without losing focus or typed text, rows of the queue change in
   their places, and new ones wait behind a link. Everything is decided by the server; without this the pages work as they are. */
'use strict';
(() => {
  const { one, all, say } = window.ferrule;
  const made = (html, selector) => {
    const box = document.createElement('template');
    box.innerHTML = html;
    return one(selector, box.content);
  };
  async function fetched(address) {
    const reply = await fetch(address, { headers: { 'HX-Request': 'true' }, cache: 'no-store' });
    if (reply.status === 401) location.reload();
    return reply.status === 200 ? reply.text() : null;
  }
  /* What comes while an answer is on its way is looked at once more after it. */
  function once(work) {
    let isBusy = false, isWanted = false;
    return async function run() {
      if (isBusy) { isWanted = true; return; }
      isBusy = true;
      try { await work(); } catch { /* the server is away; its return is news, too */ }
      isBusy = false;
      if (isWanted) { isWanted = false; run(); }
    };
  }

  /* One item. */
  const isTyped = field => field.name && field.type !== 'hidden' && !field.readOnly &&
    (field.type === 'checkbox' || field.type === 'radio' ? field.checked !== field.defaultChecked :
      field.tagName === 'SELECT' ? field.selectedIndex > 0 : field.value !== field.defaultValue);
  const labelOf = field => (field.labels && field.labels[0] ? field.labels[0].firstChild.textContent.trim() : '') || field.name;

  function replaced(item, fresh) {
    const typed = all('input, textarea, select', item).filter(isTyped);
    const at = item.contains(document.activeElement) ? document.activeElement : null;
    const place = at && 'selectionStart' in at ? [at.selectionStart, at.selectionEnd] : null;
    const isSame = fresh.hasAttribute('data-waits') && fresh.dataset.seen === item.dataset.seen;
    item.replaceWith(fresh);
    window.htmx?.process(fresh);
    document.dispatchEvent(new CustomEvent('htmx:afterSwap', { detail: { target: fresh } }));
    const lost = typed.filter(field => !putBack(field, fresh, isSame));
    keep(lost.filter(field => field.type !== 'checkbox' && field.type !== 'radio'), fresh);
    const next = at && at.id && document.getElementById(at.id);
    if (next) {
      next.focus({ preventScroll: true });
      try { if (place && place[0] !== null) next.setSelectionRange(...place); } catch { /* not a text field */ }
    } else if (at) one('#item-h', fresh)?.focus({ preventScroll: true });
    if (!isSame && item.hasAttribute('data-waits')) say(one('#item-h', fresh).textContent, true);
    watchExpiry();
  }
  /* Typed text goes back to its field while the item is what it was. What confirms or changes another input does not. */
  function putBack(field, fresh, isSame) {
    const mark = field.type === 'radio' || field.type === 'checkbox' ? `[value="${CSS.escape(field.value)}"]` : '';
    const next = one(`[name="${CSS.escape(field.name)}"]${mark}:not([type=hidden])`, fresh);
    if (!next || next.readOnly || !(isSame || field.name === 'reason')) return false;
    if (mark) next.checked = field.checked; else next.value = field.value;
    next.dispatchEvent(new Event('input', { bubbles: true }));
    return true;
  }
  function keep(fields, fresh) {
    const box = one('[data-kept]', fresh);
    if (!box) return;
    fields.forEach((field, number) => {
      const part = document.createElement('div'), label = document.createElement('label'), text = document.createElement('textarea');
      part.className = 'field';
      text.className = 'input mono';
      text.readOnly = true;
      text.rows = 3;
      text.id = `kept-live-${number}`;
      text.defaultValue = field.value;
      label.htmlFor = text.id;
      label.textContent = labelOf(field);
      part.append(label, text);
      box.append(part);
    });
    if (fields.length) box.hidden = false;
  }
  const lookAtItem = once(async () => {
    const item = one('#item[data-part]');
    if (!item) return;
    const mode = item.dataset.mode ? `&mode=${encodeURIComponent(item.dataset.mode)}` : '';
    const html = await fetched(`${item.dataset.part}?stamp=${encodeURIComponent(item.dataset.stamp)}${mode}`);
    const fresh = html && made(html, '#item');
    if (fresh && item.isConnected && fresh.dataset.id === item.dataset.id) replaced(item, fresh);
  });

  /* The server says when an item is over; the clock only tells when to ask. */
  let expiry = 0;
  function watchExpiry() {
    clearTimeout(expiry);
    const left = Number(one('#item [data-expires]')?.dataset.left ?? NaN);
    if (left < 86400) expiry = setTimeout(lookAtItem, 1000 * left + 400);
  }

  /* The queue. */
  const ids = box => all('li[data-id]', box).map(row => row.dataset.id);
  const lookAtQueue = once(async () => {
    const queue = one('#queue');
    const html = queue && await fetched(queue.dataset.queue);
    const fresh = html && made(html, '#queue');
    if (!fresh) return;
    const known = new Set(ids(queue)), need = one('[data-section=need]', fresh);
    const added = need ? ids(need).filter(id => !known.has(id)) : [];
    if (!ids(one('[data-section=need]', queue) || document.createElement('ul')).length && !one('#item')) {
      fresh.open = queue.open || added.length > 0;
      queue.replaceWith(fresh);
      document.dispatchEvent(new CustomEvent('htmx:afterSwap', { detail: { target: fresh } }));
      if (added.length) say(`${added.length} new in the inbox`);
      return;
    }
    all('li[data-id]', queue).forEach(row => {
      const next = one(`li[data-id="${CSS.escape(row.dataset.id)}"]`, fresh);
      const link = one('a', row), other = next && one('a', next);
      if (other && link.innerHTML !== other.innerHTML) {
        link.replaceChildren(...other.childNodes);
        document.dispatchEvent(new CustomEvent('htmx:afterSwap', { detail: { target: row } }));
      }
    });
    one('summary', queue).replaceChildren(...one('summary', fresh).childNodes);
    const news = one('[data-new]', queue);
    news.hidden = !added.length;
    const text = added.length ? `${added.length} new, show` : '';
    if (news.textContent !== text) {
      news.textContent = text;
      news.href = location.pathname;
      if (text) say(`${added.length} new in the inbox`);
    }
  });

  let soon = 0;
  const look = () => { clearTimeout(soon); soon = setTimeout(() => { lookAtItem(); lookAtQueue(); }, 150); };
  document.body.addEventListener('live:inbox', look);
  document.body.addEventListener('live:calls', () => { if (!one('#item[data-waits]')) lookAtItem(); });
  document.addEventListener('htmx:afterSwap', watchExpiry);
  if (matchMedia('(max-width: 47rem)').matches && one('#item')) one('#queue').open = false;
  watchExpiry();
})();
