//! JSON Schemas: what a document says, where its references lead, and whether a value fits.
//!
//! Draft 2020-12, and older drafts where `$schema` or the spelling says so. `format` is not
//! checked. The keywords themselves are in `keywords.rs`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

use super::finite;
use super::json;
use super::keywords::{Checker, Scope, Trail};
use super::pattern::Pattern;
use super::reading;
use super::resources::{Resources, Target};

/// Why a value is not what it must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Where, as a JSON pointer into the value: `/items/0/name`, or empty for the whole of it.
    pub place: String,
    /// What was expected there.
    pub message: String,
}

impl Mismatch {
    /// A mismatch of the whole value.
    pub fn new(message: impl Into<String>) -> Self {
        Mismatch {
            place: String::new(),
            message: message.into(),
        }
    }

    /// Of a text as `Display` writes it: what serde carries of a mismatch is its text.
    pub fn told(text: String) -> Self {
        let parts = text.split_once(": ").filter(|_| text.starts_with('/'));
        match parts.map(|(place, message)| (place.to_string(), message.to_string())) {
            Some((place, message)) => Mismatch { place, message },
            None => Mismatch::new(text),
        }
    }

    /// The same, seen from the value around it.
    pub fn under(mut self, step: &str) -> Self {
        let step = step.replace('~', "~0").replace('/', "~1");
        self.place = format!("/{}{}", step, self.place);
        self
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(to, "{}", self.message),
            place => write!(to, "{}: {}", place, self.message),
        }
    }
}

impl std::error::Error for Mismatch {}

/// A schema in the program's text, read when it is first used.
pub struct Document {
    text: &'static str,
    schema: Mutex<Option<Arc<Schema>>>,
}

impl Document {
    /// The schema of a JSON text.
    pub const fn new(text: &'static str) -> Self {
        Document {
            text,
            schema: Mutex::new(None),
        }
    }

    /// The schema as it is written.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// The same on one line. Texts in JSON have no line ends of their own.
    pub fn line(&self) -> String {
        self.text.lines().map(str::trim_start).collect()
    }

    /// Whether the schema says that it is one of objects.
    pub fn is_of_objects(&self) -> bool {
        self.schema().resources.root.get("type") == Some(&Value::from("object"))
    }

    /// The schema, ready to check values.
    pub fn schema(&self) -> Arc<Schema> {
        let mut kept = self
            .schema
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.get_or_insert_with(|| Arc::new(Schema::read(self.text)))
            .clone()
    }

    /// A typed value of a JSON text that fits the schema.
    pub fn decode<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, Mismatch> {
        self.typed(json::parse(text)?)
    }

    /// A typed value of a JSON value that fits the schema.
    pub fn typed<T: DeserializeOwned>(&self, value: Value) -> Result<T, Mismatch> {
        self.schema().check(&value)?;
        reading::typed(value)
    }

    /// The JSON value of a typed one, if it fits the schema.
    pub fn value<T: Serialize>(&self, typed: &T) -> Result<Value, Mismatch> {
        let value = plain(typed)?;
        self.schema().check(&value)?;
        Ok(value)
    }

    /// The JSON text of a typed value, if it fits the schema.
    pub fn encode<T: Serialize>(&self, typed: &T) -> Result<Vec<u8>, Mismatch> {
        self.value(typed)?;
        serde_json::to_vec(typed).map_err(|error| Mismatch::new(error.to_string()))
    }

    /// Whether a value fits the schema.
    pub fn takes(&self, value: &Value) -> bool {
        self.schema().check(value).is_ok()
    }

    /// Whether a value fits the part of the schema at a pointer.
    pub fn accepts(&self, pointer: &str, value: &Value) -> bool {
        self.schema().accepts(pointer, value)
    }
}

/// The JSON value of a typed one, whatever a schema says of it.
pub fn plain<T: Serialize>(typed: &T) -> Result<Value, Mismatch> {
    finite::check(typed)?;
    serde_json::to_value(typed).map_err(|error| Mismatch::new(error.to_string()))
}

/// A schema that has been read, with its patterns compiled.
pub struct Schema {
    resources: Resources,
    patterns: HashMap<String, Option<Pattern>>,
    fault: Option<Mismatch>,
}

impl Schema {
    /// The schema of a JSON text. Where it cannot be read, every value is refused with the reason.
    pub fn read(text: &str) -> Self {
        match json::parse_schema(text.as_bytes()) {
            Ok(root) => Schema::new(root),
            Err(mismatch) => Schema {
                fault: Some(Mismatch::new(format!(
                    "the schema cannot be read: {}",
                    mismatch
                ))),
                ..Schema::new(Value::Bool(false))
            },
        }
    }

    /// The schema of a JSON value.
    pub fn new(root: Value) -> Self {
        let mut texts = Vec::new();
        note_patterns(&root, &mut texts);
        let compiled = |text: String| (text.clone(), Pattern::new(&text).ok());
        Schema {
            patterns: texts.into_iter().map(compiled).collect(),
            resources: Resources::new(root),
            fault: None,
        }
    }

    /// Whether a value fits, and if not, why.
    pub fn check(&self, value: &Value) -> Result<(), Mismatch> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => self.check_part(&self.resources.root, value, self.resources.home()),
        }
    }

    /// Whether a value fits the part at a pointer.
    pub fn accepts(&self, pointer: &str, value: &Value) -> bool {
        match self.resources.target(pointer, self.resources.home()) {
            Target::Here(part, base) => self.check_part(part, value, base).is_ok(),
            _ => false,
        }
    }

    fn check_part(&self, part: &Value, value: &Value, base: &str) -> Result<(), Mismatch> {
        let trail = Trail::default();
        Checker::new(self, &trail).check(part, value, Scope::new(base))
    }

    /// What its references mean.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// The compiled form of a pattern; nothing where it is one that this program cannot read.
    pub fn pattern(&self, text: &str) -> Option<&Pattern> {
        self.patterns.get(text).and_then(Option::as_ref)
    }
}

/// Finds all patterns, also where only a reference makes a schema of what has them.
fn note_patterns(part: &Value, found: &mut Vec<String>) {
    match part {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("pattern", Value::String(text)) => found.push(text.clone()),
                    ("patternProperties", Value::Object(named)) => {
                        found.extend(named.keys().cloned());
                    }
                    _ => {}
                }
                note_patterns(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| note_patterns(item, found)),
        _ => {}
    }
}
