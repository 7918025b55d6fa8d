use serde::{de::DeserializeOwned, Deserialize, Deserializer};
use serde_json::Value;

/// Reads a member that is there: `null` is not the same as a member that is left out.
pub fn present<'a, D: Deserializer<'a>, T: Deserialize<'a>>(d: D) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}

/// Reads a value. To JSON Schema `2.0` is an integer.
pub fn read<T: DeserializeOwned>(mut value: Value) -> serde_json::Result<T> {
    make_whole(&mut value);
    serde_json::from_value(value)
}

fn make_whole(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(members) => members.values_mut().for_each(make_whole),
        Value::Number(number) if number.is_f64() => {
            let is_whole = |double: &f64| double.fract() == 0.0 && double.abs() < 9e15;
            if let Some(double) = number.as_f64().filter(is_whole) {
                *value = Value::from(double as i64);
            }
        }
        _ => {}
    }
}
