/** Exact arithmetic for the bounds and the steps of a schema. */

/** A number of a value or of a schema. */
export type Numeric = number | bigint;

export function isNumeric(value: unknown): value is Numeric {
  return typeof value === "number" || typeof value === "bigint";
}

/** Whether a number has no fraction: `2.0` is an integer. */
export function isInteger(value: Numeric): boolean {
  return typeof value === "bigint" || Number.isInteger(value);
}

/** Whether a value is a whole number of steps, as decimals: 19.99 of 0.01. */
export function isMultiple(value: Numeric, step: Numeric): boolean {
  const left = decimal(value);
  const right = decimal(step);
  if (right.digits === 0n) {
    return true;
  }
  const places = Math.max(left.places, right.places);
  return scaled(left, places) % scaled(right, places) === 0n;
}

interface Decimal {
  digits: bigint;
  /** How many of them stand after the point. */
  places: number;
}

function decimal(value: Numeric): Decimal {
  if (typeof value === "bigint") {
    return { digits: value, places: 0 };
  }
  const [mantissa = "0", exponent = "0"] = String(value).split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  const places = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return places >= 0
    ? { digits, places }
    : { digits: digits * 10n ** BigInt(-places), places: 0 };
}

function scaled(of: Decimal, places: number): bigint {
  return of.digits * 10n ** BigInt(places - of.places);
}
