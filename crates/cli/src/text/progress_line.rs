//! The line about a running step, or about several.

use std::time::Duration;

use uwf_engine::{Doing, Progress};
use uwf_util::printable::printable;
use uwf_util::text::{counted, one_line};
use uwf_words::usage;

use super::table::cut;

/// Returns the line, cut to the width: `writer by claude  1:05  last output 0:12 ago  12k tokens  $0.42`.
pub(crate) fn progress_line(progress: &Progress, width: usize) -> String {
    let who = one_line(&printable(&format!(
        "{} by {}",
        progress.role, progress.agent
    )));
    let mut facts = vec![clock(progress.elapsed)];
    match &progress.doing {
        Doing::Waiting => facts.push("waits for a slot".to_owned()),
        Doing::StepOf { number, of } => facts.push(format!("step {number} of {of}")),
        Doing::Checking { check, elapsed } => {
            let check = one_line(&printable(check));
            facts.push(format!("checks {check} ({})", clock(*elapsed)));
        }
        Doing::Working {
            last_output: last,
            usage: used,
        } => {
            facts.push(last_output(*last));
            facts.extend(used.as_ref().and_then(usage::so_far));
        }
    }
    let facts = facts.join("  ");
    // The name gives way first: a person knows it.
    let room = width.saturating_sub(facts.chars().count() + 2);
    cut(&format!("{}  {facts}", cut(&who, room.max(1))), width)
}

/// How many threads are where.
pub(crate) struct JobCounts {
    pub(crate) at_work: usize,
    /// How many wait for a slot.
    pub(crate) waiting: usize,
    pub(crate) done: usize,
    pub(crate) all: usize,
}

/// Returns the line about several threads: `2 threads at work, 1 waits for a slot, 3 of 7 done  0:12`.
pub(crate) fn jobs_line(counts: &JobCounts, elapsed: Duration) -> String {
    let JobCounts {
        at_work,
        waiting,
        done,
        all,
    } = counts;
    let threads = counted(*at_work, "thread");
    let waiting = match waiting {
        0 => String::new(),
        1 => "1 waits for a slot, ".to_owned(),
        more => format!("{more} wait for a slot, "),
    };
    let time = clock(elapsed);
    format!("{threads} at work, {waiting}{done} of {all} done  {time}")
}

fn last_output(last: Option<Duration>) -> String {
    match last {
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
            doing: working(Some(Duration::from_secs(12))),
        }
    }

    fn working(last_output: Option<Duration>) -> Doing {
        Doing::Working {
            last_output,
            usage: None,
        }
    }

    #[test]
    fn the_line_says_who_works_how_long_and_when_it_was_heard_last() {
        let line = progress_line(&progress("claude"), 80);
        assert_eq!(line, "writer by claude  1:05  last output 0:12 ago");
        let silent = Progress {
            doing: working(None),
            ..progress("claude")
        };
        let line = progress_line(&silent, 80);
        assert_eq!(line, "writer by claude  1:05  no output yet");
        let waiting = Progress {
            doing: Doing::Waiting,
            ..progress("claude")
        };
        let line = progress_line(&waiting, 80);
        assert_eq!(line, "writer by claude  1:05  waits for a slot");
        let in_run = Progress {
            doing: Doing::StepOf { number: 2, of: 7 },
            ..progress("command")
        };
        let line = progress_line(&in_run, 80);
        assert_eq!(line, "writer by command  1:05  step 2 of 7");
    }

    #[test]
    fn the_line_about_several_threads_counts_those_that_wait() {
        let mut counts = JobCounts {
            at_work: 1,
            waiting: 0,
            done: 3,
            all: 7,
        };
        let time = Duration::from_secs(12);
        let line = jobs_line(&counts, time);
        assert_eq!(line, "1 thread at work, 3 of 7 done  0:12");
        counts.waiting = 1;
        let line = jobs_line(&counts, time);
        assert_eq!(
            line,
            "1 thread at work, 1 waits for a slot, 3 of 7 done  0:12"
        );
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
