//! Refuses typed values that JSON cannot say: `NaN` and the infinities, which serde_json would
//! write as `null`.
//!
//! A serializer that writes nothing and looks at every number.

use std::fmt::Display;

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Value;

use super::schema::Mismatch;

type Looked = Result<(), Mismatch>;

/// Whether every number in a value is one that JSON has, and if not, where.
pub fn check<T: Serialize + ?Sized>(typed: &T) -> Looked {
    typed.serialize(Looking)
}

impl Error for Mismatch {
    fn custom<T: Display>(message: T) -> Self {
        Mismatch::told(message.to_string())
    }
}

struct Looking;

macro_rules! passed {
    ($($method:ident($kind:ty)),* $(,)?) => {
        $(fn $method(self, _value: $kind) -> Looked {
            Ok(())
        })*
    };
}

impl Serializer for Looking {
    type Ok = ();
    type Error = Mismatch;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    passed! {
        serialize_bool(bool),
        serialize_i8(i8),
        serialize_i16(i16),
        serialize_i32(i32),
        serialize_i64(i64),
        serialize_u8(u8),
        serialize_u16(u16),
        serialize_u32(u32),
        serialize_u64(u64),
        serialize_char(char),
        serialize_str(&str),
        serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str),
    }

    fn serialize_f32(self, value: f32) -> Looked {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Looked {
        if value.is_finite() {
            return Ok(());
        }
        Err(Mismatch::new(format!(
            "{} is no number that JSON has",
            value
        )))
    }

    fn serialize_none(self) -> Looked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Looked {
        check(value)
    }

    fn serialize_unit(self) -> Looked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Looked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Looked {
        check(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Looked {
        check(value).map_err(|mismatch| mismatch.under(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items, Mismatch> {
        Ok(Items::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<Items, Mismatch> {
        Ok(Items::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items, Mismatch> {
        Ok(Items::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Items, Mismatch> {
        Ok(Items::default())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, Mismatch> {
        Ok(Members::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members, Mismatch> {
        Ok(Members::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Members, Mismatch> {
        Ok(Members::default())
    }
}

/// The items of an array, counted.
#[derive(Default)]
struct Items {
    index: usize,
}

impl Items {
    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Looked {
        let index = self.index;
        self.index += 1;
        check(item).map_err(|mismatch| mismatch.under(&index.to_string()))
    }
}

macro_rules! items {
    ($($way:ident::$method:ident),* $(,)?) => {
        $(impl $way for Items {
            type Ok = ();
            type Error = Mismatch;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Looked {
                self.item(item)
            }

            fn end(self) -> Looked {
                Ok(())
            }
        })*
    };
}

items! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

/// The members of an object, with the name of the one that comes next.
#[derive(Default)]
struct Members {
    name: String,
}

impl SerializeMap for Members {
    type Ok = ();
    type Error = Mismatch;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Looked {
        self.name = match serde_json::to_value(name) {
            Ok(Value::String(text)) => text,
            Ok(other) => other.to_string(),
            Err(error) => return Err(Mismatch::new(error.to_string())),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Looked {
        check(value).map_err(|mismatch| mismatch.under(&self.name))
    }

    fn end(self) -> Looked {
        Ok(())
    }
}

macro_rules! members {
    ($($way:ident),*) => {
        $(impl $way for Members {
            type Ok = ();
            type Error = Mismatch;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Looked {
                check(value).map_err(|mismatch| mismatch.under(name))
            }

            fn end(self) -> Looked {
                Ok(())
            }
        })*
    };
}

members! { SerializeStruct, SerializeStructVariant }
