/* A form that shows a JSON value, drawn from the nodes that the server made of a schema (see forms.py). The value is what counts:
   every control changes one place in it, so that members which no field shows are kept as they are. */
'use strict';
(() => {
  const { Num, NotJson, isNumber, parse, write, copied, same } = window.ferrule.json;
  const DEEPEST = 16, MOST_CONTROLS = 3000, MOST_ITEMS = 200;
  const DATE = /^\d{4}-\d\d-\d\d$/, MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z$/;
  const KINDS = { email: 'email', uri: 'url', url: 'url' };
  let ids = 0;

  function make(name, attributes = {}, ...inside) {
    const found = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === false) continue;
      if (key === 'class') found.className = value;
      else found.setAttribute(key, value === true ? '' : value);
    }
    found.append(...inside.filter(one => one !== null && one !== undefined));
    return found;
  }
  const button = (text, label, press) => {
    const found = make('button', { type: 'button', class: 'btn sm', 'aria-label': label }, text);
    found.addEventListener('click', press);
    return found;
  };
  const escaped = step => String(step).replaceAll('~', '~0').replaceAll('/', '~1');
  const pointer = path => path.map(step => `/${escaped(step)}`).join('');
  const cut = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;
  const plain = value => value instanceof Num ? value.text : typeof value === 'string' ? value : write(value);

  class Form {
    /* `changed` is called with the pointer of whatever somebody changed. */
    constructor(box, nodes, changed) {
      this.box = box;
      this.nodes = nodes;
      this.changed = changed;
      this.value = new Map();
      this.fields = new Map();
      this.broken = new Set();
      this.chosen = new Map();
      this.count = 0;
      this.tried = 0;
    }

    /* Show another value. */
    show(value) { this.value = value; this.draw(); }

    draw(focus) {
      this.fields.clear();
      this.broken.clear();
      this.count = 0;
      this.tried = 0;
      const node = this.node(0), whole = this.body(0, this.value, [], 0);
      const hint = !(this.value instanceof Map) ? 'The input is not an object; write it as JSON.'
        : whole === null ? 'The schema names no fields; write the input as JSON.'
          : whole.childElementCount ? '' : 'This tool takes no input.';
      const inside = hint ? [make('p', { class: 'hint' }, hint)] : [whole];
      if (node.kind === 'union' && !hint) {
        this.fields.set('', { box: this.box, slot: make('p'), hint: '', control: null });
        inside.unshift(this.chooser(node, this.value, { path: [], label: 'input' }, ''));
      }
      this.box.replaceChildren(...inside);
      if (focus !== undefined) (this.fields.get(focus)?.control || this.box.querySelector('input, select, textarea, button'))?.focus();
    }

    node(number) { return this.nodes[number] || { kind: 'json', says: 'any JSON' }; }

    /* ---- the value ---- */

    at(path) {
      let found = this.value;
      for (const step of path) found = found instanceof Map ? found.get(step) : Array.isArray(found) ? found[step] : undefined;
      return found;
    }
    set(path, value, order) {
      if (!path.length) { this.value = value; return; }
      const parent = this.at(path.slice(0, -1)), step = path.at(-1);
      if (Array.isArray(parent)) { parent[step] = value; return; }
      if (!(parent instanceof Map)) return;
      const isNew = !parent.has(step);
      parent.set(step, value);
      if (!isNew || !order) return;
      const place = new Map(order.map(([name], at) => [name, at]));  // in the order of the schema
      const sorted = [...parent].map((pair, at) => [pair, place.get(pair[0]) ?? order.length + at]).sort((a, b) => a[1] - b[1]);
      parent.clear();
      for (const [[name, member]] of sorted) parent.set(name, member);
    }
    drop(path) {
      const parent = this.at(path.slice(0, -1));
      if (parent instanceof Map) parent.delete(path.at(-1));
      else if (Array.isArray(parent)) parent.splice(path.at(-1), 1);
    }
    put(context, value) {
      if (value === undefined) this.drop(context.path); else this.set(context.path, value, context.order);
      this.changed(pointer(context.path));
    }

    /* What something begins with. Never undefined: it is wanted. */
    start(number, depth = 0) {
      const node = this.node(number);
      for (const word of ['default', 'example', 'value', 'empty']) if (typeof node[word] === 'string') return parse(node[word]);
      switch (node.kind) {
        case 'object': {
          const found = new Map();
          if (depth < 8) for (const [name, member, isRequired] of node.fields) {
            const given = this.node(member);
            if (typeof given.default === 'string') found.set(name, parse(given.default));
            else if (isRequired && (given.example || ['object', 'array', 'union', 'const'].includes(given.kind) || given.empty)) found.set(name, this.start(member, depth + 1));
          }
          return found;
        }
        case 'array': return depth < 8 ? [...node.prefix, ...Array(Math.max(0, Math.min(node.least, 20) - node.prefix.length)).fill(node.items)].map(one => this.start(one, depth + 1)) : [];
        case 'union': return depth < 8 ? this.start(node.branches[0][1], depth + 1) : null;
        case 'enum': return parse(node.options[0]);
        case 'boolean': return false;
        case 'number': return new Num('0');
        case 'text': return '';
        default: return null;
      }
    }

    /* How well a value goes with a node: 0 for not at all. It chooses an alternative to show, and judges nothing. */
    fit(number, value, depth = 0) {
      const node = this.node(number);
      if ((this.tried += 1) > 50000) return 1;  // nobody wrote such a schema for people
      if (value === null && node.nullable) return 2;
      switch (node.kind) {
        case 'const': return same(parse(node.value), value) ? 6 : 0;
        case 'enum': return node.options.some(text => same(parse(text), value)) ? 5 : 0;
        case 'null': return value === null ? 3 : 0;
        case 'boolean': return typeof value === 'boolean' ? 3 : 0;
        case 'text': return typeof value === 'string' ? 3 : 0;
        case 'number': return value instanceof Num ? (node.says.startsWith('integer') && /[.eE]/.test(value.text) ? 1 : 3) : 0;
        case 'array': return Array.isArray(value) ? 3 : 0;
        case 'union': return depth < 6 ? Math.max(0, ...node.branches.map(([, one]) => this.fit(one, value, depth + 1))) : 0;
        case 'object': {
          if (!(value instanceof Map)) return 0;
          let found = 2;
          for (const [name, member, isRequired] of node.fields) {
            if (!value.has(name)) { found -= isRequired ? 1 : 0; continue; }
            const fixed = ['const', 'enum'].includes(this.node(member).kind);
            const well = depth < 6 ? this.fit(member, value.get(name), depth + 1) : 1;
            if (fixed && !well) return 0.1;
            found += well ? (fixed ? 4 : 1) : 0;
          }
          return Math.max(found, 0.2);
        }
        default: return node.empty && !(value instanceof Map) ? 0 : 1;
      }
    }

    /* ---- drawing ---- */

    /* The inside of a value that is there. */
    body(number, value, path, depth) {
      const node = this.node(number);
      const isDeep = depth > DEEPEST || this.count > MOST_CONTROLS;
      if (!isDeep && node.kind === 'object' && value instanceof Map) return this.object(node, value, path, depth);
      if (!isDeep && node.kind === 'array' && Array.isArray(value) && value.length <= MOST_ITEMS) return this.array(node, value, path, depth);
      if (!isDeep && node.kind === 'union') return this.union(node, value, path, depth);
      return null;
    }

    object(node, value, path, depth) {
      const box = make('div', { class: 'members' });
      const known = new Set(node.fields.map(([name]) => name));
      for (const [name, member, isRequired] of node.fields) {
        box.append(this.field(member, value.get(name), { path: [...path, name], label: name, isRequired, order: node.fields, depth }));
      }
      for (const name of value.keys()) {
        if (!known.has(name)) box.append(this.field(node.extra ?? -1, value.get(name), { path: [...path, name], label: name, isExtra: true, depth }));
      }
      if (node.more) box.append(make('p', { class: 'hint' }, `${node.more} more fields are not shown; write them as JSON.`));
      if (node.extra !== null && node.extra !== undefined) box.append(this.adder(node, path));
      return box;
    }

    /* A field of any other name. */
    adder(node, path) {
      const id = `try-${ids += 1}`, name = make('input', { class: 'input mono', id, placeholder: 'name', autocomplete: 'off', spellcheck: 'false' });
      const add = () => {
        const parent = this.at(path);
        if (!(parent instanceof Map) || parent.has(name.value)) { name.focus(); return; }
        parent.set(name.value, this.start(node.extra));
        const made = [...path, name.value];
        this.draw(pointer(made));
        this.changed(pointer(made));
      };
      name.addEventListener('keydown', event => { if (event.key === 'Enter') { event.preventDefault(); add(); } });
      return make('div', { class: 'adder row' }, make('label', { class: 'vh', for: id }, 'Name of another field'), name, button('Add a field', undefined, add));
    }

    array(node, value, path, depth) {
      const box = make('div', { class: 'members' });
      value.forEach((item, at) => {
        const member = node.prefix[at] ?? node.items;
        box.append(this.field(member, item, { path: [...path, at], label: `${at + 1}`, isItem: true, depth }));
      });
      const add = button('Add', `Add to ${path.length ? path.at(-1) : 'the list'}`, () => {
        const list = this.at(path);
        list.push(this.start(node.prefix[list.length] ?? node.items));
        this.draw(pointer([...path, list.length - 1]));
        this.changed(pointer(path));
      });
      box.append(make('div', { class: 'row' }, add, value.length ? null : make('span', { class: 'hint' }, 'empty')));
      return box;
    }

    union(node, value, path, depth) {
      const here = pointer(path), chosen = this.branch(node, value, here);
      const inner = this.body(node.branches[chosen][1], value, path, depth + 1);
      if (inner) return inner;
      const made = this.control(node.branches[chosen][1], value, { path, label: `${path.at(-1) ?? ''}`, isRequired: true, isBranch: true, depth });
      const box = make('div', { class: 'members' }, ...(Array.isArray(made) ? made : [made]));
      for (const one of box.querySelectorAll('input, select, textarea')) if (!one.hasAttribute('aria-label')) one.setAttribute('aria-label', cut(`${path.at(-1) ?? 'input'}`, 80));
      return box;
    }
    branch(node, value, here) {
      const fits = node.branches.map(([, one]) => this.fit(one, value));
      const wanted = this.chosen.get(here);
      if (wanted !== undefined && wanted < fits.length && fits[wanted] > 0) return wanted;
      return fits.indexOf(Math.max(...fits));
    }

    /* A field with its label, its control and the slot under it. */
    field(number, value, context) {
      const node = this.node(number);
      const id = `try-${ids += 1}`, here = pointer(context.path);
      this.count += 1;
      const isThere = value !== undefined;
      const isWhole = ['object', 'array', 'union'].includes(node.kind);
      const inner = isWhole && isThere && (value !== null || !node.nullable) ? this.body(number, value, context.path, context.depth + 1) : null;
      const box = make('div', { class: inner ? 'field nest' : 'field' });
      const hint = node.description || '';
      const slot = make('p', { class: 'hint slot', id: `${id}-says` }, cut(hint, 300));
      const label = make(inner ? 'p' : 'label', { class: inner ? 'lab' : undefined, for: inner ? undefined : id, id: inner ? `${id}-label` : undefined },
        make('span', { class: 'name' }, cut(context.label, 80) || '(no name)'), make('span', { class: 'ty' }, node.says || ''),
        context.isRequired ? make('span', { class: 'req' }, 'required') : null);
      const head = make('div', { class: 'row label' }, label);
      this.fields.set(here, { box, slot, hint: cut(hint, 300), control: null });
      this.heads(head, node, number, value, context, here);
      box.append(head);
      if (inner) {
        box.setAttribute('role', 'group');
        box.setAttribute('aria-labelledby', `${id}-label`);
        if (node.kind === 'union') box.append(this.chooser(node, value, context, here));
        box.append(slot, inner);
        this.fields.get(here).control ||= inner.querySelector('input, select, textarea, button');
      } else if (isWhole && !isThere && !context.isItem) {
        box.append(slot);
        this.fields.get(here).control = head.querySelector('button');
        label.removeAttribute('for');
      } else {
        const made = this.control(number, value, { ...context, id });
        box.append(...(Array.isArray(made) ? made : [made]), slot);
        this.fields.get(here).control = box.querySelector(`#${id}`) || box.querySelector('input, select, textarea, button');
      }
      for (const one of box.querySelectorAll(`#${id}`)) one.setAttribute('aria-describedby', `${id}-says`);
      return box;
    }

    /* What stands beside a label: add, leave out, remove, null. */
    heads(head, node, number, value, context, here) {
      const name = cut(context.label, 40);
      const isWhole = ['object', 'array', 'union'].includes(node.kind);
      if (node.nullable && !context.isBranch) {
        const tick = make('input', { type: 'checkbox' });
        tick.checked = value === null;
        tick.addEventListener('change', () => {
          if (tick.checked) this.set(context.path, null, context.order);
          else if (context.isItem || isWhole) this.set(context.path, this.start(number), context.order);
          else this.drop(context.path);
          this.draw(here);
          this.changed(here);
        });
        head.append(make('label', { class: 'check push xs' }, tick, make('span', {}, 'null', make('span', { class: 'vh' }, ` for ${name}`))));
      }
      const act = (text, label, press) => head.append(make('span', { class: node.nullable ? '' : 'push' }, button(text, label, () => { press(); })));
      if (context.isItem || context.isExtra) {
        act('Remove', `Remove ${name}`, () => { this.drop(context.path); this.draw(pointer(context.path.slice(0, -1))); this.changed(here); });
      } else if (isWhole && value === undefined) {
        act('Add', `Add ${name}`, () => { this.set(context.path, this.start(number), context.order); this.draw(here); this.changed(here); });
      } else if (isWhole && !context.isRequired) {
        act('Leave out', `Leave out ${name}`, () => { this.drop(context.path); this.draw(here); this.changed(here); });
      }
    }

    chooser(node, value, context, here) {
      const chosen = this.branch(node, value, here);
      const select = make('select', { class: 'input', 'aria-label': `Type of ${cut(context.label, 40)}` },
        ...node.branches.map(([label], at) => make('option', { value: at }, label)));
      select.value = chosen;
      select.addEventListener('change', () => {
        this.chosen.set(here, Number(select.value));
        this.set(context.path, this.start(node.branches[select.value][1]), context.order);
        this.draw(here);
        this.changed(here);
      });
      this.fields.get(here).control = select;
      return select;
    }

    /* The control for a value that is one. Where the value is of another kind than the schema wants, it is JSON. */
    control(number, value, context) {
      const node = this.node(number), id = context.id || `try-${ids += 1}`;
      const rest = { ...context, id };
      if (value === null && node.nullable) return make('input', { class: 'input mono', id, value: 'null', disabled: true });
      if (value === undefined || this.fit(number, value) > 0 || ['text', 'number', 'enum'].includes(node.kind) && !(value instanceof Map || Array.isArray(value))) {
        switch (node.kind) {
          case 'enum': return this.choice(node, value, rest);
          case 'const': return this.fixed(node, value, rest);
          case 'boolean': return this.choice({ options: ['true', 'false'] }, value, rest);
          case 'number': return this.number(node, value, rest);
          case 'text': return this.text(node, value, rest);
        }
      }
      return this.raw(node, value, rest);
    }

    choice(node, value, context) {
      const at = value === undefined ? -1 : node.options.findIndex(text => same(parse(text), value));
      const select = make('select', { class: 'input', id: context.id });
      if (!context.isItem && !context.isBranch) select.append(make('option', { value: '' }, context.isRequired ? 'choose' : 'left out'));
      node.options.forEach((text, place) => select.append(make('option', { value: place }, cut(node.labels?.[place] || plain(parse(text)) || '(empty text)', 120))));
      if (value !== undefined && at < 0) select.append(make('option', { value: 'kept' }, `${cut(plain(value), 80)} (not an option)`));
      select.value = value === undefined ? '' : at < 0 ? 'kept' : String(at);
      select.addEventListener('change', () => {
        if (select.value === 'kept') return;
        this.put(context, select.value === '' ? undefined : parse(node.options[select.value]));
      });
      return select;
    }

    fixed(node, value, context) {
      const tick = make('input', { type: 'checkbox', id: context.id });
      tick.checked = value !== undefined;
      tick.addEventListener('change', () => this.put(context, tick.checked ? parse(node.value) : undefined));
      return make('span', { class: 'check' }, tick, make('code', {}, cut(node.value, 120)));
    }

    number(node, value, context) {
      const example = node.example ? plain(parse(node.example)) : '';
      const input = make('input', { class: 'input mono', id: context.id, inputmode: 'decimal', placeholder: cut(example, 60), autocomplete: 'off' });
      input.value = value === undefined ? '' : plain(value);
      input.addEventListener('input', () => {
        const text = input.value.trim();
        this.put(context, text === '' && !context.isItem && !context.isBranch ? undefined : isNumber(text) ? new Num(text) : text);
      });
      return input;
    }

    text(node, value, context) {
      const text = value === undefined ? '' : plain(value);
      if (node.form === 'file') return this.file(text, context);
      const isLong = node.is_long || text.includes('\n') || text.length > 120;
      const isDay = node.form === 'date' && (text === '' || DATE.test(text)), isMoment = node.form === 'date-time' && (text === '' || MOMENT.test(text));
      const kind = isDay ? 'date' : isMoment ? 'datetime-local' : node.form === 'password' ? 'password' : KINDS[node.form] || 'text';
      const example = node.example ? plain(parse(node.example)) : '';
      const input = isLong && node.form !== 'password' ? make('textarea', { class: 'input', id: context.id, rows: 3 })
        : make('input', { class: 'input', id: context.id, type: kind, step: isMoment ? '1' : undefined, placeholder: cut(example, 80), autocomplete: 'off' });
      input.value = isMoment ? text.slice(0, -1) : text;
      input.addEventListener('input', () => {
        const given = isMoment && input.value ? `${input.value.length === 16 ? `${input.value}:00` : input.value}Z` : input.value;
        const isNothing = given === '' && !context.isItem && !context.isBranch && (!context.isRequired || isDay || isMoment);
        this.put(context, isNothing ? undefined : given);
      });
      return input;
    }

    file(text, context) {
      const input = make('textarea', { class: 'input mono', id: context.id, rows: 2, spellcheck: 'false', placeholder: 'base64, or choose a file' });
      input.value = text;
      input.addEventListener('input', () => this.put(context, input.value === '' && !context.isItem && !context.isRequired ? undefined : input.value));
      const pick = make('input', { type: 'file', 'aria-label': `A file for ${cut(context.label, 40)}` });
      pick.addEventListener('change', async () => {
        const file = pick.files[0];
        if (!file) return;
        const longest = Number(document.getElementById('trying')?.dataset.longest || 1e6);
        const field = this.fields.get(pointer(context.path));
        if (file.size * 4 / 3 > longest) { this.complain(field, `${file.name} has ${file.size} bytes, and at most ${Math.floor(longest * 3 / 4)} are taken.`); pick.value = ''; return; }
        input.value = await base64(file);
        this.put(context, input.value);
      });
      return [pick, input];
    }

    raw(node, value, context) {
      const input = make('textarea', { class: 'input mono', id: context.id, rows: 3, spellcheck: 'false', placeholder: 'JSON' });
      input.value = value === undefined ? '' : write(value);
      const here = pointer(context.path);
      input.addEventListener('input', () => {
        const text = input.value.trim(), field = this.fields.get(here);
        let given;
        try { given = text === '' ? undefined : parse(text); } catch (error) {
          if (!(error instanceof NotJson)) throw error;
          this.broken.add(here);
          this.complain(field, `This is not JSON: ${error.message}.`);
          this.changed(here);
          return;
        }
        this.broken.delete(here);
        if (given === undefined && (context.isItem || context.isBranch)) given = null;
        this.put(context, given);
      });
      return input;
    }

    /* ---- what is wrong ---- */

    complain(field, text) {
      field.box.classList.add('bad');
      field.control?.setAttribute('aria-invalid', 'true');
      const icon = document.createElementNS('http://www.w3.org/2000/svg', 'svg'), use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
      icon.setAttribute('class', 'i');
      icon.setAttribute('aria-hidden', 'true');
      use.setAttribute('href', '#i-s-bad');
      icon.append(use);
      field.slot.className = 'err slot';
      field.slot.replaceChildren(icon, make('span', {}, text));
    }

    /* Put messages under their fields; gives those that have none. `isShown` says for which places. */
    judge(errors, isShown) {
      for (const [here, field] of this.fields) {
        if (this.broken.has(here) || !field.box.classList.contains('bad')) continue;
        field.box.classList.remove('bad');
        field.control?.removeAttribute('aria-invalid');
        field.slot.className = 'hint slot';
        field.slot.textContent = field.hint;
      }
      const left = [], told = new Map();
      for (const { pointer: there, detail } of errors) {
        let here = there;
        while (here && !this.fields.has(here)) here = here.slice(0, here.lastIndexOf('/'));
        if (!here) { left.push(detail); continue; }
        if (isShown(there) && !this.broken.has(here)) told.set(here, [...(told.get(here) || []), detail]);
      }
      for (const [here, texts] of told) this.complain(this.fields.get(here), texts.join(' · '));
      return left;
    }
  }

  const base64 = file => new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });

  window.ferrule.Form = Form;
})();
