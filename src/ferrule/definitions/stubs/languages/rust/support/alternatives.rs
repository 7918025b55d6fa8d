//! What to say of a value that fits none of several alternatives (`anyOf`, `oneOf`): what the one
//! says that was meant, where it can be told.
//!
//! Alternatives for values of another kind were not meant. Of objects with a tag, a member whose
//! values tell them apart, the one was meant that has the value's tag.

use serde_json::Value;

use super::keywords::{listed, parts, Checker, Keywords, Scope};
use super::numbers;
use super::schema::Mismatch;

/// How many schemas of one alternative are looked at, where it refers to others.
const MOST: usize = 32;

/// Why a value does not fit any of these schemas.
pub fn mismatch<'s>(
    checker: Checker<'s>,
    schemas: &'s [Value],
    value: &Value,
    scope: Scope<'s>,
) -> Mismatch {
    let all = schemas
        .iter()
        .map(|schema| Alternative::new(checker, schema, scope));
    let (mut likely, others): (Vec<_>, Vec<_>) = all.partition(|each| each.takes_kind_of(value));
    if likely.is_empty() {
        likely = others;
    }
    let meant = match likely.as_slice() {
        [only] => Some(only),
        _ => match tagged(checker, &likely, value) {
            Tagged::One(found) => Some(found),
            Tagged::None(mismatch) => return mismatch,
            Tagged::Unclear => None,
        },
    };
    let why = meant.and_then(|each| checker.check(each.schema, value, scope).err());
    why.unwrap_or_else(|| {
        let words = format!("fits none of the {} alternatives", schemas.len());
        Mismatch::new(words)
    })
}

struct Alternative<'s> {
    schema: &'s Value,
    said: Vec<(&'s Keywords, Scope<'s>)>,
}

impl<'s> Alternative<'s> {
    fn new(checker: Checker<'s>, schema: &'s Value, scope: Scope<'s>) -> Self {
        Alternative {
            schema,
            said: applied(checker, schema, scope),
        }
    }

    /// Whether it is for values of this kind at all.
    fn takes_kind_of(&self, value: &Value) -> bool {
        let is_taken = |(keywords, _): &(&Keywords, Scope<'_>)| {
            let is_type = |name: &Value| {
                name == kind(value) || (name == "integer" && kind(value) == "number")
            };
            let is_typed = match keywords.get("type") {
                Some(Value::Array(names)) => names.iter().any(is_type),
                Some(name) => is_type(name),
                None => true,
            };
            let is_alike = |values: &[Value]| values.iter().any(|each| kind(each) == kind(value));
            is_typed && values(keywords).map_or(true, is_alike)
        };
        *self.schema != Value::Bool(false) && self.said.iter().all(is_taken)
    }

    /// The values that it has for a member, where it says which.
    fn tags(&self, checker: Checker<'s>, name: &str) -> Option<&'s [Value]> {
        let schemas = self.said.iter().filter_map(|(keywords, scope)| {
            let schema = keywords.get("properties")?.get(name)?;
            Some(applied(checker, schema, *scope))
        });
        schemas.flatten().find_map(|(keywords, _)| values(keywords))
    }
}

enum Tagged<'a, 's> {
    One(&'a Alternative<'s>),
    None(Mismatch),
    Unclear,
}

/// Which alternative the tag of a value means.
fn tagged<'a, 's>(
    checker: Checker<'s>,
    likely: &'a [Alternative<'s>],
    value: &Value,
) -> Tagged<'a, 's> {
    let mut strange: Vec<(&str, Vec<&[Value]>)> = Vec::new();
    for (name, tag) in value.as_object().into_iter().flatten() {
        let known: Option<Vec<&[Value]>> =
            likely.iter().map(|each| each.tags(checker, name)).collect();
        let known = match known {
            Some(known) => known,
            None => continue,
        };
        let is_meant = |tags: &&[Value]| tags.iter().any(|each| numbers::same(each, tag));
        match known.iter().filter(|tags| is_meant(tags)).count() {
            0 => strange.push((name, known)),
            1 => {
                let meant = known.iter().position(is_meant);
                return meant.map_or(Tagged::Unclear, |at| Tagged::One(&likely[at]));
            }
            _ => {}
        }
    }
    // A member whose values tell all of them apart is the tag rather than another one.
    let tag = strange.iter().find(|(_, known)| are_apart(known));
    match tag.or_else(|| strange.first()) {
        Some((name, known)) => {
            let words = format!("must be one of {}", listed(&distinct(known.concat())));
            Tagged::None(Mismatch::new(words).under(name))
        }
        None => Tagged::Unclear,
    }
}

fn are_apart(known: &[&[Value]]) -> bool {
    let all = known.concat();
    let count = all.len();
    distinct(all).len() == count
}

fn distinct(values: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !kept.iter().any(|each| numbers::same(each, &value)) {
            kept.push(value);
        }
    }
    kept
}

/// What a schema says of a value itself: its own keywords, and those of the schemas that it refers
/// to or is made of.
fn applied<'s>(
    checker: Checker<'s>,
    schema: &'s Value,
    scope: Scope<'s>,
) -> Vec<(&'s Keywords, Scope<'s>)> {
    let mut found: Vec<(&Keywords, Scope<'_>)> = Vec::new();
    let mut ahead = vec![(schema, scope)];
    for _ in 0..MOST {
        let (schema, scope) = match ahead.pop() {
            Some(next) => next,
            None => break,
        };
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            _ => continue,
        };
        let scope = checker.inner(schema, scope);
        ahead.extend(checker.targets(keywords, scope));
        if checker.since(2019) || !keywords.contains_key("$ref") {
            found.push((keywords, scope));
            let all = parts(keywords, "allOf").iter();
            ahead.extend(all.map(|part| (part, scope)));
        }
    }
    found
}

/// The values that a schema lists.
fn values(keywords: &Keywords) -> Option<&[Value]> {
    match (keywords.get("const"), keywords.get("enum")) {
        (Some(constant), _) => Some(std::slice::from_ref(constant)),
        (None, Some(Value::Array(values))) => Some(values),
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
