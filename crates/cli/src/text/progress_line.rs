//! The line about a running step, or about several.

use std::time::Duration;

use uwf_engine::Progress;
use uwf_util::printable::printable;
use uwf_util::text::{counted, one_line};

use super::table::cut;
use super::usage;

/// Returns the line, cut to the width: `writer by claude  1:05  last output 0:12 ago  12k tokens  $0.42`.
pub(crate) fn progress_line(progress: &Progress, width: usize) -> String {
    let who = format!("{} by {}", progress.role, progress.agent);
    let mut parts = vec![
        one_line(&printable(&who)),
        clock(progress.elapsed),
        last_output(progress),
    ];
    parts.extend(progress.usage.as_ref().and_then(usage::so_far));
    let facts = parts.split_off(1).join("  ");
    // The name gives way first: a person knows it.
    let room = width.saturating_sub(facts.chars().count() + 2);
    cut(&format!("{}  {facts}", cut(&parts[0], room.max(1))), width)
}

/// Returns the line about several threads: `2 threads at work, 3 of 7 done  0:12`.
pub(crate) fn jobs_line(at_work: usize, done: usize, all: usize, elapsed: Duration) -> String {
    let threads = counted(at_work, "thread");
    let time = clock(elapsed);
    format!("{threads} at work, {done} of {all} done  {time}")
}

fn last_output(progress: &Progress) -> String {
    match progress.last_output {
        Some(ago) => format!("last output {} ago", clock(ago)),
        None => "no output yet".to_owned(),
    }
}

/// Returns a time as `0:07`, `12:34` or `1:02:03`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(agent: &str) -> Progress {
        Progress {
            role: "writer".parse().unwrap(),
            agent: agent.to_owned(),
            elapsed: Duration::from_secs(65),
            last_output: Some(Duration::from_secs(12)),
            usage: None,
        }
    }

    #[test]
    fn the_line_says_who_works_how_long_and_when_it_was_heard_last() {
        let line = progress_line(&progress("claude"), 80);
        assert_eq!(line, "writer by claude  1:05  last output 0:12 ago");
        let silent = Progress {
            last_output: None,
            ..progress("claude")
        };
        let line = progress_line(&silent, 80);
        assert_eq!(line, "writer by claude  1:05  no output yet");
    }

    #[test]
    fn the_line_fits_the_terminal_and_keeps_its_figures() {
        let line = progress_line(&progress(&"x".repeat(100)), 40);
        assert_eq!(line, "writer by x…  1:05  last output 0:12 ago");
        assert_eq!(progress_line(&progress("claude"), 10).chars().count(), 10);
    }

    #[test]
    fn no_name_moves_the_cursor() {
        let line = progress_line(&progress("a\n\u{1b}[2Jb"), 80);
        assert!(!line.contains(['\n', '\u{1b}']), "{line:?}");
    }

    #[test]
    fn times_are_short() {
        let clocks = [7, 754, 3723].map(|seconds| clock(Duration::from_secs(seconds)));
        assert_eq!(clocks, ["0:07", "12:34", "1:02:03"]);
    }
}
