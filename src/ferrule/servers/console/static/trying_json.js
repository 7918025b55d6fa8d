/* JSON as it is typed: numbers keep their digits, objects are Maps (so that no name of a member means anything to JavaScript),
   and a mistake has its line. */
'use strict';
(() => {
  const DEEPEST = 100;

  /* A number, as it was written. */
  class Num {
    constructor(text) { this.text = text; }
  }
  const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
  const isNumber = text => { NUMBER.lastIndex = 0; const found = NUMBER.exec(text); return Boolean(found) && found[0].length === text.length; };
  const WORDS = [['true', true], ['false', false], ['null', null]];
  const ESCAPES = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

  class NotJson extends Error {}

  class Reader {
    constructor(text) { this.text = text; this.at = 0; }
    fail(why) {
      const before = this.text.slice(0, this.at), line = before.split('\n').length;
      throw new NotJson(`line ${line}, column ${this.at - before.lastIndexOf('\n')}: ${why}`);
    }
    space() { while (this.at < this.text.length && ' \t\n\r'.includes(this.text[this.at])) this.at += 1; }
    all() {
      const value = this.value(0);
      this.space();
      if (this.at < this.text.length) this.fail('unexpected text after the end');
      return value;
    }
    value(depth) {
      if (depth > DEEPEST) this.fail(`nested more than ${DEEPEST} levels deep`);
      this.space();
      const letter = this.text[this.at];
      if (letter === undefined) this.fail('unexpected end');
      if (letter === '{') return this.object(depth);
      if (letter === '[') return this.array(depth);
      if (letter === '"') return this.string();
      for (const [word, value] of WORDS) if (this.text.startsWith(word, this.at)) { this.at += word.length; return value; }
      NUMBER.lastIndex = this.at;
      const found = NUMBER.exec(this.text);
      if (!found) this.fail(`expected a value before ${JSON.stringify(letter)}`);
      this.at += found[0].length;
      return new Num(found[0]);
    }
    object(depth) {
      const found = new Map();
      this.at += 1;
      this.space();
      if (this.text[this.at] === '}') { this.at += 1; return found; }
      for (;;) {
        this.space();
        if (this.text[this.at] !== '"') this.fail('expected a member name in double quotes');
        const name = this.string();
        this.space();
        if (this.text[this.at] !== ':') this.fail('expected a colon');
        this.at += 1;
        found.set(name, this.value(depth + 1));
        this.space();
        const letter = this.text[this.at];
        if (letter !== ',' && letter !== '}') this.fail('expected a comma or }');
        this.at += 1;
        if (letter === '}') return found;
      }
    }
    array(depth) {
      const found = [];
      this.at += 1;
      this.space();
      if (this.text[this.at] === ']') { this.at += 1; return found; }
      for (;;) {
        found.push(this.value(depth + 1));
        this.space();
        const letter = this.text[this.at];
        if (letter !== ',' && letter !== ']') this.fail('expected a comma or ]');
        this.at += 1;
        if (letter === ']') return found;
      }
    }
    string() {
      let found = '', from = this.at += 1;
      for (;;) {
        const letter = this.text[this.at];
        if (letter === undefined) this.fail('unterminated string');
        if (letter === '"') break;
        if (letter < ' ') this.fail('a line break or control character in a string needs a backslash');
        if (letter !== '\\') { this.at += 1; continue; }
        found += this.text.slice(from, this.at);
        const kind = this.text[this.at + 1];
        if (kind === 'u') {
          const digits = this.text.slice(this.at + 2, this.at + 6);
          if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.fail('\\u takes four digits');
          found += String.fromCharCode(parseInt(digits, 16));
          this.at += 6;
        } else {
          if (!Object.hasOwn(ESCAPES, kind ?? '')) this.fail('invalid escape after a backslash');
          found += ESCAPES[kind];
          this.at += 2;
        }
        from = this.at;
      }
      found += this.text.slice(from, this.at);
      this.at += 1;
      return found;
    }
  }

  /* The value of a text. Throws NotJson. */
  const parse = text => new Reader(text).all();

  /* A value as text, over several lines. */
  function write(value, indent = '') {
    const inner = `${indent}  `;
    if (value instanceof Num) return value.text;
    if (value instanceof Map) {
      if (!value.size) return '{}';
      return `{\n${[...value].map(([name, member]) => `${inner}${JSON.stringify(name)}: ${write(member, inner)}`).join(',\n')}\n${indent}}`;
    }
    if (Array.isArray(value)) return value.length ? `[\n${value.map(member => inner + write(member, inner)).join(',\n')}\n${indent}]` : '[]';
    return JSON.stringify(value);
  }

  function copied(value) {
    if (value instanceof Map) return new Map([...value].map(([name, member]) => [name, copied(member)]));
    return Array.isArray(value) ? value.map(copied) : value;
  }

  function same(a, b) {
    if (a instanceof Num && b instanceof Num) return a.text === b.text || Number(a.text) === Number(b.text);
    if (a instanceof Map && b instanceof Map) return a.size === b.size && [...a].every(([name, member]) => b.has(name) && same(member, b.get(name)));
    if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((member, at) => same(member, b[at]));
    return a === b;
  }

  window.ferrule.json = { Num, NotJson, isNumber, parse, write, copied, same };
})();
