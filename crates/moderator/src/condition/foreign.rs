//! Explaining operators of other languages in an expression that cannot be parsed.

/// Operators of other languages, and how JSONata writes them. The first match counts. An operator with an empty text exists
/// in JSONata, too.
const FOREIGN: [(&str, &str); 7] = [
    ("===", "equality is `=`"),
    ("!==", "inequality is `!=`"),
    ("!=", ""),
    ("==", "equality is `=`"),
    ("&&", "both is `and`"),
    ("||", "either is `or`"),
    ("!", "negation is `$not(…)`"),
];

/// Returns a message about the first operator that JSONata does not have.
pub(super) fn explain(expression: &str) -> Option<String> {
    let mut quote = None;
    let mut rest = expression.char_indices();
    while let Some((at, character)) = rest.next() {
        match quote {
            Some(_) if character == '\\' => drop(rest.next()),
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"' | '`') => quote = Some(character),
            None => {
                let here = &expression[at..];
                let found = FOREIGN.iter().find(|(word, _)| here.starts_with(word));
                match found {
                    Some((word, "")) => drop(rest.nth(word.len() - 2)),
                    Some((word, meant)) => {
                        let place = expression[..at].chars().count() + 1;
                        return Some(format!(
                            "`{word}` at character {place} is no operator: {meant}"
                        ));
                    }
                    None => {}
                }
            }
        }
    }
    None
}
