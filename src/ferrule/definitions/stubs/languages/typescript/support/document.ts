/**
 * A schema as a document: its draft, and where its references lead. What is not
 * in the document is never fetched: a reference out of it takes any value.
 */

import { isObject, type ExactJson } from "./json.js";

/** An object of a schema document. */
export type SchemaObject = { [name: string]: ExactJson };

/** A schema that cannot be used. */
export class BrokenSchemaError extends Error {
  override readonly name: string = "BrokenSchemaError";
}

const HOME = "schema://document/";
const HOLD_ONE = [
  "additionalItems",
  "additionalProperties",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
];
const HOLD_LISTS = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
const HOLD_NAMED = [
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
];

/** A schema with what its references mean. */
export class SchemaDocument {
  readonly root: ExactJson;
  /** 4, 6, 7, 2019 or 2020. */
  readonly draft: number;
  /** Whether any of it asks for what others left unevaluated. */
  readonly hasUnevaluated: boolean;
  readonly #resources = new Map<string, ExactJson>();
  readonly #anchors = new Map<string, ExactJson>();
  readonly #bases = new Map<SchemaObject, string>();
  readonly #targets = new Map<string, ExactJson>();

  constructor(root: ExactJson) {
    this.root = root;
    this.draft = draftOf(root);
    this.#resources.set(HOME, root);
    this.hasUnevaluated = isObject(root) && this.#index(root, HOME);
  }

  /** The schema that a reference of `from` leads to. */
  target(from: SchemaObject, reference: string): ExactJson {
    const base = this.#bases.get(from) ?? HOME;
    const key = `${base} ${reference}`;
    let found = this.#targets.get(key);
    if (found === undefined) {
      found = this.#resolved(base, reference);
      this.#targets.set(key, found);
    }
    return found;
  }

  #resolved(base: string, reference: string): ExactJson {
    const [address, fragment] = split(joined(reference, base));
    const resource = this.#resources.get(address);
    if (resource === undefined) {
      return true;
    }
    const found =
      fragment === "" || fragment.startsWith("/")
        ? at(resource, fragment)
        : this.#anchors.get(`${address}#${fragment}`);
    if (found === undefined) {
      throw new BrokenSchemaError(`the schema has no ${reference}`);
    }
    return found;
  }

  /** Notes where everything is; tells whether something is `unevaluated…`. */
  #index(node: SchemaObject, base: string): boolean {
    const here = this.#baseOf(node, base);
    this.#bases.set(node, here);
    this.#noteAnchors(node, here);
    let found = "unevaluatedProperties" in node || "unevaluatedItems" in node;
    for (const part of partsOf(node)) {
      found = this.#index(part, here) || found;
    }
    return found;
  }

  #baseOf(node: SchemaObject, base: string): string {
    const id = node[this.draft === 4 ? "id" : "$id"];
    if (typeof id !== "string" || (this.draft <= 7 && "$ref" in node)) {
      return base;
    }
    const [address, fragment] = split(joined(id, base));
    if (fragment !== "") {
      this.#anchors.set(`${address}#${fragment}`, node);
    }
    if (!id.startsWith("#")) {
      this.#resources.set(address, node);
    }
    return address;
  }

  #noteAnchors(node: SchemaObject, base: string): void {
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const anchor = node[keyword];
      if (typeof anchor === "string") {
        this.#anchors.set(`${base}#${anchor}`, node);
      }
    }
  }
}

/** A reference as an address and what follows its `#`. */
function split(address: string): [string, string] {
  const mark = address.indexOf("#");
  return mark < 0
    ? [address, ""]
    : [address.slice(0, mark), decoded(address.slice(mark + 1))];
}

function joined(reference: string, base: string): string {
  if (reference.startsWith("#")) {
    return base + reference;
  }
  try {
    return new URL(reference, base).href;
  } catch {
    return reference;
  }
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** What a JSON pointer leads to. */
function at(root: ExactJson, pointer: string): ExactJson | undefined {
  let node: ExactJson | undefined = root;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof node !== "object" || node === null) {
      return undefined;
    }
    node = Object.hasOwn(node, name) ? (node as SchemaObject)[name] : undefined;
  }
  return node;
}

function draftOf(root: ExactJson): number {
  const said = isObject(root) ? root["$schema"] : undefined;
  if (typeof said === "string") {
    const [, old, recent] = /draft-0?([467])|(2019)-09/.exec(said) ?? [];
    return Number(old ?? recent ?? 2020);
  }
  return isObject(root) && hasListOfItems(root) ? 7 : 2020;
}

/** Until 2019 `items` could be a list. */
function hasListOfItems(node: SchemaObject): boolean {
  return Array.isArray(node["items"]) || partsOf(node).some(hasListOfItems);
}

/** The schemas right inside a schema, apart from booleans. */
function partsOf(node: SchemaObject): SchemaObject[] {
  const parts: unknown[] = HOLD_ONE.map((keyword) => node[keyword]);
  for (const keyword of HOLD_LISTS) {
    const list = node[keyword];
    parts.push(...(Array.isArray(list) ? list : []));
  }
  for (const keyword of HOLD_NAMED) {
    const named = node[keyword];
    parts.push(...(isObject(named) ? Object.values(named) : []));
  }
  return parts.filter((part) => isObject(part)) as SchemaObject[];
}
