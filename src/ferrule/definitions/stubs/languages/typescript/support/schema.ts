/** A JSON Schema that values are checked by. */

import { Check, type Issue } from "./checker.js";
import { SchemaDocument } from "./document.js";
import { encodeJson, numbered, parseExactJson, readJson } from "./json.js";

/** A value that its schema does not accept. */
export class SchemaError extends Error {
  override readonly name: string = "SchemaError";
  /** A JSON pointer into the value: `/items/0/name`. */
  readonly place: string;
  /** What was expected there. */
  readonly expected: string;

  constructor(issue: Issue, what: string) {
    super(`${what}${issue.place}: ${issue.message}`);
    this.place = issue.place;
    this.expected = issue.message;
  }
}

/** A schema, as text and ready to check. */
export class Schema {
  /** The schema itself, as JSON. */
  readonly text: string;
  readonly #what: string;
  #check: Check | null = null;

  constructor(text: string, what = "the value") {
    this.text = text;
    this.#what = what;
  }

  /** The first thing wrong with a value; null where it fits. */
  issue(value: unknown): Issue | null {
    this.#check ??= new Check(new SchemaDocument(parseExactJson(this.text)));
    return this.#check.run(value);
  }

  /** Throws a {@link SchemaError} unless the value fits. */
  check(value: unknown): void {
    const found = this.issue(value);
    if (found !== null) {
      throw new SchemaError(found, this.#what);
    }
  }

  /** The value of a JSON text that fits. */
  decode(source: string | Uint8Array): unknown {
    const read = readJson(source);
    this.check(read.value);
    return numbered(read);
  }

  /** The JSON text of a value that fits. */
  encode(value: unknown): string {
    const text = encodeJson(value);
    this.check(parseExactJson(text));
    return text;
  }

  /** The schema as a value, for `JSON.stringify`. */
  toJSON(): unknown {
    return JSON.parse(this.text) as unknown;
  }
}
