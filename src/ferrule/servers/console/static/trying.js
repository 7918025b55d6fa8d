/* The page that tries a tool: a form and its JSON in step, the server's word on both, and runs as they go. */
'use strict';
(() => {
  const { say, one, all } = window.ferrule, { NotJson, parse, write } = window.ferrule.json;
  const page = one('#trying');
  if (!page) return;
  const form = one('#try-form'), raw = one('#try-raw'), fields = one('#try-fields'), runs = one('#try-runs');
  const plan = JSON.parse(page.dataset.form), address = page.dataset.address;
  const proof = one('input[name=proof]', form).value;
  const CHECK_AFTER = 200, QUIET_AFTER_RUN = 700, MOST_FOLLOWED = 2, MOST_STEPS = 8, MOST_RUNS = 8;

  async function post(to, said) {
    const answer = await fetch(to, { method: 'POST', body: new URLSearchParams(said), headers: { accept: 'application/json', 'x-ferrule-proof': proof } });
    const isJson = (answer.headers.get('content-type') || '').startsWith('application/json');
    const told = isJson ? await answer.json() : { problem: answer.status === 403 ? 'This page has expired; reload it.' : answer.status === 429 ? 'Too many requests; wait a moment.' : `The server answered ${answer.status}.` };
    return { isFine: answer.ok, told };
  }

  /* ---- the form and the JSON ---- */

  const touched = new Set();
  let isAsked = false, isReadable = true;
  const view = new window.ferrule.Form(fields, plan.nodes, here => {
    touched.add(here);
    raw.value = write(view.value);
    measured();
    later();
  });
  function measured() {
    raw.rows = Math.max(8, Math.min(24, raw.value.split('\n').length + 1));
    one('#try-size').textContent = `${new TextEncoder().encode(raw.value).length.toLocaleString('en')} bytes`;
  }
  function said(text, isBad) {
    const slot = one('#try-raw-says');
    slot.className = isBad ? 'err slot' : 'hint slot';
    slot.textContent = text;
    raw.setAttribute('aria-invalid', isBad);
  }
  function read() {
    try {
      const value = parse(raw.value);
      isReadable = true;
      fields.disabled = false;
      said('', false);
      return value;
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      isReadable = false;
      fields.disabled = true;  // it shows what was written before, and would write over this
      said(`This is not JSON: ${error.message}.`, true);
      return undefined;
    }
  }
  function typed() {
    isAsked = true;
    measured();
    const value = read();
    if (value !== undefined) view.show(value);
    later();
  }
  raw.addEventListener('input', typed);
  function begin(text) {
    raw.value = text;
    typed();
    isAsked = false;
    touched.clear();
  }
  const again = one('[data-start]'), examples = one('[data-examples]');
  again.hidden = false;
  again.addEventListener('click', () => begin(plan.start));
  if (examples) {
    examples.hidden = false;
    examples.addEventListener('change', () => { if (examples.value !== '') begin(plan.examples[examples.value]); examples.value = ''; });
  }
  form.noValidate = true;
  form.addEventListener('keydown', event => {  // a tool runs when its button is pressed, never by the way
    if (event.key !== 'Enter' || event.defaultPrevented || !event.target.matches('input')) return;
    event.preventDefault();
    if (event.target.type !== 'checkbox') check();
  });

  /* ---- what the server says ---- */

  let waiting = 0, asked = 0, known = null;
  function later() {
    clearTimeout(waiting);
    waiting = setTimeout(check, CHECK_AFTER);
  }
  async function check() {
    clearTimeout(waiting);
    const number = asked += 1;
    if (!isReadable) { known = { is_accepted: false, errors: [], decision: null, problem: '' }; judged(); return; }
    try {
      const { told } = await post(address, { do: 'check', arguments: raw.value });
      if (number !== asked) return;  // something newer was asked meanwhile
      known = { errors: [], decision: null, is_accepted: false, ...told };
      copies(told.snippets);
    } catch {
      if (number !== asked) return;
      known = { is_accepted: true, errors: [], decision: null, problem: 'The server cannot be reached; the input was not checked.' };
    }
    judged();
  }
  const isShown = there => isAsked || [...touched].some(here => there === here || there.startsWith(`${here}/`));
  function judged() {
    const errors = known.errors.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^\/arguments/, ''), detail }));
    const left = view.judge(errors, isShown);
    const whole = isAsked || touched.size ? [...left, ...(known.problem ? [known.problem] : [])] : [];
    one('#try-whole').replaceChildren(...whole.map(text => Object.assign(document.createElement('p'), { className: 'err', textContent: text })));
    const count = new Set(errors.map(error => error.pointer)).size + view.broken.size + (isReadable ? 0 : 1);
    const word = known.is_accepted && !view.broken.size ? ['ok', 's-ok', 'valid'] : count === 0 ? ['bad', 's-bad', 'cannot be run'] : isAsked || touched.size ? ['bad', 's-bad', `${count} to fix`] : ['off', 's-queue', `${count} to fill in`];
    one('#try-why').replaceChildren(state(...word));
    one('#try-run').setAttribute('aria-disabled', String(!(known.is_accepted && isReadable && !view.broken.size)));
    decided(known.decision);
    page.dataset.checked = asked;
  }
  function icon(name) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg'), use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
    svg.setAttribute('class', 'i');
    svg.setAttribute('aria-hidden', 'true');
    use.setAttribute('href', `#i-${name}`);
    svg.append(use);
    return svg;
  }
  function element(name, className, ...inside) {
    const found = document.createElement(name);
    if (className) found.className = className;
    found.append(...inside);
    return found;
  }
  const state = (kind, shape, word) => element('span', `st st-${kind}`, icon(shape), word);
  const SAYS = { allow: ['ok', 's-ok', 'allow'], ask: ['wait', 's-wait', 'ask'], deny: ['deny', 's-deny', 'deny'] };
  function decided(decision) {
    const box = one('#try-decision');
    if (!decision) { box.replaceChildren(state('off', 's-queue', 'not decided'), ' ', element('span', 'dim', 'The policy decides once the input is valid.')); return; }
    const parts = [state(...(SAYS[decision.behavior] || SAYS.deny))];
    if (decision.rule) parts.push(' ', element('span', 'nw', 'by rule ', element('code', '', decision.rule)));
    parts.push(element('span', 'dim', `: ${decision.reason.length > 300 ? `${decision.reason.slice(0, 299)}…` : decision.reason}.`));
    if (decision.behavior === 'ask') parts.push(' ', element('span', 'dim', `${decision.approvers.join(', ') || 'Anyone who may approve'}${decision.people > 1 ? `, ${decision.people} people` : ''}${decision.not_requester ? ', not you' : ''}.`));
    box.replaceChildren(...parts);
  }
  function copies(snippets) {
    for (const name of ['curl', 'python', 'mcp']) {
      const text = snippets?.[name], slot = one(`#snippet-${name} code`);
      if (slot && text !== undefined) slot.textContent = text || 'Not available: the input is not JSON, or too long.';
    }
  }

  /* ---- running ---- */

  let isBusy = false;
  const fresh = () => [...crypto.getRandomValues(new Uint8Array(8))].map(byte => byte.toString(16).padStart(2, '0')).join('');
  form.addEventListener('submit', event => {
    const isHeld = event.defaultPrevented;
    event.preventDefault();
    isAsked = true;
    if (isHeld || event.submitter?.value === 'check') check();
    else run();
  });
  one('#try-run').addEventListener('click', event => {  // a button that is off says why
    if (event.currentTarget.getAttribute('aria-disabled') !== 'true') return;
    isAsked = true;
    check();
    one('[aria-invalid=true]', form)?.focus();
  });
  async function run() {
    if (isBusy) return;
    isBusy = true;
    const press = one('#try-run'), nonce = one('input[name=nonce]', form);
    press.setAttribute('aria-busy', 'true');
    const quiet = new Promise(done => { setTimeout(done, QUIET_AFTER_RUN); });  // the second press of a double click is none
    try {
      const { isFine, told } = await post(address, { do: 'run', arguments: raw.value, nonce: nonce.value, digest: one('input[name=digest]', form).value });
      if (isFine) await added(told.run);
      else { one('#try-whole').replaceChildren(element('p', 'err', told.problem)); say(told.problem, true); }
      nonce.value = fresh();
    } catch {
      one('#try-whole').replaceChildren(element('p', 'err', 'The server cannot be reached. Press Run again: a retry never makes a second call.'));
    }
    await quiet;
    press.removeAttribute('aria-busy');
    isBusy = false;
  }
  async function added(id) {
    if (document.getElementById(`run-${id}`)) return;
    const number = 1 + Math.max(0, ...all('[data-run]', runs).map(panel => Number(panel.dataset.number)));
    const panel = element('section', 'panel');
    Object.assign(panel.dataset, { run: id, number });
    panel.id = `run-${id}`;
    panel.setAttribute('aria-label', `Run ${number}`);
    runs.prepend(panel);
    all('[data-run]', runs).slice(MOST_RUNS).forEach(old => { stop(old); old.remove(); });
    const here = new URL(location.href);
    here.search = new URLSearchParams(all('[data-run]', runs).map(each => ['run', each.dataset.run])).toString();
    history.replaceState(null, '', here);
    await renewed(panel);
    say(`Run ${number} began`, true);
    follow();
  }

  /* A panel as it is now, one look after the other: what has ended stays as it is under somebody's hands. The server renders it;
     nothing of a result is put together here. */
  function renewed(panel) {
    const look = async () => {
      if (panel.childElementCount && !isPending(panel)) return;
      await window.htmx.ajax('GET', `/console/trying/${encodeURIComponent(panel.dataset.run)}?number=${panel.dataset.number}`, { target: panel, swap: 'innerHTML' });
      if (panel.steps?.length && isPending(panel)) drawn(panel);
    };
    panel.looking = (panel.looking || Promise.resolve()).then(look, look);
    return panel.looking;
  }
  const isPending = panel => one('[data-pending=yes]', panel) !== null;
  const isWaiting = panel => one('[data-waiting=yes]', panel) !== null;

  const sources = new Map();
  function stop(panel) { sources.get(panel)?.close(); sources.delete(panel); }
  function follow() {  // a browser has few connections to one server: the newest runs have them
    for (const panel of all('[data-run]', runs)) {
      if (!isPending(panel)) { stop(panel); continue; }
      if (sources.has(panel) || sources.size >= MOST_FOLLOWED) continue;
      const source = new EventSource(`/console/trying/${encodeURIComponent(panel.dataset.run)}/events`);
      sources.set(panel, source);
      source.addEventListener('progress', event => progressed(panel, JSON.parse(event.data)));
      source.addEventListener('waiting', () => { if (!isWaiting(panel)) renewed(panel); });
      source.addEventListener('result', async () => {
        stop(panel);
        await renewed(panel);
        say(`Run ${panel.dataset.number}: ${one('.st.pill', panel)?.textContent.trim() || 'ended'}`);
        follow();
      });
      source.onerror = () => { if (source.readyState === EventSource.CLOSED) { stop(panel); setTimeout(() => renewed(panel).then(follow), 1000); } };
    }
  }
  document.body.addEventListener('live:calls', () => {
    all('[data-run]', runs).filter(panel => isPending(panel) && !sources.has(panel)).forEach(panel => renewed(panel).then(follow));
  });
  function progressed(panel, told) {
    if (told.status.startsWith('waiting_')) return;
    if (isWaiting(panel)) renewed(panel);  // somebody answered
    panel.steps = [...(panel.steps || []), told].slice(-500);
    if (panel.isDrawing) return;
    panel.isDrawing = true;
    requestAnimationFrame(() => { panel.isDrawing = false; drawn(panel); });
  }
  function drawn(panel) {
    const steps = panel.steps, last = steps.at(-1), bar = one('[data-bar]', panel), list = one('[data-steps]', panel);
    if (!bar || !list) return;
    const counted = steps.findLast(each => typeof each.percent === 'number'), named = steps.findLast(each => each.message && each.status !== 'partial_result');
    if (counted) bar.value = counted.percent;
    one('[data-percent]', panel).textContent = counted ? `${Math.round(counted.percent)} %` : '';
    one('[data-step]', panel).textContent = named?.message || last.status.replaceAll('_', ' ');
    const shown = steps.filter(each => each.message).slice(-MOST_STEPS);
    list.replaceChildren(...shown.map((each, at) => element('li', 'row sm', at === shown.length - 1 ? state('run ico', 's-run', '') : state('ok ico', 's-ok', ''), element('span', 'cut', each.message), element('span', 'push faint', each.elapsed_ms === undefined ? '' : `${(each.elapsed_ms / 1000).toFixed(2)} s`))));
    const partial = one('[data-partial]', panel);
    if (partial) partial.replaceChildren(...steps.filter(each => each.status === 'partial_result' && each.message).slice(-MOST_STEPS).map(each => element('li', '', each.message)));
  }
  runs.addEventListener('submit', async event => {
    const asking = event.target.closest('[data-cancel]');
    if (!asking) return;
    event.preventDefault();
    const press = one('button', asking), panel = asking.closest('[data-run]');
    press.setAttribute('aria-disabled', 'true');
    press.textContent = 'Cancel requested';
    const { isFine, told } = await post(asking.getAttribute('action'), {});
    if (!isFine) { press.textContent = told.problem; return; }
    say(told.message || 'Cancel requested', true);
    if (!sources.has(panel)) await renewed(panel);
  });
  setInterval(() => {
    const now = performance.now();
    for (const panel of all('[data-run]', runs)) {
      const slot = one('[data-took]', panel);
      if (!slot || !isPending(panel) || isWaiting(panel)) continue;
      panel.began ||= now;
      slot.textContent = `${((now - panel.began) / 1000).toFixed(1)} s`;
    }
  }, 200);
  addEventListener('pagehide', () => all('[data-run]', runs).forEach(stop));

  const first = read();
  if (first !== undefined) view.show(first);
  measured();
  check();
  follow();
})();
