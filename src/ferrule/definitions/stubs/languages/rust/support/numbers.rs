//! Numbers compared and divided without rounding, and values told apart as JSON Schema does:
//! `1` and `1.0` are the same, `true` and `1` are not.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The number as an integer, if it is one that 128 bits hold.
pub fn whole(number: &Number) -> Option<i128> {
    if let Some(value) = number.as_i64() {
        return Some(value.into());
    }
    if let Some(value) = number.as_u64() {
        return Some(value.into());
    }
    let value = number.as_f64()?;
    let is_held = value.fract() == 0.0 && value.abs() < 1e38;
    is_held.then_some(value as i128)
}

/// Whether the number has no fraction, however large it is.
pub fn is_whole(number: &Number) -> bool {
    whole(number).is_some() || number.as_f64().map_or(false, |value| value.fract() == 0.0)
}

/// Which of two numbers is the larger.
pub fn compared(left: &Number, right: &Number) -> Ordering {
    let (one, other) = (float(left), float(right));
    if let (Some(one), Some(other)) = (whole(left), whole(right)) {
        return one.cmp(&other);
    }
    // One of them has a fraction, so it is below 2^53 in size, or beyond every integer held.
    one.partial_cmp(&other).unwrap_or(Ordering::Equal)
}

/// Where a number stands beside a bound. The largest `f64` stands for every larger bound too, so
/// no number reaches it.
pub fn beside(number: &Number, bound: &Number) -> Ordering {
    match float(bound) {
        limit if limit >= f64::MAX => Ordering::Less,
        limit if limit <= f64::MIN => Ordering::Greater,
        _ => compared(number, bound),
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Whether a number is a multiple of another, as their decimal digits say: 19.99 is one of 0.01.
pub fn is_multiple(number: &Number, step: &Number) -> bool {
    let (value, divisor) = (decimal(number), decimal(step));
    let exponent = value.exponent.min(divisor.exponent);
    match (value.scaled(exponent), divisor.scaled(exponent)) {
        (_, Some(0)) => false,
        (Some(value), Some(divisor)) => value % divisor == 0,
        (None, Some(divisor)) if divisor < 1 << 64 => value.rest(exponent, divisor) == 0,
        _ => (float(number) / float(step)).fract() == 0.0,
    }
}

/// Digits and where their point is: `digits * 10^exponent`.
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    fn scaled(&self, exponent: i32) -> Option<i128> {
        let zeros = u32::try_from(self.exponent - exponent).ok()?;
        self.digits.checked_mul(10_i128.checked_pow(zeros)?)
    }

    /// What is left of it after division, where it is too large to be scaled.
    fn rest(&self, exponent: i32, divisor: i128) -> i128 {
        let zeros = self.exponent - exponent;
        (0..zeros).fold(self.digits % divisor, |rest, _| rest * 10 % divisor)
    }
}

fn decimal(number: &Number) -> Decimal {
    let text = number.to_string();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{}{}", whole, fraction).parse().unwrap_or(0);
    let exponent = exponent.parse::<i32>().unwrap_or(0) - fraction.len() as i32;
    Decimal { digits, exponent }
}

/// Whether two values are the same.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(one), Value::Number(other)) => compared(one, other) == Ordering::Equal,
        (Value::Array(ones), Value::Array(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(a, b)| same(a, b))
        }
        (Value::Object(ones), Value::Object(others)) => {
            let is_in = |(name, value)| others.get(name).map_or(false, |other| same(value, other));
            ones.len() == others.len() && ones.iter().all(is_in)
        }
        _ => left == right,
    }
}

/// A text that is the same for values that are the same, and for no others.
pub fn key(value: &Value) -> String {
    match value {
        Value::Number(number) => match whole(number) {
            Some(integer) => integer.to_string(),
            None => number.to_string(),
        },
        Value::Array(items) => {
            let keys: Vec<String> = items.iter().map(key).collect();
            format!("[{}]", keys.join(","))
        }
        Value::Object(members) => {
            let of = |(name, value): (&String, &Value)| format!("{:?}:{}", name, key(value));
            let mut keys: Vec<String> = members.iter().map(of).collect();
            keys.sort();
            format!("{{{}}}", keys.join(","))
        }
        Value::String(text) => format!("{:?}", text),
        Value::Bool(_) | Value::Null => value.to_string(),
    }
}
