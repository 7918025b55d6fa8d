//! What generated types need beyond serde's own derive.
//!
//! The macros write the two halves of a type that derive cannot express exactly: constants,
//! enumerations of integers, unions, and arrays whose places have types of their own. They are
//! called where `wire` is this module.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::numbers;
use super::reading;
use super::schema::{plain, Mismatch};

/// An optional member that is there, also where it is `null`.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// A member that may be `null` and must be there.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// A typed value of a JSON value. Errors keep their place.
pub fn typed<T: DeserializeOwned, E: serde::de::Error>(value: Value) -> Result<T, E> {
    reading::typed(value).map_err(E::custom)
}

/// A typed value of a JSON value that fits one of a union's schemas; where its type does not hold
/// it, why, if nothing was said before.
pub fn tried<T: DeserializeOwned>(value: &Value, why: &mut Option<Mismatch>) -> Option<T> {
    let read = reading::typed(value.clone());
    read.map_err(|mismatch| why.get_or_insert(mismatch)).ok()
}

/// The error of a union that no variant was found for.
pub fn untold<E: serde::de::Error>(why: Option<Mismatch>) -> E {
    why.map_or_else(|| E::custom("fits none of the alternatives"), E::custom)
}

/// The members of an object that have no field.
pub fn rest<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let members = BTreeMap::<String, Value>::deserialize(from)?;
    let typed = members.into_iter().map(|(name, value)| {
        let read = reading::typed(value).map_err(|mismatch| mismatch.under(&name));
        read.map(|value| (name, value))
    });
    typed.collect::<Result<_, _>>().map_err(D::Error::custom)
}

/// Whether a JSON value is the one that a program's value is written as.
pub fn is<T: Serialize>(value: &Value, constant: T) -> bool {
    serde_json::to_value(constant).map_or(false, |constant| numbers::same(value, &constant))
}

/// An integer of any size that 64 bits hold, with a sign or without. Larger ones are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Integer(pub serde_json::Number);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(from)?;
        if number.is_i64() || number.is_u64() {
            return Ok(Integer(number));
        }
        Err(D::Error::custom("64 bits do not hold this integer"))
    }
}

/// The items of an array, by place.
pub struct Places {
    items: std::iter::Enumerate<std::vec::IntoIter<Value>>,
}

impl Places {
    /// Of an array.
    pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let items = Vec::<Value>::deserialize(from)?.into_iter();
        Ok(Places {
            items: items.enumerate(),
        })
    }

    /// The next item, which must be there.
    pub fn item<T: DeserializeOwned, E: serde::de::Error>(&mut self) -> Result<T, E> {
        self.maybe()?
            .ok_or_else(|| E::custom("the array has too few items"))
    }

    /// The next item, if there is one.
    pub fn maybe<T: DeserializeOwned, E: serde::de::Error>(&mut self) -> Result<Option<T>, E> {
        self.items.next().map(placed).transpose()
    }

    /// All further items.
    pub fn rest<T: DeserializeOwned, E: serde::de::Error>(&mut self) -> Result<Vec<T>, E> {
        self.items.by_ref().map(placed).collect()
    }

    /// Nothing, if there are no further items.
    pub fn end<E: serde::de::Error>(&mut self) -> Result<(), E> {
        match self.items.next() {
            Some(_) => Err(E::custom("the array has too many items")),
            None => Ok(()),
        }
    }
}

fn placed<T: DeserializeOwned, E: serde::de::Error>((at, item): (usize, Value)) -> Result<T, E> {
    let read = reading::typed(item).map_err(|mismatch| mismatch.under(&at.to_string()));
    read.map_err(E::custom)
}

/// An array that is written place by place.
#[derive(Default)]
pub struct Filled {
    items: Vec<Value>,
    has_gap: bool,
}

impl Filled {
    /// With one more item.
    pub fn item<T: Serialize, E: serde::ser::Error>(&mut self, item: &T) -> Result<(), E> {
        if self.has_gap {
            return Err(E::custom("an item is there although one before it is not"));
        }
        let at = self.items.len().to_string();
        let value = plain(item).map_err(|mismatch| E::custom(mismatch.under(&at)))?;
        self.items.push(value);
        Ok(())
    }

