//! What a call gave: the answer of the server as a result, and its value as a typed one.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::{CallError, Pending};
use super::json;
use super::reading;
use super::schema::{Document, Mismatch};

/// The result of a call, or why there is none.
pub fn ended(status: u16, answer: &Value) -> Result<Value, CallError> {
    if answer["is_pending"] == true {
        let text = |name: &str| answer[name].as_str().map(str::to_string);
        return Err(CallError::Pending(Pending {
            invocation_id: text("invocation_id").unwrap_or_default(),
            state: text("state").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            expires_at: text("expires_at"),
        }));
    }
    if status >= 300 || answer["result"]["is_error"] == true {
        return Err(CallError::told(status, answer));
    }
    match answer.get("result").filter(|result| result.is_object()) {
        Some(result) => Ok(result.clone()),
        None => Err(CallError::Answer(Mismatch::new(
            "the call ended without a result",
        ))),
    }
}

/// The typed value of a result.
pub fn typed<O: DeserializeOwned>(
    result: &Value,
    output: Option<&Document>,
) -> Result<O, CallError> {
    let value = value_of(result, output);
    match output {
        Some(schema) => Ok(schema.typed(value)?),
        None => Ok(reading::typed(value)?),
    }
}

/// The value of a result: what it has besides texts for people, nothing where the tool gave
/// nothing, or else its text.
fn value_of(result: &Value, output: Option<&Document>) -> Value {
    let structured = &result["structured_content"];
    if !structured.is_null() {
        return structured.clone();
    }
    let parts = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    if matches!(parts, [only] if only["empty"] == true) {
        return Value::Null;
    }
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    meant(texts.join("\n"), output)
}

/// A text, or where the schema takes no such text, the value that it is as JSON.
fn meant(text: String, output: Option<&Document>) -> Value {
    let parsed = output.and_then(|_| json::parse(text.as_bytes()).ok());
    let text = Value::String(text);
    match (output, parsed) {
        (Some(schema), Some(parsed)) if !schema.takes(&text) && schema.takes(&parsed) => parsed,
        _ => text,
    }
}
