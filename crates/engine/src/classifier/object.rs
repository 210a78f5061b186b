//! JSON objects that must be objects. A derived reader also takes a list of the fields' values, in order; an answer in
//! such a form is not one that a server of these APIs gives, so it must not count.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A `T` that was written as an object. Fields that `T` knows and that come twice are refused by `T` itself.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Only<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Only<T> {
            type Value = Object<T>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(Object)
            }
        }
        reader.deserialize_map(Only(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Pair {
        a: u8,
        b: Option<u8>,
    }

    #[test]
    fn only_an_object_is_an_object() {
        let read = |text: &str| serde_json::from_str::<Object<Pair>>(text).ok().map(|object| object.0);
        assert_eq!(read(r#"{"a":1,"c":[]}"#), Some(Pair { a: 1, b: None }));
        for odd in ["[1,2]", "[1]", "null", "1", "{}", r#"{"a":1,"a":1}"#, r#"{"a":1} 1"#] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}