    /// With one more item, if there is one.
    pub fn maybe<T: Serialize, E: serde::ser::Error>(&mut self, item: &Option<T>) -> Result<(), E> {
        match item {
            Some(item) => self.item(item),
            None => {
                self.has_gap = true;
                Ok(())
            }
        }
    }

    /// With several more items.
    pub fn rest<T: Serialize, E: serde::ser::Error>(&mut self, items: &[T]) -> Result<(), E> {
        items.iter().try_for_each(|item| self.item(item))
    }

    /// All of it.
    pub fn items(self) -> Vec<Value> {
        self.items
    }
}

/// A type with one value: `constant! { Circle = "circle" }`.
macro_rules! constant {
    ($(#[$about:meta])* $name:ident = $value:expr) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name;

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                ::serde::Serialize::serialize(&$value, to)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let value: ::serde_json::Value = ::serde::Deserialize::deserialize(from)?;
                if wire::is(&value, $value) {
                    return Ok($name);
                }
                Err(::serde::de::Error::custom(concat!("must be ", stringify!($value))))
            }
        }
    };
}
pub(crate) use constant;

/// An enumeration of integers: `integers! { Level: i64 { Low, High } }`.
macro_rules! integers {
    ($name:ident: $number:ident { $($choice:ident),* $(,)? }) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                ::serde::Serialize::serialize(&(*self as $number), to)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let value: $number = ::serde::Deserialize::deserialize(from)?;
                $(
                    if value == $name::$choice as $number {
                        return Ok($name::$choice);
                    }
                )*
                Err(::serde::de::Error::custom("is none of the known integers"))
            }
        }
    };
}
pub(crate) use integers;

/// How a union is written: as the value inside.
macro_rules! written {
    ($name:ident { $($variant:ident)* }) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($name::$variant(inside) => ::serde::Serialize::serialize(inside, to),)*
                }
            }
        }
    };
}
pub(crate) use written;

/// A union whose member says which variant it is: `tagged! { Shape by "kind" { Circle: "circle" } }`.
macro_rules! tagged {
    ($name:ident by $tag:literal { $($variant:ident: $($value:literal)|+),* $(,)? }) => {
        wire::written! { $name { $($variant)* } }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let value: ::serde_json::Value = ::serde::Deserialize::deserialize(from)?;
                let tag = value.get($tag).cloned().unwrap_or_default();
                $(
                    if $(wire::is(&tag, $value))||+ {
                        return wire::typed(value).map($name::$variant);
                    }
                )*
                Err(::serde::de::Error::custom(concat!("no variant has this ", $tag)))
            }
        }
    };
}
pub(crate) use tagged;

/// A union of which the first variant is meant whose schema accepts the value, and whose type does:
/// `untagged! { Size in INPUT { Number at "#/anyOf/0", Word at "#/anyOf/1" } }`.
macro_rules! untagged {
    ($name:ident in $schema:ident { $($variant:ident at $pointer:literal),* $(,)? }) => {
        wire::written! { $name { $($variant)* } }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let value: ::serde_json::Value = ::serde::Deserialize::deserialize(from)?;
                let mut why = None;
                $(
                    if $schema.accepts($pointer, &value) {
                        // One schema may stand for several variants: `type: [string, number]`.
                        if let Some(found) = wire::tried(&value, &mut why) {
                            return Ok($name::$variant(found));
                        }
                    }
                )*
                Err(wire::untold(why))
            }
        }
    };
}
pub(crate) use untagged;

/// An array whose places have types of their own:
/// `places! { Line { from, to } maybe { colour } rest { points } }`.
macro_rules! places {
    ($name:ident { $($item:ident),* } maybe { $($maybe:ident),* } rest { $($rest:ident)? }) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                #[allow(unused_mut)]
                let mut filled = wire::Filled::default();
                $(filled.item(&self.$item)?;)*
                $(filled.maybe(&self.$maybe)?;)*
                $(filled.rest(&self.$rest)?;)?
                ::serde::Serialize::serialize(&filled.items(), to)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let mut places = wire::Places::read(from)?;
                let found = $name {
                    $($item: places.item()?,)*
                    $($maybe: places.maybe()?,)*
                    $($rest: places.rest()?,)?
                };
                places.end()?;
                Ok(found)
            }
        }
    };
}
pub(crate) use places;
