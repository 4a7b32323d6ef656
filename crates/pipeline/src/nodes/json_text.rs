//! JSON data of a user, as text.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<T: Serialize, S: Serializer>(
    data: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = serde_json::to_string(data).map_err(S::Error::custom)?;
    serializer.serialize_str(&text)
}

pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    serde_json::from_str(&text).map_err(D::Error::custom)
}

/// Writes data that is there. Its field is left out otherwise.
pub(super) fn serialize_some<T: Serialize, S: Serializer>(
    data: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serialize(data, serializer)
}

/// Reads data whose field is there, even if it is null.
pub(super) fn deserialize_some<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserialize(deserializer).map(Some)
}
