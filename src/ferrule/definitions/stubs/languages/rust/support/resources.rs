//! A JSON Schema as a document: its draft, the schemas in it, and where its references lead.
//!
//! Only what stands where a schema may stand is one: `items` in a default or an example is a
//! value. Nothing is ever fetched.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The address of a document that does not say its own.
const HOME: &str = "schema://document/";
const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LISTS: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
const NAMED: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// What a reference leads to.
pub enum Target<'s> {
    /// A schema of the document, with the address of the resource that it stands in.
    Here(&'s Value, &'s str),
    /// Another document.
    Elsewhere,
    /// A place that the document does not have.
    Nowhere,
}

/// A schema with what its references mean.
pub struct Resources {
    /// The schema.
    pub root: Value,
    /// 4, 6, 7, 2019 or 2020.
    pub draft: u32,
    places: HashMap<String, String>,
    anchors: HashMap<String, String>,
}

impl Resources {
    /// Of a document.
    pub fn new(root: Value) -> Self {
        let draft = draft_of(&root);
        let mut places = HashMap::new();
        let mut anchors = HashMap::new();
        places.insert(HOME.to_string(), String::new());
        let mut ahead = vec![(&root, String::new(), HOME.to_string())];
        while let Some((schema, pointer, mut base)) = ahead.pop() {
            let keywords = match schema {
                Value::Object(keywords) => keywords,
                _ => continue,
            };
            if let Some(said) = id_of(keywords, draft) {
                let joined = joined(&base, said);
                let (address, fragment) = split(&joined);
                if !fragment.is_empty() {
                    anchors.insert(
                        format!("{}#{}", address, decoded(fragment)),
                        pointer.clone(),
                    );
                }
                if !said.starts_with('#') {
                    places.insert(address.to_string(), pointer.clone());
                }
                base = address.to_string();
            }
            for name in ["$anchor", "$dynamicAnchor"] {
                if let Some(Value::String(anchor)) = keywords.get(name) {
                    anchors.insert(format!("{}#{}", base, anchor), pointer.clone());
                }
            }
            for (way, part) in inside(keywords) {
                ahead.push((part, format!("{}{}", pointer, way), base.clone()));
            }
        }
        Resources {
            root,
            draft,
            places,
            anchors,
        }
    }

    /// The address that references of the whole document are relative to.
    pub fn home(&self) -> &str {
        self.base_of(&self.root, HOME)
    }

    /// The address that references in a schema are relative to, by that of what is around it.
    pub fn base_of<'s>(&'s self, schema: &Value, around: &'s str) -> &'s str {
        let keywords = schema.as_object();
        let said = keywords.and_then(|keywords| id_of(keywords, self.draft));
        let known = said.and_then(|said| {
            let joined = joined(around, said);
            self.places.get_key_value(split(&joined).0)
        });
        known.map_or(around, |(address, _)| address)
    }

    /// What a reference leads to from a resource.
    pub fn target<'s>(&'s self, reference: &str, base: &str) -> Target<'s> {
        let joined = joined(base, reference);
        let (address, fragment) = split(&joined);
        let (address, place) = match self.places.get_key_value(address) {
            Some((address, place)) => (address.as_str(), place.as_str()),
            None => return Target::Elsewhere,
        };
        let plain = decoded(fragment);
        let found = if plain.is_empty() || plain.starts_with('/') {
            let resource = self.below(&self.root, place, HOME);
            resource.and_then(|(part, _)| {
                self.below(part, &plain, address)
                    .or_else(|| self.below(part, fragment, address))
            })
        } else {
            let place = self.anchors.get(&format!("{}#{}", address, plain));
            place.and_then(|place| self.below(&self.root, place, HOME))
        };
        found.map_or(Target::Nowhere, |(part, base)| Target::Here(part, base))
    }

    /// The part at a pointer, with the address of the nearest resource around it.
    fn below<'s>(
        &'s self,
        from: &'s Value,
        pointer: &str,
        base: &'s str,
    ) -> Option<(&'s Value, &'s str)> {
        let (mut part, mut base) = (from, base);
        for step in pointer.split('/').skip(1) {
            let name = step.replace("~1", "/").replace("~0", "~");
            base = self.base_of(part, base);
            part = match part {
                Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
                _ => part.get(&name)?,
            };
        }
        Some((part, base))
    }
}

fn draft_of(root: &Value) -> u32 {
    match root.get("$schema").and_then(Value::as_str) {
        Some(said) if said.contains("draft-04") => 4,
        Some(said) if said.contains("draft-06") => 6,
        Some(said) if said.contains("draft-07") => 7,
        Some(said) if said.contains("2019-09") => 2019,
        None if has_listed_items(root) => 7,
        _ => 2020,
    }
}

/// Whether a schema has lists of items as they were written until 2019.
fn has_listed_items(root: &Value) -> bool {
    let mut ahead = vec![root];
    while let Some(schema) = ahead.pop() {
        if let Value::Object(keywords) = schema {
            if matches!(keywords.get("items"), Some(Value::Array(_))) {
                return true;
            }
            ahead.extend(inside(keywords).into_iter().map(|(_, part)| part));
        }
    }
    false
}

/// What a schema calls itself, if it does.
fn id_of(keywords: &Map<String, Value>, draft: u32) -> Option<&str> {
    let name = if draft == 4 { "id" } else { "$id" };
    let said = keywords.get(name).and_then(Value::as_str);
    said.filter(|_| draft > 7 || !keywords.contains_key("$ref"))
}

/// The schemas right inside a schema, each with the way to it.
fn inside(keywords: &Map<String, Value>) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for name in ONE {
        if let Some(part) = keywords.get(name) {
            found.push((format!("/{}", name), part));
        }
    }
    for name in LISTS {
        let parts = keywords.get(name).and_then(Value::as_array);
        for (index, part) in parts.into_iter().flatten().enumerate() {
            found.push((format!("/{}/{}", name, index), part));
        }
    }
    for name in NAMED {
        let parts = keywords.get(name).and_then(Value::as_object);
        for (key, part) in parts.into_iter().flatten() {
            let key = key.replace('~', "~0").replace('/', "~1");
            found.push((format!("/{}/{}", name, key), part));
        }
    }
    found
}

fn split(address: &str) -> (&str, &str) {
    address.split_once('#').unwrap_or((address, ""))
}

/// A reference as seen from an address, the way addresses of the web are joined.
fn joined(base: &str, reference: &str) -> String {
    if reference.is_empty() || reference.starts_with('#') {
        return format!("{}{}", base, reference);
    }
    let (scheme, rest) = match base.split_once("://") {
        Some(parts) if !has_scheme(reference) => parts,
        _ => return reference.to_string(),
    };
    if reference.starts_with("//") {
        return format!("{}:{}", scheme, reference);
    }
    let (asked, fragment) = split(reference);
    let hash = if reference.contains('#') { "#" } else { "" };
    let rest = rest.split('?').next().unwrap_or(rest);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let folder = match path.rfind('/') {
        Some(end) if !asked.starts_with('/') => &path[..=end],
        None if !asked.starts_with('/') => "/",
        _ => "",
    };
    let path = without_dots(&format!("{}{}", folder, asked));
    format!("{}://{}{}{}{}", scheme, host, path, hash, fragment)
}

fn has_scheme(reference: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    reference.split_once(':').map_or(false, |(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(is_part)
    })
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "." => {}
            ".." if kept.len() > 1 => drop(kept.pop()),
            ".." => {}
            step => kept.push(step),
        }
    }
    kept.join("/")
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
