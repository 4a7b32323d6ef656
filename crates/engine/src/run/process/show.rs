//! Showing an agent's stderr while it runs.

use std::fs::File;
use std::io;

use uwf_process::Output;
use uwf_util::mask::{MaskStream, Masks};
use uwf_util::printable::printable;

/// The agent's stderr. New text is passed on if somebody wants to see it.
pub(super) struct Shown {
    output: Output,
    /// Takes the secrets out of what is shown.
    masking: MaskStream,
    /// Masked bytes whose last character is not complete yet.
    masked: Vec<u8>,
    show: Option<fn(&str)>,
    /// Whether the text that was shown last ended in the middle of a line.
    in_line: bool,
}

/// The prefix of each shown line of the agent's stderr, so that no line looks like a message of ours.
const MARGIN: &str = "| ";

impl Shown {
    pub(super) fn new(output: Output, masks: &Masks, show: Option<fn(&str)>) -> Self {
        Self {
            output,
            masking: masks.stream(),
            masked: Vec::new(),
            show,
            in_line: false,
        }
    }

    pub(super) fn for_child(&self) -> io::Result<File> {
        self.output.for_child()
    }

    /// Tells whether the agent wrote something since the last call, and shows that.
    pub(super) fn look(&mut self) -> bool {
        let grown = self.output.look();
        if let Some(show) = self.show {
            self.show_news(show);
        }
        grown
    }

    /// Shows the rest, which may have been kept back because it looked like the beginning of a secret.
    pub(super) fn end(mut self) {
        self.look();
        self.masking.finish(&mut self.masked);
        if let Some(show) = self.show {
            show_bytes(&self.masked, &mut self.in_line, show);
        }
    }

    fn show_news(&mut self, show: fn(&str)) {
        while let Ok(news) = self.output.news()
            && !news.is_empty()
        {
            self.masking.push(&news, &mut self.masked);
            let complete = self.masked.len() - incomplete_character(&self.masked);
            show_bytes(&self.masked[..complete], &mut self.in_line, show);
            self.masked.drain(..complete);
        }
    }
}

fn show_bytes(bytes: &[u8], in_line: &mut bool, show: fn(&str)) {
    if !bytes.is_empty() {
        show(&with_margin(&String::from_utf8_lossy(bytes), in_line));
    }
}

/// Returns the text as a person sees it, with the margin before each line that starts in it.
/// `in_line` tells whether the text continues a line, and is updated.
fn with_margin(text: &str, in_line: &mut bool) -> String {
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        if !*in_line {
            shown.push_str(MARGIN);
        }
        *in_line = !line.ends_with('\n');
        shown.push_str(&printable(line));
    }
    shown
}

/// Returns how many bytes at the end belong to a character that is not complete yet.
fn incomplete_character(bytes: &[u8]) -> usize {
    let Some(last) = bytes.utf8_chunks().last() else {
        return 0;
    };
    let incomplete = str::from_utf8(last.invalid()).is_err_and(|error| error.error_len().is_none());
    if incomplete { last.invalid().len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_shown_behind_the_margin_however_it_comes() {
        let mut in_line = false;
        let mut show = |text: &str| with_margin(text, &mut in_line);
        assert_eq!(show("a\nhint: \u{1b}[2J"), "| a\n| hint: \\u{1b}[2J");
        assert_eq!(show("b"), "b");
        assert_eq!(show("\n\nc\n"), "\n| \n| c\n");
    }

    #[test]
    fn a_character_is_shown_when_it_is_whole() {
        let euro = "€".as_bytes();
        assert_eq!(incomplete_character(b""), 0);
        assert_eq!(incomplete_character(b"a"), 0);
        assert_eq!(incomplete_character(euro), 0);
        assert_eq!(incomplete_character(&euro[..2]), 2);
        assert_eq!(incomplete_character(b"a\xff"), 0, "never a character");
        assert_eq!(incomplete_character(b"\xffa\xe2"), 1);
    }
}
