/** The settings of an agent file, with what the environment says. */

import { environment } from "./host.js";
import { isObject, parseExactJson } from "./json.js";

const WHOLE = /^\$([A-Za-z_][A-Za-z0-9_]*)$/;
const INSIDE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}/g;

/**
 * Reads settings. `$NAME`, `${NAME}` and `${NAME:-default}` in their texts are
 * environment variables; one that is not set is told, and empty. An integer
 * that a number cannot hold is a `bigint`.
 */
export function readSettings(
  text: string,
  onMissing: (variable: string) => void,
): unknown {
  const variable = (name: string, fallback: string | undefined): string => {
    const value = environment(name);
    if (value === "" && fallback === undefined) {
      onMissing(name);
    }
    return value === "" ? (fallback ?? "") : value;
  };
  return filled(parseExactJson(text), variable);
}

type Variable = (name: string, fallback: string | undefined) => string;

function filled(value: unknown, variable: Variable): unknown {
  if (typeof value === "string") {
    return filledText(value, variable);
  }
  if (Array.isArray(value)) {
    return value.map((item) => filled(item, variable));
  }
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        filled(item, variable),
      ]),
    );
  }
  return value;
}

function filledText(text: string, variable: Variable): string {
  const whole = WHOLE.exec(text)?.[1];
  if (whole !== undefined) {
    return variable(whole, undefined);
  }
  return text.replace(INSIDE, (_all, name: string, fallback?: string) =>
    variable(name, fallback),
  );
}
