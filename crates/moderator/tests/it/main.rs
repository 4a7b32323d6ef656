//! Tests of the moderator from outside, one file for each of its parts.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the helpers take what `json!` makes"
)]

mod checks;
mod common;
mod condition;
mod levels;
mod mustache_crate;
mod passages;
mod route;
mod suite_jsonata;
mod suite_mustache;
mod template;
mod total;
mod validate;
mod validate_conditions;
mod validate_statuses;
mod validate_templates;
mod vectors;
