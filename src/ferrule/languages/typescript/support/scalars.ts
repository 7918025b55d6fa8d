/** What a schema says of types, of single values, of numbers and of texts. */

import { issue, limitOf, type Here, type Issue } from "./checker.js";
import type { SchemaObject } from "./document.js";
import { areEqual } from "./equality.js";
import { isObject, type ExactJson } from "./json.js";
import { isInteger, isMultiple } from "./numbers.js";
import { matches } from "./patterns.js";

export function checkType(schema: SchemaObject, here: Here): Issue | null {
  const said = schema["type"];
  if (said === undefined) {
    return null;
  }
  const types = Array.isArray(said) ? said : [said];
  return types.some((type) => isOfType(here.value, type))
    ? null
    : issue(here, `must be ${types.join(" or ")}`);
}

function isOfType(value: unknown, type: ExactJson): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "integer":
      return typeof value === "number" && isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return typeof value === type;
  }
}

export function checkValues(schema: SchemaObject, here: Here): Issue | null {
  const { value } = here;
  if ("const" in schema && !areEqual(schema["const"], value)) {
    return issue(here, `must be ${shown(schema["const"])}`);
  }
  const choices = schema["enum"];
  if (
    Array.isArray(choices) &&
    !choices.some((choice) => areEqual(choice, value))
  ) {
    return issue(here, `must be one of ${choices.map(shown).join(", ")}`);
  }
  return null;
}

function shown(value: ExactJson | undefined): string {
  const text = JSON.stringify(value, (_name, item: unknown) =>
    typeof item === "bigint" ? String(item) : item,
  );
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}

export function checkNumber(schema: SchemaObject, here: Here): Issue | null {
  const { value } = here;
  if (typeof value !== "number") {
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
  if (minimum !== undefined && value < minimum) {
    return issue(here, `must be at least ${minimum}`);
  }
  if (maximum !== undefined && value > maximum) {
    return issue(here, `must be at most ${maximum}`);
  }
  if (above !== undefined && value <= above) {
    return issue(here, `must be more than ${above}`);
  }
  if (below !== undefined && value >= below) {
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
      return issue(here, `must have at most ${most} characters`);
    }
    if (least !== undefined && length < least) {
      return issue(here, `must have at least ${least} characters`);
    }
  }
  const pattern = schema["pattern"];
  return typeof pattern === "string" && !matches(pattern, value)
    ? issue(here, `must match ${pattern}`)
    : null;
}
