/**
 * JSON as text and as values. What a JavaScript number cannot hold is refused,
 * never rounded.
 */

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

/** A text that is no JSON, or a value that JSON cannot say. */
export class JsonError extends Error {
  override readonly name: string = "JsonError";
}

/** The value of a JSON text. Integers beyond 2^53 - 1 are refused. */
export function parseJson(source: string | Uint8Array): unknown {
  const text = typeof source === "string" ? source : decodeUtf8(source);
  const value = parsed(text);
  const found = spansOfUnheld(text)[0];
  if (found !== undefined) {
    const token = text.slice(found.start, found.end);
    throw new JsonError(`the number ${shortened(token)} is too large to hold`);
  }
  return value;
}

/** The value of a JSON text, with large integers as `bigint`: for schemas. */
export function parseExactJson(text: string): ExactJson {
  const value = parsed(text) as ExactJson;
  const spans = spansOfUnheld(text);
  return spans.length === 0 ? value : parsedWithBigints(text, spans);
}

/** The JSON text of a value. Members that are `undefined` are left out. */
export function encodeJson(value: unknown): string {
  const text: string | undefined = JSON.stringify(value, refuseUnsayable);
  if (text === undefined) {
    throw new JsonError("undefined is no JSON value");
  }
  return text;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the text has a number that would be rounded when it is parsed. */
export function hasUnheldNumber(text: string): boolean {
  return spansOfUnheld(text).length > 0;
}

interface Span {
  start: number;
  end: number;
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new JsonError(
      `the text is not JSON: ${error instanceof Error ? error.message : "?"}`,
    );
  }
}

const MAY_BE_UNHELD = /\d{16}|\d[eE]\+?\d{3}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Where a valid JSON text has numbers that JavaScript would change. */
function spansOfUnheld(text: string): Span[] {
  const spans: Span[] = [];
  if (!MAY_BE_UNHELD.test(text)) {
    return spans;
  }
  let at = 0;
  while (at < text.length) {
    const one = text.charCodeAt(at);
    if (one === 0x22) {
      at = endOfString(text, at);
    } else if (one === 0x2d || (one >= 0x30 && one <= 0x39)) {
      NUMBER.lastIndex = at;
      const token = NUMBER.exec(text)?.[0] ?? "-";
      if (!isHeld(token)) {
        spans.push({ start: at, end: at + token.length });
      }
      at += token.length;
    } else {
      at += 1;
    }
  }
  return spans;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== 0x22) {
    at += text.charCodeAt(at) === 0x5c ? 2 : 1;
  }
  return at + 1;
}

function isHeld(token: string): boolean {
  const value = Number(token);
  return /^-?\d+$/.test(token)
    ? Number.isSafeInteger(value)
    : Number.isFinite(value);
}

/** Large integers travel through the parser as texts that nobody else has. */
function parsedWithBigints(text: string, spans: Span[]): ExactJson {
  let mark = "bigint:";
  while (text.includes(mark)) {
    mark += ":";
  }
  let marked = "";
  let from = 0;
  for (const { start, end } of spans) {
    const token = text.slice(start, end);
    const isInteger = /^-?\d+$/.test(token);
    marked += text.slice(from, start);
    marked += isInteger ? `"${mark}${token}"` : token;
    from = end;
  }
  return JSON.parse(marked + text.slice(from), (_name, item: ExactJson) =>
    typeof item === "string" && item.startsWith(mark)
      ? BigInt(item.slice(mark.length))
      : item,
  ) as ExactJson;
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
