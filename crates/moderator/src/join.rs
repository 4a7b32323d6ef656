//! When the branches of a role are done.

use uwf_protocol::work::Join;

/// What became of the branches of a role so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many branches there are.
    pub all: u64,
    /// How many have reached their end.
    pub ended: u64,
    /// How many have failed for good.
    pub failed: u64,
}

/// What the branches of a role come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// They go on.
    Open,
    /// Enough have ended.
    Done,
    /// Too many have failed.
    Failed,
}

/// Decides whether the branches of a role go on. If all must end, the others go on after a failure: their results are wanted.
#[must_use]
pub fn joined(join: Join, tally: Tally) -> Joined {
    let needed = join.needed(tally.all);
    if tally.ended >= needed {
        return Joined::Done;
    }
    let is_failed = match join {
        Join::All => tally.ended + tally.failed >= tally.all,
        Join::Any | Join::Count(_) => tally.all - tally.failed.min(tally.all) < needed,
    };
    match is_failed {
        true => Joined::Failed,
        false => Joined::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(join: Join, ended: u64, failed: u64) -> Joined {
        let all = 4;
        joined(join, Tally { all, ended, failed })
    }

    #[test]
    fn all_branches_go_on_to_their_ends_and_any_other_number_stops_as_soon_as_it_is_decided() {
        assert_eq!(of(Join::All, 3, 0), Joined::Open);
        assert_eq!(of(Join::All, 4, 0), Joined::Done);
        assert_eq!(of(Join::All, 2, 1), Joined::Open);
        assert_eq!(of(Join::All, 3, 1), Joined::Failed);
        assert_eq!(of(Join::Any, 0, 3), Joined::Open);
        assert_eq!(of(Join::Any, 1, 3), Joined::Done);
        assert_eq!(of(Join::Any, 0, 4), Joined::Failed);
        assert_eq!(of(Join::Count(2), 1, 2), Joined::Open);
        assert_eq!(of(Join::Count(2), 1, 3), Joined::Failed);
        assert_eq!(of(Join::Count(9), 4, 0), Joined::Done);
        assert_eq!(joined(Join::All, Tally::default()), Joined::Done);
        assert_eq!(joined(Join::Any, Tally::default()), Joined::Done);
    }
}
