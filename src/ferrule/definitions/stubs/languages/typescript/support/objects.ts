/** What a schema says of objects. */

import { issue, limitOf, listOf, type Check, type Here } from "./checker.js";
import type { Issue } from "./checker.js";
import type { SchemaObject } from "./document.js";
import { isObject, type ExactJson } from "./json.js";
import { matches } from "./patterns.js";
import { counted } from "./scalars.js";

type Members = { [name: string]: unknown };

/** The first thing wrong with an object; null where nothing is. */
export function checkObject(
  check: Check,
  schema: SchemaObject,
  here: Here,
): Issue | null {
  const { value } = here;
  if (!isObject(value)) {
    return null;
  }
  return (
    checkSize(schema, here, Object.keys(value).length) ??
    checkRequired(listOf(schema["required"]), here, value) ??
    checkNames(check, schema, here, value) ??
    checkMembers(check, schema, here, value) ??
    checkDependent(check, schema, here, value)
  );
}

function checkSize(
  schema: SchemaObject,
  here: Here,
  size: number,
): Issue | null {
  const most = limitOf(schema, "maxProperties");
  const least = limitOf(schema, "minProperties");
  if (most !== undefined && size > most) {
    return issue(here, `must have at most ${counted(most, "member")}`);
  }
  return least !== undefined && size < least
    ? issue(here, `must have at least ${counted(least, "member")}`)
    : null;
}

function checkRequired(
  names: ExactJson[],
  here: Here,
  value: Members,
): Issue | null {
  for (const name of names) {
    if (typeof name === "string" && !Object.hasOwn(value, name)) {
      return issue(here, `the member ${JSON.stringify(name)} is missing`);
    }
  }
  return null;
}

function checkNames(
  check: Check,
  schema: SchemaObject,
  here: Here,
  value: Members,
): Issue | null {
  if (!("propertyNames" in schema) || check.document.draft < 6) {
    return null;
  }
  for (const name of Object.keys(value)) {
    const found = check.inside(schema["propertyNames"], here, name, name);
    if (found !== null) {
      return { ...found, message: `its name ${found.message}` };
    }
  }
  return null;
}

function checkMembers(
  check: Check,
  schema: SchemaObject,
  here: Here,
  value: Members,
): Issue | null {
  for (const [name, item] of Object.entries(value)) {
    const parts = schemasOf(schema, name);
    for (const part of parts) {
      const found = check.inside(part, here, name, item);
      if (found !== null) {
        return part === false
          ? { ...found, message: "this member is not allowed" }
          : found;
      }
    }
    if (parts.length > 0) {
      here.seen.names.add(name);
    }
  }
  return null;
}

/** Every schema that a member has to fit. */
function schemasOf(schema: SchemaObject, name: string): ExactJson[] {
  const parts: ExactJson[] = [];
  const named = schema["properties"];
  if (isObject(named) && Object.hasOwn(named, name)) {
    parts.push(named[name] ?? true);
  }
  const matched = schema["patternProperties"];
  if (isObject(matched)) {
    for (const [pattern, part] of Object.entries(matched)) {
      if (matches(pattern, name)) {
        parts.push(part);
      }
    }
  }
  const others = schema["additionalProperties"];
  return parts.length === 0 && others !== undefined ? [others] : parts;
}

function checkDependent(
  check: Check,
  schema: SchemaObject,
  here: Here,
  value: Members,
): Issue | null {
  const isRecent = check.document.draft >= 2019;
  const keywords = ["dependencies"];
  if (isRecent) {
    keywords.push("dependentRequired", "dependentSchemas");
  }
  for (const keyword of keywords) {
    const dependent = schema[keyword];
    for (const [name, needed] of Object.entries(
      isObject(dependent) ? dependent : {},
    )) {
      const found = !Object.hasOwn(value, name)
        ? null
        : Array.isArray(needed)
          ? checkRequired(needed, here, value)
          : check.at(needed, here);
      if (found !== null) {
        return found;
      }
    }
  }
  return null;
}
