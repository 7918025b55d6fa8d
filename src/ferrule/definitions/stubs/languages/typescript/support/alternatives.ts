/**
 * What a schema says with `anyOf` and `oneOf`. If none of the alternatives
 * fits, the one that was meant says why, where that can be told.
 */

import { issue, type Check, type Here, type Issue } from "./checker.js";
import type { SchemaObject } from "./document.js";
import { areEqual } from "./equality.js";
import { isObject, pointerPart, type ExactJson } from "./json.js";
import { isNumeric } from "./numbers.js";
import { oneOfValues } from "./scalars.js";

/** An alternative that does not fit. */
interface Failed {
  readonly part: ExactJson;
  readonly issue: Issue;
}

/** A member whose value tells which alternative is meant. */
interface Tag {
  readonly name: string;
  /** What it may be, for each of the alternatives. */
  readonly values: readonly (readonly ExactJson[])[];
}

export function checkAnyOf(
  check: Check,
  parts: ExactJson | undefined,
  here: Here,
): Issue | null {
  if (!Array.isArray(parts)) {
    return null;
  }
  const failed: Failed[] = [];
  for (const part of parts) {
    const found = check.at(part, here);
    if (found !== null) {
      failed.push({ part, issue: found });
    } else if (!check.document.hasUnevaluated) {
      // Where `unevaluated…` is used, each that fits says what it looked at.
      return null;
    }
  }
  return failed.length < parts.length ? null : why(check, failed, here);
}

export function checkOneOf(
  check: Check,
  parts: ExactJson | undefined,
  here: Here,
): Issue | null {
  if (!Array.isArray(parts)) {
    return null;
  }
  const failed: Failed[] = [];
  for (const part of parts) {
    const found = check.at(part, here);
    if (found !== null) {
      failed.push({ part, issue: found });
    }
  }
  const fitting = parts.length - failed.length;
  if (fitting > 1) {
    const words = `must fit one alternative only, and fits ${fitting}`;
    return issue(here, words);
  }
  return fitting === 1 ? null : why(check, failed, here);
}

/** Why a value fits none of the alternatives. */
function why(check: Check, failed: readonly Failed[], here: Here): Issue {
  const possible = failed.filter(({ part }) => mayHold(check, part, here));
  const left = possible.length > 0 ? possible : failed;
  const tag = left.length > 1 ? tagOf(check, left, here.value) : null;
  const meant = tag === null ? left : tagged(left, tag, here);
  if (tag !== null && meant.length === 0) {
    return mistagged(tag, here);
  }
  const [first, ...others] = meant.map((each) => each.issue);
  if (first !== undefined && others.every((each) => isSame(each, first))) {
    return first;
  }
  const words = `must fit one of ${failed.length} alternatives`;
  return issue(here, words + nearest(meant));
}

/** Which of the alternatives came furthest, if it is one. */
function nearest(among: readonly Failed[]): string {
  const depths = among.map((each) => each.issue.place.split("/").length);
  const most = Math.max(...depths);
  const [found, other] = among.filter((_each, index) => depths[index] === most);
  return found === undefined || other !== undefined
    ? ""
    : `; the nearest says ${found.issue.place}: ${found.issue.message}`;
}

function isSame(left: Issue, right: Issue): boolean {
  return left.place === right.place && left.message === right.message;
}

/** Whether the type of an alternative takes values of this kind. */
function mayHold(check: Check, part: ExactJson, here: Here): boolean {
  const schema = followed(check, part);
  const said = schema?.["type"];
  if (said === undefined) {
    return part !== false;
  }
  const kind = kindOf(here.value);
  return (Array.isArray(said) ? said : [said]).some(
    (type) => type === kind || (type === "integer" && kind === "number"),
  );
}

function kindOf(value: unknown): string {
  if (value === null) {
    return "null";
  }
  if (isNumeric(value)) {
    return "number";
  }
  return Array.isArray(value) ? "array" : typeof value;
}

/** The schema that references lead to, if they stay in the document. */
function followed(check: Check, part: ExactJson): SchemaObject | null {
  const passed: ExactJson[] = [];
  let found = part;
  while (isObject(found) && !passed.includes(found)) {
    const reference = found["$ref"];
    if (typeof reference !== "string") {
      return found;
    }
    passed.push(found);
    found = check.document.target(found, reference);
  }
  return null;
}

/** The tag of the alternatives. Of several, one that decides is taken. */
function tagOf(
  check: Check,
  among: readonly Failed[],
  value: unknown,
): Tag | null {
  if (!isObject(value)) {
    return null;
  }
  const members = followed(check, among[0]?.part ?? null)?.["properties"];
  const tags: Tag[] = [];
  for (const name of Object.keys(isObject(members) ? members : {})) {
    const values = among.map(({ part }) => tagValues(check, part, name));
    if (Object.hasOwn(value, name) && values.every((each) => each !== null)) {
      tags.push({ name, values: values as ExactJson[][] });
    }
  }
  const decides = ({ name, values }: Tag): boolean =>
    values.filter((each) => hasValue(each, value[name])).length === 1;
  return tags.find(decides) ?? tags[0] ?? null;
}

/** What a member may be; null where its schema does not list it. */
function tagValues(
  check: Check,
  part: ExactJson,
  name: string,
): readonly ExactJson[] | null {
  const members = followed(check, part)?.["properties"];
  if (!isObject(members) || !Object.hasOwn(members, name)) {
    return null;
  }
  const schema = followed(check, (members as SchemaObject)[name] ?? null);
  if (schema !== null && "const" in schema) {
    return [schema["const"] ?? null];
  }
  const choices = schema?.["enum"];
  return Array.isArray(choices) ? choices : null;
}

function hasValue(values: readonly ExactJson[], value: unknown): boolean {
  return values.some((each) => areEqual(each, value));
}

/** The alternatives whose tag the value has. */
function tagged(among: readonly Failed[], tag: Tag, here: Here): Failed[] {
  const value = isObject(here.value) ? here.value[tag.name] : undefined;
  return among.filter((_each, index) =>
    hasValue(tag.values[index] ?? [], value),
  );
}

function mistagged(tag: Tag, here: Here): Issue {
  const values: ExactJson[] = [];
  for (const each of tag.values.flat()) {
    if (!hasValue(values, each)) {
      values.push(each);
    }
  }
  return {
    place: `${here.place}/${pointerPart(tag.name)}`,
    message: oneOfValues(values),
  };
}
