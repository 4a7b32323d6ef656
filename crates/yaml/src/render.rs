//! Writes data as YAML.

/// Returns plain data as a block of YAML.
///
/// # Panics
/// If the data has no YAML form, such as a map with keys that are not strings.
pub fn render<T: serde::Serialize>(data: &T) -> String {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(data, options).expect("plain data has a YAML form")
}
