/**
 * Exact arithmetic for the numbers of values and of schemas: a number means
 * the shortest decimal that gives it, which is what is written for it.
 */

/** A number of a value or of a schema. Those too large to hold are `bigint`. */
export type Numeric = number | bigint;

/** No number has more digits than about 300. */
const MOST_DIGITS = 1000;
const BEYOND = 10n ** BigInt(MOST_DIGITS);

export function isNumeric(value: unknown): value is Numeric {
  return typeof value === "number" || typeof value === "bigint";
}

/** Whether a number has no fraction: `2.0` is an integer. */
export function isInteger(value: Numeric): boolean {
  return typeof value === "bigint" || Number.isInteger(value);
}

/** Below zero, zero or above, as the left is less, the same or more. */
export function compared(left: Numeric, right: Numeric): number {
  const [one, other] =
    typeof left === typeof right ? [left, right] : [exact(left), exact(right)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function exact(value: Numeric): Numeric {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
    ? decimal(value).digits
    : value;
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

/** A number as it is written, without the zeros that say nothing. */
interface Spelled {
  readonly sign: string;
  readonly digits: string;
  /** How many zeros follow the digits; below zero there is a fraction. */
  readonly exponent: number;
}

/**
 * The integer that a number of a JSON text is, where a number cannot hold it;
 * else null. Of one that is far beyond all numbers, only that is told.
 */
export function unheldInteger(token: string): bigint | null {
  const value = Number(token);
  if (Number.isSafeInteger(value) && /^-?\d+$/.test(token)) {
    return null;
  }
  const said = spelled(token);
  if (said.exponent < 0 && Number.isFinite(value)) {
    return null;
  }
  if (isSame(said, spelled(String(value)))) {
    return null;
  }
  if (said.digits.length + said.exponent > MOST_DIGITS || said.exponent < 0) {
    return said.sign === "-" ? -BEYOND : BEYOND;
  }
  return BigInt(said.sign + said.digits + "0".repeat(said.exponent));
}

function spelled(token: string): Spelled {
  const [mantissa = "", power = "0"] = token.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const written = (whole + fraction).replace(/^0+/, "");
  const digits = withoutZeros(written);
  const zeros = written.length - digits.length;
  const exponent = Number(power) - fraction.length + zeros;
  return {
    sign: mantissa.startsWith("-") && digits !== "" ? "-" : "",
    digits,
    exponent: digits === "" ? 0 : exponent,
  };
}

function withoutZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) {
    end -= 1;
  }
  return digits.slice(0, end);
}

function isSame(left: Spelled, right: Spelled): boolean {
  return (
    left.sign === right.sign &&
    left.digits === right.digits &&
    left.exponent === right.exponent
  );
}
