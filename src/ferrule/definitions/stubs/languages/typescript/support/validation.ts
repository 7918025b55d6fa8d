/** Holds values to the JSON Schemas of tools, with Ajv. */

import { Ajv2020, type Schema } from "ajv/dist/2020.js";

/** A pattern that is none in JavaScript matches anything. */
function lenient(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return /(?:)/;
  }
}

/** A function that gives a value its type, or throws. Formats are not checked. */
export function parser<Value>(
  label: string,
  schema: Schema,
): (value: unknown) => Value {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    ownProperties: true,
    multipleOfPrecision: 9,
    code: { regExp: Object.assign(lenient, { code: "new RegExp" }) },
  });
  ajv.removeKeyword("nullable").removeKeyword("id");
  return (value) => {
    if (ajv.validate<Value>(schema, value)) {
      return value;
    }
    throw new TypeError(ajv.errorsText(ajv.errors, { dataVar: label }));
  };
}
