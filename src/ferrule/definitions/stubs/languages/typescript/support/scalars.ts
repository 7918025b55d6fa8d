/** What a schema says of types, of single values, of numbers and of texts. */

import { issue, limitOf, type Here, type Issue } from "./checker.js";
import type { SchemaObject } from "./document.js";
import { areEqual } from "./equality.js";
import { encodeExactJson, isObject, type ExactJson } from "./json.js";
import {
  compared,
  isInteger,
  isMultiple,
  isNumeric,
  type Numeric,
} from "./numbers.js";
import { matches } from "./patterns.js";

const SHOWN = 10;

export function checkType(schema: SchemaObject, here: Here): Issue | null {
  const said = schema["type"];
  if (said === undefined) {
    return null;
  }
  const types = Array.isArray(said) ? said : [said];
  if (!types.some((type) => isOfType(here.value, type))) {
    return issue(here, `must be ${types.join(" or ")}`);
  }
  return types.includes("number") ? null : checkHeld(here);
}

function isOfType(value: unknown, type: ExactJson): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "integer":
      return isNumeric(value) && isInteger(value);
    case "number":
      return isNumeric(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return typeof value === type;
  }
}

/** An integer that is asked for by its value is not rounded. */
function checkHeld(here: Here): Issue | null {
  const { value } = here;
  return typeof value === "bigint"
    ? issue(here, `the integer ${shown(value)} is too large to hold exactly`)
    : null;
}

export function checkValues(schema: SchemaObject, here: Here): Issue | null {
  const { value } = here;
  const isOne = "const" in schema;
  if (isOne && !areEqual(schema["const"], value)) {
    return issue(here, `must be ${shown(schema["const"] ?? null)}`);
  }
  const choices = schema["enum"];
  const isChosen = Array.isArray(choices);
  if (isChosen && !choices.some((choice) => areEqual(choice, value))) {
    return issue(here, oneOfValues(choices));
  }
  return isOne || isChosen ? checkHeld(here) : null;
}

/** That a value must be one of some. Of many, the first are shown. */
export function oneOfValues(values: readonly ExactJson[]): string {
  const listed = values.slice(0, SHOWN).map(shown).join(", ");
  const more = values.length - SHOWN;
  const words = values.length === 1 ? "must be" : "must be one of";
  return `${words} ${listed}${more > 0 ? ` and ${more} more` : ""}`;
}

function shown(value: ExactJson): string {
  const text = encodeExactJson(value);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}

/** So many of something: `1 item`, `2 items`. */
export function counted(count: Numeric, thing: string): string {
  return `${count} ${thing}${compared(count, 1) === 0 ? "" : "s"}`;
}

export function checkNumber(schema: SchemaObject, here: Here): Issue | null {
  const { value } = here;
  if (!isNumeric(value)) {
    return null;
  }
  const minimum = limitOf(schema, "minimum");
  const maximum = limitOf(schema, "maximum");
  const above =
    schema["exclusiveMinimum"] === true
      ? minimum
      : limitOf(schema, "exclusiveMinimum");
  const below =
    schema["exclusiveMaximum"] === true
      ? maximum
      : limitOf(schema, "exclusiveMaximum");
  if (minimum !== undefined && compared(value, minimum) < 0) {
    return issue(here, `must be at least ${minimum}`);
  }
  if (maximum !== undefined && compared(value, maximum) > 0) {
    return issue(here, `must be at most ${maximum}`);
  }
  if (above !== undefined && compared(value, above) <= 0) {
    return issue(here, `must be more than ${above}`);
  }
  if (below !== undefined && compared(value, below) >= 0) {
    return issue(here, `must be less than ${below}`);
  }
  const step = limitOf(schema, "multipleOf");
  return step !== undefined && !isMultiple(value, step)
    ? issue(here, `must be a multiple of ${step}`)
    : null;
}

export function checkString(schema: SchemaObject, here: Here): Issue | null {
  const { value } = here;
  if (typeof value !== "string") {
    return null;
  }
  const most = limitOf(schema, "maxLength");
  const least = limitOf(schema, "minLength");
  if (most !== undefined || least !== undefined) {
    const length = [...value].length;
    if (most !== undefined && length > most) {
      return issue(here, `must have at most ${counted(most, "character")}`);
    }
    if (least !== undefined && length < least) {
      return issue(here, `must have at least ${counted(least, "character")}`);
    }
  }
  const pattern = schema["pattern"];
  return typeof pattern === "string" && !matches(pattern, value)
    ? issue(here, `must match ${pattern}`)
    : null;
}
