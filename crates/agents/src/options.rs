//! Parses an adapter's own arguments: its options, and the arguments after `--`.

use std::time::Duration;

use uwf_util::{size, suggest, time};

/// An option that an adapter knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// An option with a value, `--name value` or `--name=value`, and its description.
    Valued(&'static str, &'static str),
    /// An option without a value, and its description.
    Flag(&'static str, &'static str),
}

/// Parsed arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments<'a> {
    /// The options in their order, each with its value. That of a flag is `None`.
    pub(crate) options: Vec<(&'static str, Option<String>)>,
    /// What follows the first `--`, if there is one.
    pub(crate) rest: Option<&'a [String]>,
}

/// Splits arguments into options and the rest.
pub(crate) fn parse<'a>(args: &'a [String], known: &[Known]) -> Result<Arguments<'a>, String> {
    let end = args.iter().position(|arg| arg == "--");
    let mut options = Vec::new();
    let mut own = args[..end.unwrap_or(args.len())].iter();
    while let Some(arg) = own.next() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let option = known.iter().find(|known| known.name() == name);
        let value = match option.ok_or_else(|| unknown(name, known))? {
            Known::Flag(..) if value.is_some() => return Err(format!("`{name}` takes no value")),
            Known::Flag(..) => None,
            Known::Valued(..) => {
                let value = value.or_else(|| own.next().cloned());
                Some(value.ok_or_else(|| format!("`{name}` needs a value"))?)
            }
        };
        let name = option.map_or("", |option| option.name());
        options.push((name, value));
    }
    Ok(Arguments {
        options,
        rest: end.map(|end| &args[end + 1..]),
    })
}

/// Reads a value that is a time span.
pub(crate) fn duration(value: &str) -> Result<Duration, String> {
    let ms = time::parse_duration(value)
        .ok_or_else(|| format!("`{value}` is not a duration such as `90s` or `10m`"))?;
    Ok(Duration::from_millis(ms))
}

/// Reads a value that is a size, in bytes.
pub(crate) fn bytes(value: &str) -> Result<u64, String> {
    size::parse(value).ok_or_else(|| format!("`{value}` is not a size such as `64MiB`"))
}

impl Known {
    fn name(self) -> &'static str {
        match self {
            Self::Valued(name, _) | Self::Flag(name, _) => name,
        }
    }

    /// Returns the option as help lists it.
    fn listed(self) -> String {
        let (name, about) = match self {
            Self::Valued(name, about) => (format!("{name} <…>"), about),
            Self::Flag(name, about) => (name.to_owned(), about),
        };
        format!("  {name:<32} {about}")
    }
}

/// Returns the lines of help about options.
pub(crate) fn listed(known: &[Known]) -> String {
    let lines: Vec<String> = known.iter().map(|option| option.listed()).collect();
    lines.join("\n")
}

fn unknown(name: &str, known: &[Known]) -> String {
    if !name.starts_with('-') {
        return format!("`{name}` is not an option, and arguments stand after a `--`");
    }
    match suggest::nearest(name, known.iter().map(|known| known.name())) {
        Some(near) => format!("unknown option `{name}`; did you mean `{near}`?"),
        None => format!("unknown option `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Known; 3] = [
        Known::Valued("--model", "m"),
        Known::Valued("--timeout", "t"),
        Known::Flag("--force", "f"),
    ];

    fn check(args: &[&str], expected: Result<&[(&str, Option<&str>)], &str>) {
        let owned: Vec<String> = args.iter().map(ToString::to_string).collect();
        let parsed = parse(&owned, &KNOWN).map(|arguments| arguments.options);
        match (&parsed, expected) {
            (Ok(options), Ok(expected)) => {
                let options = options
                    .iter()
                    .map(|(name, value)| (*name, value.as_deref()));
                assert_eq!(options.collect::<Vec<_>>(), expected, "{args:?}");
            }
            (parsed, expected) => {
                assert_eq!(
                    parsed.as_ref().err().map(String::as_str),
                    expected.err(),
                    "{args:?}"
                );
            }
        }
    }

    #[test]
    fn options_have_their_values_beside_or_behind_them() {
        check(&[], Ok(&[]));
        check(
            &["--model", "a=b", "--force", "--model=c=d"],
            Ok(&[
                ("--model", Some("a=b")),
                ("--force", None),
                ("--model", Some("c=d")),
            ]),
        );
        check(&["--model=", "--", "--bogus"], Ok(&[("--model", Some(""))]));
    }

    #[test]
    fn what_follows_two_dashes_is_not_looked_at() {
        let args = ["--force", "--", "a", "--", "--force"].map(ToOwned::to_owned);
        assert_eq!(parse(&args, &KNOWN).unwrap().rest, Some(&args[2..]));
        assert_eq!(parse(&args[..1], &KNOWN).unwrap().rest, None);
    }

    #[test]
    fn mistakes_are_named() {
        check(
            &["--modle", "x"],
            Err("unknown option `--modle`; did you mean `--model`?"),
        );
        check(&["--zzz"], Err("unknown option `--zzz`"));
        check(
            &["x"],
            Err("`x` is not an option, and arguments stand after a `--`"),
        );
        check(&["--force=yes"], Err("`--force` takes no value"));
        check(&["--timeout", "--", "x"], Err("`--timeout` needs a value"));
        assert!(duration("soon").unwrap_err().contains("duration"));
        assert!(bytes("much").unwrap_err().contains("size"));
    }
}
