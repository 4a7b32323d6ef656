//! The secret of a server. A visitor who knows it may do what the server allows.

use subtle::ConstantTimeEq;

/// The least length of a token that a person chose.
const LEAST: usize = 16;
/// The greatest length.
const MOST: usize = 256;

/// A secret. [`reveal`](Self::reveal) is the only way to its text.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenError {
    /// It has too few or too many characters.
    Length(usize),
    /// It has a character that is not a letter, a digit, `-`, `.`, `_` or `~`. These need no escape in an address or a header.
    Character,
}

impl std::fmt::Display for TokenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length(length) => write!(
                f,
                "a token has {LEAST} to {MOST} characters, and this one has {length}"
            ),
            Self::Character => {
                f.write_str("a token has letters, digits, `-`, `.`, `_` and `~` only")
            }
        }
    }
}

impl std::error::Error for TokenError {}

impl Token {
    /// Returns the token of these random bits.
    #[must_use]
    pub fn of_random(bits: [u128; 2]) -> Self {
        Self(format!("{:032x}{:032x}", bits[0], bits[1]))
    }

    /// Returns a text as a token.
    ///
    /// # Errors
    /// When it is too short or too long, or has a character that an address or a header would have to escape.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        match text.len() {
            LEAST..=MOST if text.chars().all(is_fit) => Ok(Self(text.to_owned())),
            LEAST..=MOST => Err(TokenError::Character),
            length => Err(TokenError::Length(length)),
        }
    }

    /// Returns the text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Tells whether a text is this token. The comparison takes the same time for every text of its length.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_fits_into_addresses_and_headers() {
        assert!(Token::parse("0123456789abcdef").is_ok());
        assert_eq!(Token::parse("short").unwrap_err(), TokenError::Length(5));
        let spaced = Token::parse("0123456789 abcdef").unwrap_err();
        assert_eq!(spaced, TokenError::Character);
        let drawn = Token::of_random([1, 2]);
        assert!(Token::parse(drawn.reveal()).is_ok());
        assert_eq!(drawn.reveal().len(), 64);
    }

    #[test]
    fn a_token_is_equal_to_itself_only_and_is_not_printed() {
        let token = Token::parse("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef"));
        assert!(!token.is("0123456789abcdeF"));
        assert!(!token.is("0123456789abcde"));
        assert!(!token.is(""));
        assert!(!format!("{token:?}").contains("0123"));
    }
}
