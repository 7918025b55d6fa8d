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
            &mut HashSet::new(),
            &mut |keywords, scope, is_root| {
                seen.extend(named(checker, keywords, members).into_iter().cloned());
                let has_all = !is_root && keywords.contains_key("unevaluatedProperties");
                if has_all || checker.leads_out(keywords, scope) {
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
        &mut HashSet::new(),
        &mut |keywords, scope, is_root| {
            let contained = keywords.get("contains").filter(|_| checker.since(2020));
            let has_all = (!is_root && keywords.contains_key("unevaluatedItems"))
                || checker.leads_out(keywords, scope);
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

/// Visits a schema that a value fits, and once each all others that apply to the value and fit it.
fn each<'s>(
    checker: Checker<'s>,
    schema: &'s Value,
    value: &Value,
    scope: Scope<'s>,
    visited: &mut HashSet<usize>,
    visit: &mut Visit<'_, 's>,
) {
    let is_root = visited.is_empty();
    let keywords = match schema {
        Value::Object(keywords) if visited.insert(schema as *const Value as usize) => keywords,
        _ => return,
    };
    let scope = checker.inner(schema, scope);
    visit(keywords, scope, is_root);
    for (part, scope) in further(checker, keywords, value, scope) {
        each(checker, part, value, scope, visited, visit);
    }
}

/// The schemas of a schema that apply to the same value, and fit it.
fn further<'s>(
    checker: Checker<'s>,
    keywords: &'s Map<String, Value>,
    value: &Value,
    scope: Scope<'s>,
) -> Vec<(&'s Value, Scope<'s>)> {
    let mut found = checker.targets(keywords, scope);
    found.extend(parts(keywords, "allOf").iter().map(|part| (part, scope)));
    for name in ["anyOf", "oneOf"] {
        let all = parts(keywords, name).iter();
        let fitting = all.filter(|part| checker.fits(part, value, scope));
        found.extend(fitting.map(|part| (part, scope)));
    }
    let dependent = keywords.get("dependentSchemas").and_then(Value::as_object);
    for (name, part) in dependent.into_iter().flatten() {
        if value.get(name).is_some() {
            found.push((part, scope));
        }
    }
    if let Some(condition) = keywords.get("if") {
        let is_so = checker.fits(condition, value, scope);
        let branch = keywords.get(if is_so { "then" } else { "else" });
        found.extend(branch.map(|part| (part, scope)));
        found.extend(Some((condition, scope)).filter(|_| is_so));
    }
    found
}
