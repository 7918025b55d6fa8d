//! Settings of the agent, with what the environment says in place of `$NAME` and `${NAME}`.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json;
use super::reading;
use super::schema::Mismatch;

/// Settings of a JSON text. A variable that is not set is an empty text.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Mismatch> {
    let value = with_environment(json::parse(text.as_bytes())?);
    reading::typed(value)
}

fn with_environment(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(resolved(text)),
        Value::Array(items) => items.into_iter().map(with_environment).collect(),
        Value::Object(members) => {
            let each = |(name, value)| (name, with_environment(value));
            members.into_iter().map(each).collect()
        }
        other => other,
    }
}

/// A text with what the environment says in place of `${NAME}` and `${NAME:-default}`, or of `$NAME` where it is all of it.
fn resolved(text: String) -> String {
    if let Some(name) = text.strip_prefix('$').filter(|name| is_name(name)) {
        return variable(name, "");
    }
    let mut made = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        let inside = &rest[start + 2..start + length];
        let (name, otherwise) = inside
            .split_once(":-")
            .or_else(|| inside.split_once('-'))
            .unwrap_or((inside, ""));
        made.push_str(&rest[..start]);
        if is_name(name) {
            made.push_str(&variable(name, otherwise));
        } else {
            made.push_str(&rest[start..=start + length]);
        }
        rest = &rest[start + length + 1..];
    }
    made + rest
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_part)
}

fn variable(name: &str, otherwise: &str) -> String {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => value,
        _ => otherwise.to_string(),
    }
}
