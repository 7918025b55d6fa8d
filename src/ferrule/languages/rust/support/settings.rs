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

fn resolved(text: String) -> String {
    let named = match text.strip_prefix('$') {
        Some(rest) => rest
            .strip_prefix('{')
            .map_or(Some(rest), |rest| rest.strip_suffix('}')),
        None => None,
    };
    let (name, otherwise) = match named {
        Some(named) => named.split_once(":-").unwrap_or((named, "")),
        None => return text,
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_name) {
        return text;
    }
    std::env::var(name).unwrap_or_else(|_| otherwise.to_string())
}
