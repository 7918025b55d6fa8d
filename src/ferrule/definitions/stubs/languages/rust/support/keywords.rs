//! The keywords of JSON Schema, each a short function.
//!
//! A check ends at the first thing that does not fit. What `unevaluatedProperties` and
//! `unevaluatedItems` have to know is found afterwards, by `evaluated.rs`.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use super::alternatives;
use super::evaluated;
use super::numbers;
use super::resources::Target;
use super::schema::{Mismatch, Schema};

/// How many schemas may be looked at inside each other.
const DEEPEST: usize = 400;
/// How many values a message names.
const LISTED: usize = 10;

type Checked = Result<(), Mismatch>;
/// What a schema says.
pub type Keywords = Map<String, Value>;

/// Where in the schema a check is.
#[derive(Clone, Copy)]
pub struct Scope<'s> {
    base: &'s str,
    depth: usize,
}

impl<'s> Scope<'s> {
    /// In the resource of an address.
    pub fn new(base: &'s str) -> Self {
        Scope { base, depth: 0 }
    }

    fn at(self, base: &'s str) -> Self {
        Scope { base, ..self }
    }
}

/// Checks values by one schema.
#[derive(Clone, Copy)]
pub struct Checker<'s> {
    schema: &'s Schema,
    draft: u32,
    trail: &'s Trail,
    /// Whether somebody reads why a value does not fit. Looking for the reason takes time.
    explains: bool,
}

/// What is known while one value is checked, by the addresses of schemas and values.
#[derive(Default)]
pub struct Trail {
    /// The references that are being followed. One that leads back to itself says nothing more.
    followed: RefCell<HashSet<(usize, usize)>>,
    /// What was found out already: schemas that refer to themselves from several sides would
    /// otherwise be tried twice as often with every level of a value.
    known: RefCell<HashMap<(usize, usize), bool>>,
}

fn pair(schema: &Value, value: &Value) -> (usize, usize) {
    (
        schema as *const Value as usize,
        value as *const Value as usize,
    )
}

impl<'s> Checker<'s> {
    /// By the rules of the schema's draft.
    pub fn new(schema: &'s Schema, trail: &'s Trail) -> Self {
        Checker {
            schema,
            draft: schema.resources().draft,
            trail,
            explains: true,
        }
    }

