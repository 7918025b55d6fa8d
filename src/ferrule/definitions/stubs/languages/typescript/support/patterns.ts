/**
 * The patterns of schemas: regular expressions of ECMA-262, not anchored. No
 * text takes them long, apart from those that look around or refer back, which
 * are left to `RegExp`.
 */

import { machineOf, type Matcher } from "./patternMachine.js";

const KEPT = 1000;
const known = new Map<string, Matcher>();

/** A pattern that cannot be read. */
export class PatternError extends Error {
  override readonly name: string = "PatternError";
}

/** Whether a pattern is found in a text. */
export function matches(pattern: string, text: string): boolean {
  let matcher = known.get(pattern);
  if (matcher === undefined) {
    const expression = compiled(pattern);
    matcher = machineOf(expression) ?? expression;
    if (known.size >= KEPT) {
      known.clear();
    }
    known.set(pattern, matcher);
  }
  return matcher.test(text);
}

function compiled(pattern: string): RegExp {
  const [, given = "", body = pattern] =
    /^\(\?([ims]+)\)([^]*)$/.exec(pattern) ?? [];
  const found =
    attempt(body, `${given}u`) ??
    attempt(plainer(body), `${given}u`) ??
    attempt(plainer(body), given);
  if (found === null) {
    throw new PatternError(`the pattern ${JSON.stringify(pattern)} is unclear`);
  }
  return found;
}

function attempt(pattern: string, flags: string): RegExp | null {
  try {
    return new RegExp(pattern, [...new Set(flags)].join(""));
  } catch {
    return null;
  }
}

/** With other spellings of anchors, and no escapes that mean nothing. */
function plainer(pattern: string): string {
  return pattern.replace(/\\([^])/g, (whole, one: string) => {
    switch (one) {
      case "A":
        return "^";
      case "Z":
      case "z":
        return "$";
      case "-":
        return "\\x2d";
      default:
        return /[\s"#%&',:;<=>@_`~!]/.test(one) ? one : whole;
    }
  });
}
