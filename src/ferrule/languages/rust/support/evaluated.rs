//! Which members and items of a value its schema has spoken of, for `unevaluatedProperties` and
//! `unevaluatedItems`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::keywords::{parts, Checker, Scope};

/// The names of the members that a schema, which the value fits, has spoken of.
pub fn members<'s>(
    checker: Checker<'s>,
    schema: &'s Value,
    value: &Value,
    scope: Scope<'s>,
) -> HashSet<String> {
    let mut seen = HashSet::new();
    if let Some(members) = value.as_object() {
        each(
            checker,
            schema,
            value,
            scope,
            0,
            &mut |keywords, _, is_root| {
                seen.extend(named(checker, keywords, members).into_iter().cloned());
                if !is_root && keywords.contains_key("unevaluatedProperties") {
                    seen.extend(members.keys().cloned());
                }
            },
        );
    }
    seen
}

fn named<'v>(
    checker: Checker<'_>,
    keywords: &Map<String, Value>,
    members: &'v Map<String, Value>,
) -> Vec<&'v String> {
    let properties = keywords.get("properties").and_then(Value::as_object);
    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
    let is_named = |name: &str| {
        keywords.contains_key("additionalProperties")
            || properties.map_or(false, |named| named.contains_key(name))
            || patterns.map_or(false, |all| {
                all.keys().any(|text| checker.matches(text, name))
            })
    };
    members.keys().filter(|name| is_named(name)).collect()
}

/// For each item, whether a schema, which the value fits, has spoken of it.
pub fn items<'s>(
    checker: Checker<'s>,
    schema: &'s Value,
    items: &[Value],
    value: &Value,
    scope: Scope<'s>,
) -> Vec<bool> {
    let mut seen = vec![false; items.len()];
    each(
        checker,
        schema,
        value,
        scope,
        0,
        &mut |keywords, scope, is_root| {
            let contained = keywords.get("contains").filter(|_| checker.since(2020));
            let has_all = !is_root && keywords.contains_key("unevaluatedItems");
            for (index, item) in items.iter().enumerate() {
                let is_seen = has_all
                    || checker.item(keywords, index).is_some()
                    || contained.map_or(false, |schema| checker.fits(schema, item, scope));
                seen[index] |= is_seen;
            }
        },
    );
    seen
}

type Visit<'v, 's> = dyn FnMut(&'s Map<String, Value>, Scope<'s>, bool) + 'v;

/// Visits a schema and all that apply to the same value, where they fit it.
fn each<'s>(
    checker: Checker<'s>,
    schema: &'s Value,
    value: &Value,
    scope: Scope<'s>,
    depth: usize,
    visit: &mut Visit<'_, 's>,
) {
    let keywords = match schema {
        Value::Object(keywords) if depth < 64 => keywords,
        _ => return,
    };
    visit(keywords, scope, depth == 0);
    let mut further = checker.targets(keywords, scope);
    for name in ["allOf", "anyOf", "oneOf"] {
        further.extend(parts(keywords, name).iter().map(|part| (part, scope)));
    }
    let dependent = keywords.get("dependentSchemas").and_then(Value::as_object);
    for (name, part) in dependent.into_iter().flatten() {
        if value.get(name).is_some() {
            further.push((part, scope));
        }
    }
    if let Some(condition) = keywords.get("if") {
        let is_so = checker.fits(condition, value, scope);
        further.push((condition, scope));
        further.extend(
            keywords
                .get(if is_so { "then" } else { "else" })
                .map(|part| (part, scope)),
        );
    }
    for (part, scope) in further {
        if checker.fits(part, value, scope) {
            each(checker, part, value, scope, depth + 1, visit);
        }
    }
}
