//! The encoding for arbitrary values and the decoder for arbitrary bytes.

use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Number, Value};
use uwf_cas_fs::cbor;

const SAFE: f64 = 9_007_199_254_740_991.0;

fn number() -> impl Strategy<Value = Value> {
    let around_the_edge = (0..1_u64 << 54).prop_map(Value::from);
    let integral = any::<i32>().prop_map(|n| Value::from(f64::from(n)));
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        any::<f64>().prop_filter_map("JSON numbers are finite", |n| {
            Number::from_f64(n).map(Value::Number)
        }),
        around_the_edge,
        integral,
    ]
}

pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value with each number as in JavaScript: a double, written as an integer if it is integral.
fn as_javascript(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            let double = number.as_f64().unwrap();
            if double.fract() == 0.0 && double.abs() <= SAFE {
                Value::from(double as i64)
            } else {
                Value::from(double)
            }
        }
        Value::Array(items) => items.iter().map(as_javascript).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| (key.clone(), as_javascript(member)))
            .collect(),
        other => other.clone(),
    }
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reversed).collect(),
        Value::Object(members) => members
            .iter()
            .rev()
            .map(|(key, member)| (key.clone(), reversed(member)))
            .collect(),
        other => other.clone(),
    }
}

/// Bytes that look like CBOR more often than random ones.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let head = (0..8_u8, 0..28_u8).prop_map(|(major, info)| major << 5 | info);
    let likely = prop_oneof![
        any::<u8>(),
        head,
        0x60..0x6a_u8,
        0x80..0x84_u8,
        0xa0..0xa4_u8
    ];
    vec(likely, 0..64)
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(value in json()) {
        let bytes = cbor::encode(&value).unwrap();
        prop_assert_eq!(cbor::decode(&bytes).unwrap(), as_javascript(&value));
    }

    #[test]
    fn the_order_of_keys_does_not_matter(value in json()) {
        prop_assert_eq!(cbor::encode(&value).unwrap(), cbor::encode(&reversed(&value)).unwrap());
    }

    #[test]
    fn a_decoded_value_survives_encoding_and_decoding(bytes in bytes()) {
        if let Ok(value) = cbor::decode(&bytes) {
            let again = cbor::decode(&cbor::encode(&value).unwrap());
            prop_assert_eq!(again.unwrap(), value);
        }
    }

    #[test]
    fn a_changed_byte_is_refused_or_another_value(value in json(), at in any::<usize>(), by in 1..=255_u8) {
        let mut bytes = cbor::encode(&value).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= by;
        if let Ok(other) = cbor::decode(&bytes) {
            prop_assert!(other != as_javascript(&value));
        }
    }
}
