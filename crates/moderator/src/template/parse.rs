//! Parsing a template: tags, sections, delimiters, and lines with nothing but a tag.

use super::{MAX_DEPTH, Name, ParseError, ParseErrorKind, Part, Template, When, position_of};

/// Parses a template.
///
/// # Errors
/// When a tag or a section is not closed, sections overlap or are nested too deeply, a tag has no name, or a tag uses a
/// Liquid filter.
pub fn parse(source: &str) -> Result<Template<'_>, ParseError> {
    let mut parser = Parser {
        source,
        at: 0,
        open: "{{",
        close: "}}",
        parts: Vec::new(),
        sections: Vec::new(),
    };
    while let Some(found) = source[parser.at..].find(parser.open) {
        let start = parser.at + found;
        let tag = parser.tag(start)?;
        parser.accept(start, &tag)?;
    }
    parser.finish()
}

/// One tag: its kind, its content, and its end.
struct Tag<'t> {
    sigil: Sigil,
    content: Name<'t>,
    end: usize,
}

/// The kind of a tag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sigil {
    Variable,
    Begin(When),
    End,
    Partial,
    Comment,
    Delimiters,
}

/// A section whose end was not parsed yet. `outside` has the parts before the section.
struct OpenSection<'t> {
    name: Name<'t>,
    when: When,
    outside: Vec<Part<'t>>,
}

/// A template that is being parsed. The source before `at` is done.
struct Parser<'t> {
    source: &'t str,
    at: usize,
    open: &'t str,
    close: &'t str,
    parts: Vec<Part<'t>>,
    sections: Vec<OpenSection<'t>>,
}

impl<'t> Parser<'t> {
    /// Reads the tag that begins at `start`.
    fn tag(&self, start: usize) -> Result<Tag<'t>, ParseError> {
        let inside = start + self.open.len();
        let sigil_at = inside + leading_space(&self.source[inside..]);
        let (sigil, from, closing) = match self.source.as_bytes().get(sigil_at) {
            Some(b'#') => (Sigil::Begin(When::Present), sigil_at + 1, ""),
            Some(b'^') => (Sigil::Begin(When::Absent), sigil_at + 1, ""),
            Some(b'/') => (Sigil::End, sigil_at + 1, ""),
            Some(b'>') => (Sigil::Partial, sigil_at + 1, ""),
            Some(b'!') => (Sigil::Comment, sigil_at + 1, ""),
            Some(b'&') => (Sigil::Variable, sigil_at + 1, ""),
            Some(b'{') => (Sigil::Variable, sigil_at + 1, "}"),
            Some(b'=') => (Sigil::Delimiters, sigil_at + 1, "="),
            _ => (Sigil::Variable, inside, ""),
        };
        let closing = format!("{closing}{}", self.close);
        let Some(length) = self.source[from..].find(&closing) else {
            return Err(self.error(start, ParseErrorKind::OpenTag { close: closing }));
        };
        let raw = &self.source[from..from + length];
        Ok(Tag {
            sigil,
            content: Name {
                text: raw.trim(),
                offset: from + leading_space(raw),
            },
            end: from + length + closing.len(),
        })
    }

    /// Adds the text before a tag, and the part for the tag.
    fn accept(&mut self, start: usize, tag: &Tag<'t>) -> Result<(), ParseError> {
        let name = tag.content;
        let named = !matches!(tag.sigil, Sigil::Comment | Sigil::Delimiters);
        if named && name.text.is_empty() {
            return Err(self.error(start, ParseErrorKind::NoName));
        }
        if named && name.text.contains('|') {
            let tag = name.text.to_owned();
            return Err(self.error(name.offset, ParseErrorKind::Liquid { tag }));
        }
        let (text_end, next) = if tag.sigil == Sigil::Variable {
            (start, tag.end)
        } else {
            self.whole_line(start, tag.end).unwrap_or((start, tag.end))
        };
        if self.at < text_end {
            self.parts.push(Part::Text(&self.source[self.at..text_end]));
        }
        self.at = next;
        match tag.sigil {
            Sigil::Variable => self.parts.push(Part::Variable(name)),
            Sigil::Partial => self.parts.push(Part::Partial(name)),
            Sigil::Comment => {}
            Sigil::Begin(when) => self.begin(name, when)?,
            Sigil::End => self.end(name)?,
            Sigil::Delimiters => self.change_delimiters(name)?,
        }
        Ok(())
    }

    /// Returns the start of the tag's line and of the next line, if the line has only blanks beside the tag. Such a line is
    /// left out of the result.
    fn whole_line(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let before = self.source[..start].trim_end_matches([' ', '\t']);
        let after = self.source[end..].trim_start_matches([' ', '\t']);
        let rest = after
            .strip_prefix("\r\n")
            .or_else(|| after.strip_prefix('\n'))
            .or_else(|| after.is_empty().then_some(after))?;
        let begins = before.is_empty() || before.ends_with('\n');
        begins.then_some((before.len(), self.source.len() - rest.len()))
    }

    fn begin(&mut self, name: Name<'t>, when: When) -> Result<(), ParseError> {
        if self.sections.len() == MAX_DEPTH {
            return Err(self.error(name.offset, ParseErrorKind::TooDeep));
        }
        self.sections.push(OpenSection {
            name,
            when,
            outside: std::mem::take(&mut self.parts),
        });
        Ok(())
    }

    fn end(&mut self, name: Name<'t>) -> Result<(), ParseError> {
        let found = || name.text.to_owned();
        let Some(section) = self.sections.pop() else {
            return Err(self.error(name.offset, ParseErrorKind::StrayEnd { name: found() }));
        };
        if section.name.text != name.text {
            let open = section.name.text.to_owned();
            let found = found();
            return Err(self.error(name.offset, ParseErrorKind::CrossedEnd { open, found }));
        }
        let body = std::mem::replace(&mut self.parts, section.outside);
        self.parts.push(Part::Section {
            name: section.name,
            when: section.when,
            body,
        });
        Ok(())
    }

    fn change_delimiters(&mut self, pair: Name<'t>) -> Result<(), ParseError> {
        let mut words = pair.text.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(open), Some(close), None) if !pair.text.contains('=') => {
                self.open = open;
                self.close = close;
                Ok(())
            }
            _ => Err(self.error(pair.offset, ParseErrorKind::Delimiters)),
        }
    }

    /// Adds the text after the last tag.
    fn finish(mut self) -> Result<Template<'t>, ParseError> {
        if let Some(section) = self.sections.pop() {
            let name = section.name.text.to_owned();
            return Err(self.error(section.name.offset, ParseErrorKind::OpenSection { name }));
        }
        if self.at < self.source.len() {
            self.parts.push(Part::Text(&self.source[self.at..]));
        }
        Ok(Template {
            source: self.source,
            parts: self.parts,
        })
    }

    fn error(&self, offset: usize, kind: ParseErrorKind) -> ParseError {
        ParseError {
            position: position_of(self.source, offset),
            kind,
        }
    }
}

/// Returns how many bytes of white space a text begins with.
fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}
