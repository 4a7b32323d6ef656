//! Removes terminal escape sequences from what a program printed.

/// Returns the text without terminal escape sequences. Other control characters stay.
#[must_use]
pub fn without_sequences(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        match char {
            '\u{1b}' => skip_sequence(&mut rest),
            '\u{9b}' => skip_parameters(&mut rest),
            char => plain.push(char),
        }
    }
    plain
}

/// Skips what follows an escape character.
fn skip_sequence(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        Some('[') => skip_parameters(rest),
        // A string, such as a title: it ends with BEL or with `ESC \`. One that is cut off ends with its line.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let mut before = ' ';
            let is_end = |char: char, before: char| {
                matches!(char, '\u{7}' | '\n') || (before == '\u{1b}' && char == '\\')
            };
            for char in rest.by_ref() {
                if is_end(char, before) {
                    break;
                }
                before = char;
            }
        }
        Some(' '..='/') => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

/// Skips the parameters of a control sequence and the letter at its end.
fn skip_parameters(rest: &mut std::str::Chars<'_>) {
    rest.find(|char| matches!(char, '@'..='~' | '\n'));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_escape_sequences_are_left_out() {
        let check =
            |text: &str, plain: &str| assert_eq!(without_sequences(text), plain, "{text:?}");
        check("\u{1b}[91m\u{1b}[1mError:\u{1b}[0m no", "Error: no");
        check("a\u{1b}[2Jb\u{1b}[?25lc", "abc");
        check("\u{1b}]0;title\u{7}text", "text");
        check("\u{1b}]8;;http://x\u{1b}\\link", "link");
        check("\u{9b}31mred", "red");
        check("\u{1b}(Btext\u{1b}7", "text");
        check("plain ä\n\ttext [0m", "plain ä\n\ttext [0m");
        check("cut \u{1b}", "cut ");
        check("cut \u{1b}[3", "cut ");
    }
}
