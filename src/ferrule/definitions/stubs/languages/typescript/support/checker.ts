/**
 * Checks values by JSON Schema: draft 2020-12 and the older spellings.
 * `format` is not checked. A value either fits, or there is an issue.
 */

import {
  BrokenSchemaError,
  type SchemaDocument,
  type SchemaObject,
} from "./document.js";
import { checkAnyOf, checkOneOf } from "./alternatives.js";
import { checkArray } from "./arrays.js";
import { isObject, pointerPart, type ExactJson } from "./json.js";
import { isNumeric, type Numeric } from "./numbers.js";
import { checkObject } from "./objects.js";
import { checkNumber, checkString, checkType, checkValues } from "./scalars.js";

/** Why a value does not fit. */
export interface Issue {
  /** A JSON pointer into the value; empty for the whole of it. */
  readonly place: string;
  /** What was expected there. */
  readonly message: string;
}

const DEEPEST = 500;

/** What of a value has been looked at: for the keywords `unevaluated…`. */
export class Seen {
  readonly names = new Set<string>();
  readonly indexes = new Set<number>();

  add(other: Seen): void {
    other.names.forEach((name) => this.names.add(name));
    other.indexes.forEach((index) => this.indexes.add(index));
  }
}

/** One value at one place. */
export interface Here {
  readonly value: unknown;
  readonly place: string;
  readonly depth: number;
  readonly seen: Seen;
  /** The references that were followed at this place. */
  readonly followed: readonly ExactJson[];
}

/** One run over one document. */
export class Check {
  readonly document: SchemaDocument;

  constructor(document: SchemaDocument) {
    this.document = document;
  }

  /** The first thing that is wrong with a value; null where nothing is. */
  run(value: unknown): Issue | null {
    const here = {
      value,
      place: "",
      depth: 0,
      seen: new Seen(),
      followed: [],
    };
    return this.at(this.document.root, here);
  }

  /** The same for a part of the schema. */
  at(schema: ExactJson | undefined, here: Here): Issue | null {
    if (typeof schema === "boolean" || schema === undefined) {
      return schema === false ? issue(here, "nothing is allowed here") : null;
    }
    if (!isObject(schema)) {
      throw new BrokenSchemaError("a schema is an object or a boolean");
    }
    if (here.depth > DEEPEST) {
      return issue(here, "is nested too deeply to be checked");
    }
    if (!this.document.hasUnevaluated) {
      return this.#applied(schema, { ...here, depth: here.depth + 1 });
    }
    // A schema knows what it and its parts looked at, not what others did.
    const seen = new Seen();
    const found = this.#applied(schema, {
      ...here,
      depth: here.depth + 1,
      seen,
    });
    if (found === null) {
      here.seen.add(seen);
    }
    return found;
  }

  /** A member or an item of a value, by its own schema. */
  inside(
    schema: ExactJson | undefined,
    here: Here,
    name: string | number,
    value: unknown,
  ): Issue | null {
    const place = `${here.place}/${pointerPart(String(name))}`;
    return this.at(schema, {
      value,
      place,
      depth: here.depth,
      seen: new Seen(),
      followed: [],
    });
  }

  #applied(schema: SchemaObject, here: Here): Issue | null {
    const reference = schema["$ref"];
    if (typeof reference === "string") {
      const found = this.#follow(schema, reference, here);
      if (found !== null || this.document.draft <= 7) {
        return found;
      }
    }
    return (
      this.#dynamic(schema, here) ??
      checkType(schema, here) ??
      checkValues(schema, here) ??
      checkNumber(schema, here) ??
      checkString(schema, here) ??
      checkArray(this, schema, here) ??
      checkObject(this, schema, here) ??
      this.#combined(schema, here) ??
      this.#unevaluated(schema, here)
    );
  }

  /** What a reference leads to. One that leads to itself asks nothing new. */
  #follow(schema: SchemaObject, reference: string, here: Here): Issue | null {
    const target = this.document.target(schema, reference);
    if (here.followed.includes(target)) {
      return null;
    }
    const followed = [...here.followed, target];
    return this.at(target, { ...here, followed });
  }

  #dynamic(schema: SchemaObject, here: Here): Issue | null {
    for (const keyword of ["$dynamicRef", "$recursiveRef"]) {
      const reference = schema[keyword];
      const isKnown = keyword === "$dynamicRef" || this.document.draft === 2019;
      if (typeof reference === "string" && isKnown) {
        const found = this.#follow(schema, reference, here);
        if (found !== null) {
          return found;
        }
      }
    }
    return null;
  }

  #combined(schema: SchemaObject, here: Here): Issue | null {
    for (const part of listOf(schema["allOf"])) {
      const found = this.at(part, here);
      if (found !== null) {
        return found;
      }
    }
    return (
      checkAnyOf(this, schema["anyOf"], here) ??
      checkOneOf(this, schema["oneOf"], here) ??
      this.#not(schema, here) ??
      this.#conditional(schema, here)
    );
  }

  #not(schema: SchemaObject, here: Here): Issue | null {
    if (!("not" in schema)) {
      return null;
    }
    const found = this.at(schema["not"], { ...here, seen: new Seen() });
    return found === null ? issue(here, "must not fit what is excluded") : null;
  }

  #conditional(schema: SchemaObject, here: Here): Issue | null {
    if (!("if" in schema) || this.document.draft < 7) {
      return null;
    }
    return this.at(schema["if"], here) === null
      ? this.at(schema["then"], here)
      : this.at(schema["else"], here);
  }

  #unevaluated(schema: SchemaObject, here: Here): Issue | null {
    if (!this.document.hasUnevaluated || this.document.draft < 2019) {
      return null;
    }
    const { value, seen } = here;
    if ("unevaluatedProperties" in schema && isObject(value)) {
      return this.#unseen(schema["unevaluatedProperties"], here, seen.names);
    }
    if ("unevaluatedItems" in schema && Array.isArray(value)) {
      return this.#unseen(schema["unevaluatedItems"], here, seen.indexes);
    }
    return null;
  }

  #unseen<Name extends string | number>(
    schema: ExactJson | undefined,
    here: Here,
    seen: Set<Name>,
  ): Issue | null {
    const isList = Array.isArray(here.value);
    for (const [key, item] of Object.entries(here.value as object)) {
      const name = (isList ? Number(key) : key) as Name;
      if (!seen.has(name)) {
        const found = this.inside(schema, here, name, item);
        if (found !== null) {
          return found;
        }
        seen.add(name);
      }
    }
    return null;
  }
}

export function issue(here: Here, message: string): Issue {
  return { place: here.place, message };
}

/** The items of a list; of anything else, none. */
export function listOf(value: ExactJson | undefined): ExactJson[] {
  return Array.isArray(value) ? value : [];
}

/** A number of a schema, where it is one. */
export function limitOf(
  schema: SchemaObject,
  keyword: string,
): Numeric | undefined {
  const limit = schema[keyword];
  return isNumeric(limit) ? limit : undefined;
}
