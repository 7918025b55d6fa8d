/**
 * Regular expressions as trees. What one character may be is left as it is
 * written, for `RegExp` to say; only what stands around it is read here.
 */

/** A part of a regular expression. */
export type Part =
  | { readonly kind: "one"; readonly source: string }
  | { readonly kind: "start" | "end" }
  | { readonly kind: "boundary"; readonly isNegated: boolean }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Part[] }
  | {
      readonly kind: "repeat";
      readonly part: Part;
      readonly least: number;
      readonly most: number;
    };

const DEEPEST = 200;
const QUANTIFIER = /(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y;
const UNICODE_ESCAPE =
  /\\(?:u\{[^}]*\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|[pP]\{[^}]*\}|x[\da-fA-F]{2}|c[a-zA-Z]|[^])/uy;
const LEGACY_ESCAPE = /\\(?:u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[a-zA-Z]|[^c])/y;

/** There is something that no tree says: what looks around or back. */
class UnsaidError extends Error {}

/** The tree of an expression; null where it looks around or refers back. */
export function treeOf(expression: RegExp): Part | null {
  try {
    return new Reader(expression.source, expression.unicode).whole();
  } catch (error) {
    if (error instanceof UnsaidError) {
      return null;
    }
    throw error;
  }
}

/** Reads what `RegExp` has read before, and so is well formed. */
class Reader {
  readonly #text: string;
  readonly #isUnicode: boolean;
  #at = 0;
  #depth = 0;

  constructor(text: string, isUnicode: boolean) {
    this.#text = text;
    this.#isUnicode = isUnicode;
  }

  whole(): Part {
    const found = this.#choice();
    if (this.#at < this.#text.length) {
      throw new UnsaidError();
    }
    return found;
  }

  #choice(): Part {
    const parts = [this.#sequence()];
    while (this.#takes("|")) {
      parts.push(this.#sequence());
    }
    const [only, other] = parts;
    return only !== undefined && other === undefined
      ? only
      : { kind: "choice", parts };
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#text.length && !/[|)]/.test(this.#next())) {
      parts.push(this.#quantified(this.#term()));
    }
    return { kind: "sequence", parts };
  }

  #quantified(part: Part): Part {
    const [sign, low, comma, high] = this.#match(QUANTIFIER) ?? [];
    if (sign === undefined) {
      return part;
    }
    const open = high === undefined || high === "" ? Infinity : Number(high);
    if (low !== undefined) {
      const least = Number(low);
      const most = comma === undefined ? least : open;
      return { kind: "repeat", part, least, most };
    }
    const least = sign.startsWith("+") ? 1 : 0;
    const most = sign.startsWith("?") ? 1 : Infinity;
    return { kind: "repeat", part, least, most };
  }

  #term(): Part {
    switch (this.#next()) {
      case "^":
        this.#at += 1;
        return { kind: "start" };
      case "$":
        this.#at += 1;
        return { kind: "end" };
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case "\\":
        return this.#escape();
      default:
        return this.#one(this.#next().length);
    }
  }

  #group(): Part {
    const opening = this.#match(/\((?:\?:|\?<[^=!>][^>]*>|(?!\?))/y);
    this.#depth += 1;
    if (opening === null || this.#depth > DEEPEST) {
      throw new UnsaidError();
    }
    const found = this.#choice();
    if (!this.#takes(")")) {
      throw new UnsaidError();
    }
    this.#depth -= 1;
    return found;
  }

  #class(): Part {
    let end = this.#at + 1;
    while (end < this.#text.length && this.#text[end] !== "]") {
      end += this.#text[end] === "\\" ? 2 : 1;
    }
    return this.#one(end + 1 - this.#at);
  }

  #escape(): Part {
    const after = this.#text.slice(this.#at + 1, this.#at + 3);
    if (/^b/i.test(after)) {
      this.#at += 2;
      return { kind: "boundary", isNegated: after.startsWith("B") };
    }
    const escape = this.#isUnicode ? UNICODE_ESCAPE : LEGACY_ESCAPE;
    escape.lastIndex = this.#at;
    const found = escape.exec(this.#text)?.[0];
    const isReference = /^(?:[1-9k]|0\d)/.test(after);
    if (found === undefined || isReference) {
      throw new UnsaidError();
    }
    return this.#one(found.length);
  }

  #one(length: number): Part {
    const source = this.#text.slice(this.#at, this.#at + length);
    this.#at += length;
    return { kind: "one", source };
  }

  /** The character that comes next, as the expression sees characters. */
  #next(): string {
    const code = this.#isUnicode
      ? this.#text.codePointAt(this.#at)
      : this.#text.charCodeAt(this.#at);
    return String.fromCodePoint(code ?? 0);
  }

  #takes(text: string): boolean {
    const isThere = this.#text.startsWith(text, this.#at);
    this.#at += isThere ? text.length : 0;
    return isThere;
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#text);
    this.#at += found?.[0].length ?? 0;
    return found;
  }
}