    /// Whether a value fits a schema, and if not, why.
    pub fn check(self, schema: &'s Value, value: &Value, scope: Scope<'s>) -> Checked {
        let keywords = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return Err(Mismatch::new("nothing fits here")),
        };
        // Other values are quickly checked, and names that are checked have no place of their own.
        if !matches!(value, Value::Array(_) | Value::Object(_)) {
            return self.check_all(schema, keywords, value, scope);
        }
        let known = self.trail.known.borrow().get(&pair(schema, value)).copied();
        match known {
            Some(true) => return Ok(()),
            Some(false) if !self.explains => return Err(Mismatch::new("does not fit")),
            _ => {}
        }
        let checked = self.check_all(schema, keywords, value, scope);
        let mut known = self.trail.known.borrow_mut();
        known.insert(pair(schema, value), checked.is_ok());
        checked
    }

    fn check_all(
        self,
        schema: &'s Value,
        keywords: &'s Keywords,
        value: &Value,
        scope: Scope<'s>,
    ) -> Checked {
        if scope.depth > DEEPEST {
            return Err(Mismatch::new("the value is nested too deeply"));
        }
        let scope = self.inner(schema, scope);
        if self.draft < 2019 && keywords.contains_key("$ref") {
            return self.references(keywords, value, scope);
        }
        self.references(keywords, value, scope)?;
        self.plain(keywords, value)?;
        match value {
            Value::Array(items) => self.array(keywords, items, scope)?,
            Value::Object(members) => self.object(keywords, value, members, scope)?,
            _ => {}
        }
        self.combined(keywords, value, scope)?;
        self.unevaluated(schema, keywords, value, scope)
    }

    /// Whether a value fits.
    pub fn fits(self, schema: &'s Value, value: &Value, scope: Scope<'s>) -> bool {
        let quiet = Checker {
            explains: false,
            ..self
        };
        quiet.check(schema, value, scope).is_ok()
    }

    /// The scope inside a schema.
    pub fn inner(self, schema: &'s Value, scope: Scope<'s>) -> Scope<'s> {
        Scope {
            base: self.schema.resources().base_of(schema, scope.base),
            depth: scope.depth + 1,
        }
    }

    /// The schemas that the references of a schema lead to. Those of other documents are not
    /// among them: they are never fetched, and everything fits them.
    pub fn targets(self, keywords: &'s Keywords, scope: Scope<'s>) -> Vec<(&'s Value, Scope<'s>)> {
        let found = self.led(keywords, scope).into_iter();
        found
            .filter_map(|target| match target {
                Target::Here(part, base) => Some((part, scope.at(base))),
                _ => None,
            })
            .collect()
    }

    /// Whether a schema refers to another document, of which nobody knows what it speaks of.
    pub fn leads_out(self, keywords: &'s Keywords, scope: Scope<'s>) -> bool {
        let mut led = self.led(keywords, scope).into_iter();
        led.any(|target| matches!(target, Target::Elsewhere))
    }

    fn led(self, keywords: &'s Keywords, scope: Scope<'s>) -> Vec<Target<'s>> {
        let names = ["$ref", "$dynamicRef", "$recursiveRef"];
        let said = names.iter().filter_map(|name| keywords.get(*name));
        said.map(|reference| match reference.as_str() {
            Some(text) => self.schema.resources().target(text, scope.base),
            None => Target::Nowhere,
        })
        .collect()
    }

    /// Whether a name matches a pattern; every name does where the pattern cannot be read.
    pub fn matches(self, pattern: &str, text: &str) -> bool {
        self.schema
            .pattern(pattern)
            .map_or(true, |pattern| pattern.is_in(text))
    }

    /// Whether the draft of the schema is this one or a later one.
    pub fn since(self, draft: u32) -> bool {
        self.draft >= draft
    }

    fn references(self, keywords: &'s Keywords, value: &Value, scope: Scope<'s>) -> Checked {
        for target in self.led(keywords, scope) {
            match target {
                Target::Here(part, base) => self.follow(part, value, scope.at(base))?,
                Target::Elsewhere => {}
                Target::Nowhere => {
                    let words = "the schema refers to a place that is not there";
                    return Err(Mismatch::new(words));
                }
            }
        }
        Ok(())
    }

    fn follow(self, part: &'s Value, value: &Value, scope: Scope<'s>) -> Checked {
        let step = pair(part, value);
        if !self.trail.followed.borrow_mut().insert(step) {
            return Ok(());
        }
        let checked = self.check(part, value, scope);
        self.trail.followed.borrow_mut().remove(&step);
        checked
    }

    fn plain(self, keywords: &'s Keywords, value: &Value) -> Checked {
        if let Some(types) = keywords.get("type") {
            check_type(types, value)?;
        }
        if let Some(Value::Array(values)) = keywords.get("enum") {
            if !values.iter().any(|each| numbers::same(each, value)) {
                return Err(Mismatch::new(format!("must be one of {}", listed(values))));
            }
        }
        if let Some(constant) = keywords.get("const").filter(|_| self.since(6)) {
            if !numbers::same(constant, value) {
                return Err(Mismatch::new(format!("must be {}", shortened(constant))));
            }
        }
        match value {
            Value::Number(number) => check_number(keywords, number),
            Value::String(text) => self.text(keywords, text),
            _ => Ok(()),
        }
    }

    fn text(self, keywords: &'s Keywords, text: &str) -> Checked {
        if keywords.contains_key("minLength") || keywords.contains_key("maxLength") {
            check_count(
                keywords,
                "minLength",
                "maxLength",
                text.chars().count(),
                "characters",
            )?;
        }
        match keywords.get("pattern").and_then(Value::as_str) {
            Some(pattern) if !self.matches(pattern, text) => {
                Err(Mismatch::new(format!("must match {}", pattern)))
            }
            _ => Ok(()),
        }
    }

    fn array(self, keywords: &'s Keywords, items: &[Value], scope: Scope<'s>) -> Checked {
        check_count(keywords, "minItems", "maxItems", items.len(), "items")?;
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if !items.iter().all(|item| seen.insert(numbers::key(item))) {
                return Err(Mismatch::new("must not have the same item twice"));
            }
        }
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = self.item(keywords, index) {
                let checked = self.check(schema, item, scope);
                checked.map_err(|mismatch| mismatch.under(&index.to_string()))?;
            }
        }
        match keywords.get("contains").filter(|_| self.since(6)) {
            Some(schema) => self.contains(keywords, schema, items, scope),
            None => Ok(()),
        }
    }

    /// The schema of the item at a place.
    pub fn item(self, keywords: &'s Keywords, index: usize) -> Option<&'s Value> {
        let prefix = keywords.get("prefixItems").filter(|_| self.since(2020));
        match (prefix, keywords.get("items")) {
            (_, Some(Value::Array(listed))) if !self.since(2020) => listed
                .get(index)
                .or_else(|| keywords.get("additionalItems")),
            (Some(Value::Array(listed)), items) => listed.get(index).or(items),
            (_, items) => items,
        }
    }

    fn contains(
        self,
        keywords: &'s Keywords,
        schema: &'s Value,
        items: &[Value],
        scope: Scope<'s>,
    ) -> Checked {
        let count = items
            .iter()
            .filter(|item| self.fits(schema, item, scope))
            .count();
        let bound = |name: &str| {
            keywords
                .get(name)
                .filter(|_| self.since(2019))
                .and_then(counted)
        };
        let fewest = bound("minContains").unwrap_or(1);
        let most = bound("maxContains").unwrap_or(usize::MAX);
        if count < fewest || count > most {
            return Err(Mismatch::new(format!(
                "{} items are as 'contains' says",
                count
            )));
        }
        Ok(())
    }

    fn object(
        self,
        keywords: &'s Keywords,
        value: &Value,
        members: &Map<String, Value>,
        scope: Scope<'s>,
    ) -> Checked {
        if let Some(Value::Array(names)) = keywords.get("required") {
            let mut names = names.iter().filter_map(Value::as_str);
            if let Some(name) = names.find(|name| !members.contains_key(*name)) {
                return Err(Mismatch::new(format!("the member {:?} is missing", name)));
            }
        }
        check_count(
            keywords,
            "minProperties",
            "maxProperties",
            members.len(),
            "members",
        )?;
        for (name, member) in members {
            let checked = self.member(keywords, name, member, scope);
            checked.map_err(|mismatch| mismatch.under(name))?;
        }
        if let Some(schema) = keywords.get("propertyNames").filter(|_| self.since(6)) {
            for name in members.keys() {
                let checked = self.check(schema, &Value::String(name.clone()), scope);
                checked.map_err(|mismatch| name_mismatch(name, &mismatch))?;
            }
        }
        self.dependent(keywords, value, members, scope)
    }

    fn member(
        self,
        keywords: &'s Keywords,
        name: &str,
        value: &Value,
        scope: Scope<'s>,
    ) -> Checked {
        let mut is_named = false;
        if let Some(schema) = keywords.get("properties").and_then(|named| named.get(name)) {
            is_named = true;
            self.check(schema, value, scope)?;
        }
        if let Some(Value::Object(patterns)) = keywords.get("patternProperties") {
            for (_, schema) in patterns.iter().filter(|(text, _)| self.matches(text, name)) {
                is_named = true;
                self.check(schema, value, scope)?;
            }
        }
        match keywords.get("additionalProperties") {
            Some(Value::Bool(false)) if !is_named => {
                Err(Mismatch::new("there is no member of this name"))
            }
            Some(schema) if !is_named => self.check(schema, value, scope),
            _ => Ok(()),
        }
    }

    fn dependent(
        self,
        keywords: &'s Keywords,
        value: &Value,
        members: &Map<String, Value>,
        scope: Scope<'s>,
    ) -> Checked {
        let recent = ["dependentRequired", "dependentSchemas"];
        let spelled = recent.iter().filter(|_| self.since(2019));
        for keyword in spelled.chain(&["dependencies"]) {
            let said = keywords.get(*keyword).and_then(Value::as_object);
            for (name, needed) in said.into_iter().flatten() {
                if !members.contains_key(name) {
                    continue;
                }
                match needed {
                    Value::Array(names) => check_needed(name, names, members)?,
                    schema => self.check(schema, value, scope)?,
                }
            }
        }
        Ok(())
    }

    fn combined(self, keywords: &'s Keywords, value: &Value, scope: Scope<'s>) -> Checked {
        for schema in parts(keywords, "allOf") {
            self.check(schema, value, scope)?;
        }
        for name in ["anyOf", "oneOf"] {
            if keywords.contains_key(name) {
                self.alternatives(parts(keywords, name), name == "oneOf", value, scope)?;
            }
        }
        match keywords.get("not") {
            Some(schema) if self.fits(schema, value, scope) => {
                Err(Mismatch::new("must not be as 'not' says"))
            }
            _ => self.condition(keywords, value, scope),
        }
    }

    fn alternatives(
        self,
        schemas: &'s [Value],
        is_one: bool,
        value: &Value,
        scope: Scope<'s>,
    ) -> Checked {
        let most = if is_one { 2 } else { 1 };
        let fitting = schemas
            .iter()
            .filter(|schema| self.fits(schema, value, scope));
        match fitting.take(most).count() {
            0 if self.explains => Err(alternatives::mismatch(self, schemas, value, scope)),
            0 => Err(Mismatch::new("fits none of the alternatives")),
            1 => Ok(()),
            _ => Err(Mismatch::new(
                "must fit one of the alternatives and not several",
            )),
        }
    }

    fn condition(self, keywords: &'s Keywords, value: &Value, scope: Scope<'s>) -> Checked {
        let condition = match keywords.get("if").filter(|_| self.since(7)) {
            Some(condition) => condition,
            None => return Ok(()),
        };
        let branch = if self.fits(condition, value, scope) {
            "then"
        } else {
            "else"
        };
        match keywords.get(branch) {
            Some(schema) => self.check(schema, value, scope),
            None => Ok(()),
        }
    }

    fn unevaluated(
        self,
        schema: &'s Value,
        keywords: &'s Keywords,
        value: &Value,
        scope: Scope<'s>,
    ) -> Checked {
        if !self.since(2019) {
            return Ok(());
        }
        if let (Some(rest), Value::Object(members)) = (keywords.get("unevaluatedProperties"), value)
        {
            let seen = evaluated::members(self, schema, value, scope);
            for (name, member) in members.iter().filter(|(name, _)| !seen.contains(*name)) {
                self.check(rest, member, scope)
                    .map_err(|mismatch| mismatch.under(name))?;
            }
        }
        if let (Some(rest), Value::Array(items)) = (keywords.get("unevaluatedItems"), value) {
            let seen = evaluated::items(self, schema, items, value, scope);
            for (index, item) in items.iter().enumerate().filter(|(index, _)| !seen[*index]) {
                let checked = self.check(rest, item, scope);
                checked.map_err(|mismatch| mismatch.under(&index.to_string()))?;
            }
        }
        Ok(())
    }
}

