//! Deserializes a tree with serde.

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Number;

use crate::{Data, Key, Node, scalar};

impl Node {
    /// Deserializes the value. Where the type wants a string, any scalar gives its source text.
    ///
    /// # Errors
    /// When the value is not of the type. The message does not say where.
    pub fn to_type<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(self).map_err(|error| error.to_string())
    }
}

impl Node {
    /// Reads a number, which may stand in quotes.
    fn deserialize_number<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, Error> {
        match &self.data {
            Data::Text(text) => match scalar::tolerant(text) {
                Data::Number(number) => visit(&number, visitor),
                _ => self.deserialize_any(visitor),
            },
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> IntoDeserializer<'de> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> IntoDeserializer<'de> for &'de Key {
    type Deserializer = serde::de::value::StrDeserializer<'de, Error>;

    fn into_deserializer(self) -> Self::Deserializer {
        self.text.as_str().into_deserializer()
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.data {
            Data::Null | Data::Broken => visitor.visit_unit(),
            Data::Bool(value) => visitor.visit_bool(*value),
            Data::Number(number) => visit(number, visitor),
            Data::Text(text) => visitor.visit_str(text),
            Data::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Data::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| (key, value));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.is_null(), self.as_written()) {
            (false, Some(text)) => visitor.visit_str(text),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null() {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// A derived type would read a list as a struct, too. Here only a mapping is one.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.data {
            Data::List(_) => Err(Error::custom("a list where a mapping is needed")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let text = self.as_written().unwrap_or_default();
        text.into_deserializer()
            .deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map ignored_any
    }
}

fn visit<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => visitor.visit_u64(number),
        (None, Some(number)) => visitor.visit_i64(number),
        (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::{Dialect, parse};

    #[test]
    fn a_type_that_wants_text_gets_what_was_written() {
        let root = parse("a: 017\nb: 1.50\nc: true\nd: x\n", Dialect::Tolerant);
        let texts: BTreeMap<String, String> = root.unwrap().unwrap().to_type().unwrap();
        let texts: Vec<&str> = texts.values().map(String::as_str).collect();
        assert_eq!(texts, ["017", "1.50", "true", "x"]);
    }

    #[test]
    fn a_number_may_stand_in_quotes() {
        let root = parse("[1, '2', \"0x3\"]", Dialect::Tolerant)
            .unwrap()
            .unwrap();
        assert_eq!(root.to_type::<Vec<u64>>().unwrap(), [1, 2, 3]);
        assert!(root.to_type::<Vec<bool>>().is_err());
    }

    #[test]
    fn null_is_not_a_string() {
        let root = parse("a:\n", Dialect::Tolerant).unwrap().unwrap();
        assert!(root.to_type::<BTreeMap<String, String>>().is_err());
        let found: BTreeMap<String, Option<String>> = root.to_type().unwrap();
        assert_eq!(found["a"], None);
    }
}
