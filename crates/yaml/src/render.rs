//! Writes data as YAML.

/// Returns plain data as a block of YAML.
///
/// # Panics
/// If the data has no YAML form, such as a map with keys that are not strings.
pub fn render<T: serde::Serialize>(data: &T) -> String {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(data, options).expect("plain data has a YAML form")
}

/// Returns plain data as YAML for people: texts of several lines are blocks.
///
/// # Panics
/// See [`render`].
pub fn render_for_people<T: serde::Serialize>(data: &T) -> String {
    serde_saphyr::to_string(data).expect("plain data has a YAML form")
}