/// The schemas of a keyword that has a list of them.
pub fn parts<'s>(keywords: &'s Keywords, name: &str) -> &'s [Value] {
    keywords
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn check_type(types: &Value, value: &Value) -> Checked {
    let is_type = |name: &Value| {
        matches!(
            (name.as_str().unwrap_or(""), value),
            ("null", Value::Null)
                | ("boolean", Value::Bool(_))
                | ("number", Value::Number(_))
                | ("string", Value::String(_))
                | ("array", Value::Array(_))
                | ("object", Value::Object(_))
        ) || (name == "integer" && value.as_number_whole())
    };
    match types {
        Value::Array(names) if names.iter().any(is_type) => Ok(()),
        Value::Array(names) => Err(Mismatch::new(format!("must be of type {}", listed(names)))),
        name if is_type(name) => Ok(()),
        name => Err(Mismatch::new(format!(
            "must be of type {}",
            name.as_str().unwrap_or("?")
        ))),
    }
}

trait Whole {
    fn as_number_whole(&self) -> bool;
}

impl Whole for Value {
    fn as_number_whole(&self) -> bool {
        matches!(self, Value::Number(number) if numbers::is_whole(number))
    }
}

fn check_number(keywords: &Keywords, number: &Number) -> Checked {
    let bounds = [
        (
            "minimum",
            "exclusiveMinimum",
            Ordering::Less,
            "at least",
            "more than",
        ),
        (
            "maximum",
            "exclusiveMaximum",
            Ordering::Greater,
            "at most",
            "less than",
        ),
    ];
    for (name, exclusive, beyond, words, strictly) in bounds {
        // Draft 4 writes `exclusiveMinimum: true` beside the bound.
        let is_strict = keywords.get(exclusive) == Some(&Value::Bool(true));
        for (name, is_strict) in [(name, is_strict), (exclusive, true)] {
            if let Some(Value::Number(bound)) = keywords.get(name) {
                let order = numbers::beside(number, bound);
                if order == beyond || (is_strict && order == Ordering::Equal) {
                    let words = if is_strict { strictly } else { words };
                    return Err(Mismatch::new(format!("must be {} {}", words, bound)));
                }
            }
        }
    }
    match keywords.get("multipleOf") {
        Some(Value::Number(step)) if !numbers::is_multiple(number, step) => {
            Err(Mismatch::new(format!("must be a multiple of {}", step)))
        }
        _ => Ok(()),
    }
}

