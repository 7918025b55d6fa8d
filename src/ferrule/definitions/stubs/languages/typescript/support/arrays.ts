/** What a schema says of arrays. */

import { issue, limitOf, listOf, type Check, type Here } from "./checker.js";
import type { Issue } from "./checker.js";
import type { SchemaObject } from "./document.js";
import { hasRepeated } from "./equality.js";
import type { ExactJson } from "./json.js";
import { counted } from "./scalars.js";

/** The first thing wrong with an array; null where nothing is. */
export function checkArray(
  check: Check,
  schema: SchemaObject,
  here: Here,
): Issue | null {
  const { value } = here;
  if (!Array.isArray(value)) {
    return null;
  }
  return (
    checkLength(schema, here, value) ??
    checkItems(check, schema, here, value) ??
    checkContains(check, schema, here, value)
  );
}

function checkLength(
  schema: SchemaObject,
  here: Here,
  value: unknown[],
): Issue | null {
  const most = limitOf(schema, "maxItems");
  const least = limitOf(schema, "minItems");
  if (most !== undefined && value.length > most) {
    return issue(here, `must have at most ${counted(most, "item")}`);
  }
  if (least !== undefined && value.length < least) {
    return issue(here, `must have at least ${counted(least, "item")}`);
  }
  return schema["uniqueItems"] === true && hasRepeated(value)
    ? issue(here, "must not have equal items")
    : null;
}

/** The schemas of the first items, and of those after them. */
function positions(
  schema: SchemaObject,
  draft: number,
): [ExactJson[], ExactJson | undefined] {
  const items = schema["items"];
  if (Array.isArray(items)) {
    return [items, schema["additionalItems"]];
  }
  return [draft >= 2020 ? listOf(schema["prefixItems"]) : [], items];
}

function checkItems(
  check: Check,
  schema: SchemaObject,
  here: Here,
  value: unknown[],
): Issue | null {
  const [first, rest] = positions(schema, check.document.draft);
  const end = rest === undefined ? first.length : value.length;
  for (let index = 0; index < Math.min(end, value.length); index += 1) {
    const part = index < first.length ? first[index] : rest;
    const found = check.inside(part, here, index, value[index]);
    if (found !== null) {
      return found;
    }
    here.seen.indexes.add(index);
  }
  return null;
}

function checkContains(
  check: Check,
  schema: SchemaObject,
  here: Here,
  value: unknown[],
): Issue | null {
  const { draft } = check.document;
  if (!("contains" in schema) || draft < 6) {
    return null;
  }
  let count = 0;
  value.forEach((item, index) => {
    if (check.inside(schema["contains"], here, index, item) === null) {
      count += 1;
      if (draft >= 2020) {
        here.seen.indexes.add(index);
      }
    }
  });
  const isRecent = draft >= 2019;
  const least = (isRecent ? limitOf(schema, "minContains") : undefined) ?? 1;
  const most = isRecent ? limitOf(schema, "maxContains") : undefined;
  if (count < least) {
    return issue(
      here,
      `must contain at least ${counted(least, "expected item")}`,
    );
  }
  return most !== undefined && count > most
    ? issue(here, `must contain at most ${counted(most, "expected item")}`)
    : null;
}
