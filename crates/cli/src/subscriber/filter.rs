//! The filter of `UWF_LOG`: `UWF_LOG=debug` for all crates, `UWF_LOG=info,uwf_engine=trace` with another level for one.

use std::str::FromStr;

use tracing::Metadata;
use tracing::level_filters::LevelFilter;

/// The levels of targets. If several targets match an event, the longest one decides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    levels: Vec<(String, LevelFilter)>,
}

impl Filter {
    /// Tells whether an event is shown.
    pub(super) fn passes(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level_of(metadata.target())
    }

    /// Returns the most verbose level of all targets.
    pub(super) fn most(&self) -> LevelFilter {
        let levels = self.levels.iter().map(|(_, level)| *level);
        levels.max().unwrap_or(LevelFilter::OFF)
    }

    fn level_of(&self, target: &str) -> LevelFilter {
        let fitting = self.levels.iter().filter(|(of, _)| is_in(target, of));
        let nearest = fitting.max_by_key(|(of, _)| of.len());
        nearest.map_or(LevelFilter::OFF, |(_, level)| *level)
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let levels = text.split(',').map(|part| {
            let (target, level) = part.split_once('=').unwrap_or(("", part));
            match level.trim().parse() {
                Ok(known) if !level.trim().is_empty() => Ok((target.trim().to_owned(), known)),
                _ => Err(format!("`{}` is not a level", level.trim())),
            }
        });
        Ok(Self {
            levels: levels.collect::<Result<_, String>>()?,
        })
    }
}

/// Tells whether a module is `of`, or inside it. Every module is inside the empty name.
fn is_in(module: &str, of: &str) -> bool {
    let rest = module.strip_prefix(of);
    of.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_target_that_fits_counts() {
        let filter: Filter = "info, uwf_engine=trace,uwf_engine::commit=off"
            .parse()
            .unwrap();
        for (target, expected) in [
            ("uwf", LevelFilter::INFO),
            ("uwf_engine", LevelFilter::TRACE),
            ("uwf_engine::cycle", LevelFilter::TRACE),
            ("uwf_engine::commit", LevelFilter::OFF),
            ("uwf_engines", LevelFilter::INFO),
        ] {
            assert_eq!(filter.level_of(target), expected, "{target}");
        }
        assert_eq!(filter.most(), LevelFilter::TRACE);
        assert_eq!(Filter::default().most(), LevelFilter::OFF);
    }

    #[test]
    fn what_is_not_a_level_is_an_error() {
        for (text, level) in [
            ("degub", "degub"),
            ("info,", ""),
            ("uwf_engine=", ""),
            ("uwf_engine=all", "all"),
        ] {
            let expected = Err(format!("`{level}` is not a level"));
            assert_eq!(text.parse::<Filter>(), expected, "{text}");
        }
    }
}