fn counted(bound: &Value) -> Option<usize> {
    let number = match bound {
        Value::Number(number) if numbers::is_whole(number) => number,
        _ => return None,
    };
    let is_negative = number.as_f64().map_or(false, |value| value < 0.0);
    let count = numbers::whole(number).and_then(|whole| usize::try_from(whole).ok());
    Some(count.unwrap_or(if is_negative { 0 } else { usize::MAX }))
}

fn check_count(keywords: &Keywords, fewest: &str, most: &str, count: usize, what: &str) -> Checked {
    if let Some(bound) = keywords
        .get(fewest)
        .and_then(counted)
        .filter(|bound| count < *bound)
    {
        return Err(Mismatch::new(format!(
            "must have at least {} {}",
            bound, what
        )));
    }
    if let Some(bound) = keywords
        .get(most)
        .and_then(counted)
        .filter(|bound| count > *bound)
    {
        return Err(Mismatch::new(format!(
            "must have at most {} {}",
            bound, what
        )));
    }
    Ok(())
}

fn check_needed(name: &str, needed: &[Value], members: &Map<String, Value>) -> Checked {
    let mut names = needed.iter().filter_map(Value::as_str);
    match names.find(|each| !members.contains_key(*each)) {
        Some(missing) => {
            let words = format!("with {:?} there must be a member {:?}", name, missing);
            Err(Mismatch::new(words))
        }
        None => Ok(()),
    }
}

fn name_mismatch(name: &str, mismatch: &Mismatch) -> Mismatch {
    Mismatch::new(format!("the name {:?} {}", name, mismatch))
}

/// Values for a reader, not too many of them.
pub fn listed(values: &[Value]) -> String {
    let words: Vec<String> = values.iter().take(LISTED).map(shortened).collect();
    match values.len().saturating_sub(LISTED) {
        0 => words.join(", "),
        more => format!("{} and {} more", words.join(", "), more),
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 80 {
        return text;
    }
    text.chars().take(79).chain(['…']).collect()
}
