//! JSON values into typed ones, with the place of what a type does not hold.
//!
//! A value that fits its schema fits its type too, but for integers that 64 bits do not hold.

use std::fmt::Display;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value};

use super::schema::Mismatch;

/// A typed value of a JSON value.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Mismatch> {
    T::deserialize(Reading(value))
}

impl Error for Mismatch {
    fn custom<T: Display>(message: T) -> Self {
        Mismatch::told(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        misfit(found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        misfit(found, expected)
    }
}

fn misfit(found: Unexpected<'_>, expected: &dyn Expected) -> Mismatch {
    use Unexpected::{Float, Signed, Unsigned};
    Mismatch::new(match (found, expected.to_string().as_str()) {
        (Float(_) | Signed(_) | Unsigned(_), "i64") => {
            format!("must be an integer from {} to {}", i64::MIN, i64::MAX)
        }
        (Float(_) | Signed(_) | Unsigned(_), "u64") => {
            format!("must be an integer from 0 to {}", u64::MAX)
        }
        (found, expected) => format!("must be {}, not {}", expected, found),
    })
}

struct Reading(Value);

impl<'de> Deserializer<'de> for Reading {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => visit_number(&number, visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visit_items(items, visitor),
            Value::Object(members) => visitor.visit_map(Members::new(members)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::String(text) => visitor.visit_enum(named(text)),
            _ => Err(Mismatch::new("must be of type string")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

fn named(text: String) -> StringDeserializer<Mismatch> {
    text.into_deserializer()
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Mismatch> {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(value), _, _) => visitor.visit_u64(value),
        (_, Some(value), _) => visitor.visit_i64(value),
        (_, _, Some(value)) => visitor.visit_f64(value),
        _ => Err(Mismatch::new("is beyond every number")),
    }
}

fn visit_items<'de, V: Visitor<'de>>(items: Vec<Value>, visitor: V) -> Result<V::Value, Mismatch> {
    let mut items = Items {
        items: items.into_iter(),
        index: 0,
    };
    let found = visitor.visit_seq(&mut items)?;
    match items.items.next() {
        Some(_) => Err(Mismatch::new("the array has too many items")),
        None => Ok(found),
    }
}

struct Items {
    items: std::vec::IntoIter<Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Mismatch> {
        let item = match self.items.next() {
            Some(item) => item,
            None => return Ok(None),
        };
        let index = self.index;
        self.index += 1;
        let read = seed.deserialize(Reading(item));
        read.map(Some)
            .map_err(|mismatch| mismatch.under(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members {
    members: serde_json::map::IntoIter,
    member: Option<(String, Value)>,
}

impl Members {
    fn new(members: Map<String, Value>) -> Self {
        Members {
            members: members.into_iter(),
            member: None,
        }
    }
}

impl<'de> MapAccess<'de> for Members {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Mismatch> {
        self.member = self.members.next();
        match &self.member {
            Some((name, _)) => seed.deserialize(named(name.clone())).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        match self.member.take() {
            Some((name, value)) => seed
                .deserialize(Reading(value))
                .map_err(|mismatch| mismatch.under(&name)),
            None => Err(Mismatch::new("a member has no value")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}
