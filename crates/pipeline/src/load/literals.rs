//! W06, W07 and W08: texts that a program or a pattern takes as they are, though their author probably meant more.

use uwf_util::secret_name::is_secret_name;
use uwf_yaml::{Data, Key, Node};

use super::reader::Reader;
use crate::problem::Finding;
use crate::{Code, NameError, Template};

/// Warns of a member of data that is called like a secret and has a text in the file.
pub(super) fn warn_of_secret(key: &Key, value: &Node, reader: &mut Reader) {
    // A lone `key` is rather one of a record or of a mapping.
    let is_secret = is_secret_name(&key.text) && !key.text.eq_ignore_ascii_case("key");
    if is_secret && is_literal(value) {
        let hint = "leave it out, and name a variable of the environment under `secrets`";
        report_secret(key, hint, reader);
    }
}

/// Warns of a variable of the environment whose value stands in the file: of a secret, and of one with a `${…}`, which stays
/// as it is. `secrets` are the names of declared ones.
pub(super) fn warn_of_env(key: &Key, value: &Node, secrets: &[&str], reader: &mut Reader) {
    let name = &key.text;
    let is_declared = secrets.contains(&name.as_str()) || reader.secrets.contains(name);
    if is_declared {
        let hint = "leave it out of `env`: its value wins over that of the secret";
        report_secret(key, hint, reader);
    } else if is_secret_name(name) && is_literal(value) {
        let hint = format!("leave it out, and list `{name}` under `secrets`");
        report_secret(key, &hint, reader);
    }
    if let Data::Text(text) = &value.data
        && has_variable(text)
    {
        let message =
            format!("`{name}` gets its `${{…}}` as it is: the values of `env` are literal");
        let hint = "give the value to the program as an argument";
        reader.report(Finding::new(value.at, Code::LiteralVariable, message).hint(hint));
    }
}

/// Warns of a pattern that cannot do what its author expects of `**`.
pub(super) fn warn_of_stars(node: &Node, pattern: &Template, reader: &mut Reader) {
    if pattern.with_names_as("x").contains("**") {
        let message = "`**` is no more than `*`: it leads into no folder";
        let hint = "write a pattern with one `*` for each folder, such as `src/*/*.rs`";
        reader.report(Finding::new(node.at, Code::TwoStars, message).hint(hint));
    }
}

fn report_secret(key: &Key, hint: &str, reader: &mut Reader) {
    let message = format!(
        "the value of `{}` stands in the file: the store keeps it as it is",
        key.text
    );
    reader.report(Finding::new(key.at, Code::SecretInFile, message).hint(hint));
}

fn is_literal(value: &Node) -> bool {
    match &value.data {
        Data::Text(text) => !text.is_empty() && !has_variable(text),
        Data::Number(_) => true,
        Data::Null | Data::Bool(_) | Data::List(_) | Data::Map(_) | Data::Broken => false,
    }
}

fn has_variable(text: &str) -> bool {
    match Template::parse(text) {
        Ok(template) => template.references().next().is_some(),
        Err(errors) => errors
            .iter()
            .any(|error| matches!(error, NameError::Env(_))),
    }
}
