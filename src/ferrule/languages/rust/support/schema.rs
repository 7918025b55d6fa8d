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

use super::json;
use super::keywords::{Checker, Followed, Scope};
use super::pattern::Pattern;

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
        serde_json::from_value(value).map_err(|error| Mismatch::new(error.to_string()))
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

    /// Whether a value fits the part of the schema at a pointer.
    pub fn accepts(&self, pointer: &str, value: &Value) -> bool {
        self.schema().accepts(pointer, value)
    }
}

/// The JSON value of a typed one, whatever a schema says of it.
pub fn plain<T: Serialize>(typed: &T) -> Result<Value, Mismatch> {
    serde_json::to_value(typed).map_err(|error| Mismatch::new(error.to_string()))
}

/// A schema that has been read: its patterns compiled and its anchors found.
pub struct Schema {
    root: Value,
    draft: u32,
    patterns: HashMap<String, Option<Pattern>>,
    anchors: HashMap<String, String>,
}

impl Schema {
    /// The schema of a JSON text. Nothing fits one that cannot be read.
    pub fn read(text: &str) -> Self {
        Schema::new(json::parse(text.as_bytes()).unwrap_or(Value::Bool(false)))
    }

    /// The schema of a JSON value.
    pub fn new(root: Value) -> Self {
        let mut found = Found::default();
        found.look(&root, "");
        let said = root.get("$schema").and_then(Value::as_str).unwrap_or("");
        let draft = match said {
            "" if found.has_listed_items => 7,
            said => draft_of(said),
        };
        let patterns = found.patterns.into_iter().map(|text| {
            let pattern = Pattern::new(&text).ok();
            (text, pattern)
        });
        Schema {
            draft,
            patterns: patterns.collect(),
            anchors: found.anchors,
            root,
        }
    }

    /// Whether a value fits, and if not, why.
    pub fn check(&self, value: &Value) -> Result<(), Mismatch> {
        self.check_part(&self.root, value, &self.root)
    }

    /// Whether a value fits the part at a pointer.
    pub fn accepts(&self, pointer: &str, value: &Value) -> bool {
        let found = self.target(pointer, &self.root);
        found.map_or(false, |(part, base)| {
            self.check_part(part, value, base).is_ok()
        })
    }

    fn check_part(&self, part: &Value, value: &Value, base: &Value) -> Result<(), Mismatch> {
        let followed = Followed::default();
        Checker::new(self, self.draft, &followed).check(part, value, Scope::new(base))
    }

    /// The compiled form of a pattern; nothing where it is one that this program cannot read.
    pub fn pattern(&self, text: &str) -> Option<&Pattern> {
        self.patterns.get(text).and_then(Option::as_ref)
    }

    /// What a reference leads to, and the resource that it stands in.
    pub fn target<'s>(
        &'s self,
        reference: &str,
        base: &'s Value,
    ) -> Option<(&'s Value, &'s Value)> {
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = match resource {
            "" => base,
            _ if is_called(&self.root, resource) => &self.root,
            _ => descend(&self.root, self.anchors.get(resource)?, &self.root)?.0,
        };
        if fragment.is_empty() {
            return Some((base, base));
        }
        if !fragment.starts_with('/') {
            let pointer = self.anchors.get(&format!("#{}", decoded(fragment)))?;
            return descend(&self.root, pointer, &self.root);
        }
        descend(base, fragment, base).or_else(|| descend(base, &decoded(fragment), base))
    }
}

/// Whether a schema bears a name, in full or by its last part.
fn is_called(schema: &Value, name: &str) -> bool {
    let id = schema
        .get("$id")
        .or_else(|| schema.get("id"))
        .and_then(Value::as_str);
    id.map_or(false, |id| {
        id.trim_end_matches('#') == name || id.ends_with(&format!("/{}", name))
    })
}

fn draft_of(said: &str) -> u32 {
    match said {
        _ if said.contains("draft-04") => 4,
        _ if said.contains("draft-06") => 6,
        _ if said.contains("draft-07") => 7,
        _ if said.contains("2019-09") => 2019,
        _ => 2020,
    }
}

/// The part of a value at a pointer, with the nearest resource around it.
fn descend<'v>(from: &'v Value, pointer: &str, base: &'v Value) -> Option<(&'v Value, &'v Value)> {
    let (mut part, mut base) = (from, base);
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        part = match part {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
            _ => part.get(&name)?,
        };
        if is_resource(part) {
            base = part;
        }
    }
    Some((part, base))
}

/// Whether a schema begins a resource of its own, which references inside it are relative to.
pub fn is_resource(schema: &Value) -> bool {
    let id = schema.get("$id").and_then(Value::as_str);
    id.map_or(false, |id| !id.starts_with('#'))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = text.get(text.len() - after.len()..text.len() - after.len() + 2);
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What has to be known of a schema before values are checked.
#[derive(Default)]
struct Found {
    patterns: Vec<String>,
    anchors: HashMap<String, String>,
    has_listed_items: bool,
}

impl Found {
    fn look(&mut self, part: &Value, pointer: &str) {
        match part {
            Value::Object(members) => {
                for (name, value) in members {
                    self.note(name, value, pointer);
                    let step = name.replace('~', "~0").replace('/', "~1");
                    self.look(value, &format!("{}/{}", pointer, step));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look(item, &format!("{}/{}", pointer, index));
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, name: &str, value: &Value, pointer: &str) {
        match (name, value) {
            ("pattern", Value::String(text)) => self.patterns.push(text.clone()),
            ("patternProperties", Value::Object(members)) => {
                self.patterns.extend(members.keys().cloned());
            }
            ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                self.anchors
                    .insert(format!("#{}", anchor), pointer.to_string());
            }
            ("$id" | "id", Value::String(id)) => {
                self.anchors.insert(id.clone(), pointer.to_string());
                let last = id.rsplit('/').next().unwrap_or(id);
                self.anchors
                    .entry(last.to_string())
                    .or_insert_with(|| pointer.to_string());
            }
            ("items", Value::Array(_)) if !pointer.ends_with("/properties") => {
                self.has_listed_items = true;
            }
            _ => {}
        }
    }
}
