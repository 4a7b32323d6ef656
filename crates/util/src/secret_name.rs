//! Which names are those of secrets.

/// The endings of the names of secrets, in lower case and without separators between words.
const ENDINGS: &[&str] = &[
    "apikey",
    "accesskey",
    "privatekey",
    "token",
    "secret",
    "secretkey",
    "password",
    "passwd",
    "authorization",
    "credentials",
];

/// Tells whether a key, an option or a variable of this name holds a secret. Only the end of the name decides: `maxTokens`
/// and `apiKeyEnv` hold none, and to mask them would hide a setting.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let is_key = name
        .rsplit(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case("key"));
    let name = normalized(name);
    is_key || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Returns the letters and digits of a name in lower case.
fn normalized(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_tells() {
        for name in ["apiKey", "OPENAI_API_KEY", "--token", "MY_PASSWORD", "key"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["maxTokens", "apiKeyEnv", "monkey", "TOKEN_FILE", ""] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
