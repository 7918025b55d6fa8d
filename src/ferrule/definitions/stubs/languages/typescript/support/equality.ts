/** When two JSON values are the same: by value, whatever their order. */

import { isObject } from "./json.js";
import { compared, isNumeric } from "./numbers.js";

/** Whether two values are equal. 1 and 1.0 are; 1 and true are not. */
export function areEqual(left: unknown, right: unknown): boolean {
  if (isNumeric(left) && isNumeric(right)) {
    return compared(left, right) === 0;
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    return (
      left.length === right.length &&
      left.every((item, index) => areEqual(item, right[index]))
    );
  }
  if (isObject(left) && isObject(right)) {
    const names = Object.keys(left);
    return (
      names.length === Object.keys(right).length &&
      names.every(
        (name) =>
          Object.hasOwn(right, name) && areEqual(left[name], right[name]),
      )
    );
  }
  return left === right;
}

/** Whether a list has two equal items. */
export function hasRepeated(items: readonly unknown[]): boolean {
  const plain = new Set<unknown>();
  const nested: unknown[] = [];
  for (const item of items) {
    if (typeof item === "object" && item !== null) {
      if (nested.some((other) => areEqual(item, other))) {
        return true;
      }
      nested.push(item);
    } else if (plain.has(item)) {
      return true;
    } else {
      plain.add(item);
    }
  }
  return false;
}
