/**
 * JSON as text and as values. Texts are read exactly: an integer that a number
 * cannot hold is a `bigint` until a schema has seen it. Where the schema asks
 * for an integer it is refused, with its place; anywhere else it becomes the
 * nearest number.
 */

import { unheldInteger } from "./numbers.js";

/** A value that JSON can say. */
export type Json =
  null | boolean | number | string | Json[] | { [name: string]: Json };

/** As {@link Json}, with integers that a number cannot hold as `bigint`. */
export type ExactJson =
  | null
  | boolean
  | number
  | bigint
  | string
  | ExactJson[]
  | { [name: string]: ExactJson };

/** What a text said. */
export interface ReadJson {
  readonly value: ExactJson;
  /** Whether there is any `bigint` in it. */
  readonly hasBigints: boolean;
}

/** A text that is no JSON, or a value that JSON cannot say. */
export class JsonError extends Error {
  override readonly name: string = "JsonError";
}

/** The value of a JSON text. Large integers become the nearest number. */
export function parseJson(source: string | Uint8Array): unknown {
  return numbered(readJson(source));
}

/** The value of a JSON text, exactly. */
export function parseExactJson(source: string | Uint8Array): ExactJson {
  return readJson(source).value;
}

/** What a JSON text says, exactly. */
export function readJson(source: string | Uint8Array): ReadJson {
  const text = typeof source === "string" ? source : decodeUtf8(source);
  const value = parsed(text);
  const found = unheldIn(text);
  return found.length === 0
    ? { value, hasBigints: false }
    : { value: parsedWithBigints(text, found, value), hasBigints: true };
}

/** What was read, with the nearest number for each `bigint`. */
export function numbered({ value, hasBigints }: ReadJson): unknown {
  return hasBigints ? numberedAt(value, "") : value;
}

function numberedAt(value: ExactJson, place: string): unknown {
  if (typeof value === "bigint") {
    return nearest(value, place);
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => numberedAt(item, `${place}/${index}`));
  }
  if (!isObject(value)) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      numberedAt(item, `${place}/${pointerPart(name)}`),
    ]),
  );
}

function nearest(value: bigint, place: string): number {
  const found = Number(value);
  if (!Number.isFinite(found)) {
    const where = place === "" ? "" : ` at ${place}`;
    throw new JsonError(`the number${where} is too large to hold`);
  }
  return found;
}

/** A name as a part of a JSON pointer. */
export function pointerPart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The JSON text of a value. Members that are `undefined` are left out. */
export function encodeJson(value: unknown): string {
  const text: string | undefined = JSON.stringify(value, refuseUnsayable);
  if (text === undefined) {
    throw new JsonError("undefined is no JSON value");
  }
  return text;
}

/** The JSON text of a value that was read exactly. */
export function encodeExactJson(value: ExactJson): string {
  if (typeof value === "bigint") {
    return String(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(encodeExactJson).join(",")}]`;
  }
  if (!isObject(value)) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}:${encodeExactJson(item)}`,
  );
  return `{${members.join(",")}}`;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      bytes,
    );
  } catch {
    throw new JsonError("the text is not UTF-8");
  }
}

type Reviver = (name: string, item: ExactJson) => ExactJson;

function parsed(text: string, reviver?: Reviver): ExactJson {
  try {
    return JSON.parse(text, reviver) as ExactJson;
  } catch (error) {
    throw new JsonError(
      `the text is not JSON: ${error instanceof Error ? error.message : "?"}`,
    );
  }
}

/** A number of a text that JavaScript would change. */
interface Unheld {
  readonly start: number;
  readonly end: number;
  readonly value: bigint;
}

/** Up to 15 digits are always held, unless the exponent is large. */
const MAY_BE_UNHELD = /[\d.]{16}|\d[eE]\+?\d{3}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The integers of a valid JSON text that no number can hold. */
function unheldIn(text: string): Unheld[] {
  const found: Unheld[] = [];
  if (!MAY_BE_UNHELD.test(text)) {
    return found;
  }
  let at = 0;
  while (at < text.length) {
    const one = text.charCodeAt(at);
    if (one === 0x22) {
      at = endOfString(text, at);
    } else if (one === 0x2d || (one >= 0x30 && one <= 0x39)) {
      NUMBER.lastIndex = at;
      const token = NUMBER.exec(text)?.[0] ?? "-";
      const value = unheldInteger(token);
      if (value !== null) {
        found.push({ start: at, end: at + token.length, value });
      }
      at += token.length;
    } else {
      at += 1;
    }
  }
  return found;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== 0x22) {
    at += text.charCodeAt(at) === 0x5c ? 2 : 1;
  }
  return at + 1;
}

/** Large integers travel through the parser as texts that nobody else has. */
function parsedWithBigints(
  text: string,
  found: Unheld[],
  rounded: ExactJson,
): ExactJson {
  const others = JSON.stringify(rounded);
  let mark = "bigint:";
  while (others.includes(mark)) {
    mark += ":";
  }
  let marked = "";
  let from = 0;
  for (const { start, end, value } of found) {
    marked += `${text.slice(from, start)}"${mark}${value}"`;
    from = end;
  }
  return parsed(marked + text.slice(from), (_name, item) =>
    typeof item === "string" && item.startsWith(mark)
      ? BigInt(item.slice(mark.length))
      : item,
  );
}

function refuseUnsayable(this: unknown, name: string, item: unknown): unknown {
  const isUnsayable =
    typeof item === "function" ||
    typeof item === "symbol" ||
    typeof item === "bigint" ||
    (typeof item === "number" && !Number.isFinite(item)) ||
    (item === undefined && Array.isArray(this)) ||
    item instanceof Map ||
    item instanceof Set ||
    item instanceof Promise;
  if (isUnsayable) {
    const place = name === "" ? "" : ` (at ${JSON.stringify(name)})`;
    throw new JsonError(`${described(item)} is no JSON value${place}`);
  }
  return item;
}

function described(item: unknown): string {
  return typeof item === "object" && item !== null
    ? item.constructor.name
    : shortened(String(item));
}

function shortened(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}
