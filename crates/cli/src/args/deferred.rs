//! Parts of the tree of commands that are made when they are needed.

use std::cell::Cell;
use std::ops::Deref;

use clap::error::Result as Parsed;
use clap::{ArgMatches, Args, Command, CommandFactory, FromArgMatches, Subcommand};

thread_local! {
    /// Whether the tree that is being made is whole. What the parsers derive takes no argument that could say so.
    static IS_WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// Returns the whole tree of commands, with all options, for help, completions and manual pages. A parser needs only the options of the
/// command that is called. To make all of them doubles the time before a command begins.
pub(crate) fn whole<C: CommandFactory>() -> Command {
    IS_WHOLE.set(true);
    let tree = C::command();
    IS_WHOLE.set(false);
    tree
}

/// The options of a command, or the commands below it, which are made when they are needed.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Adds to a command at once if the tree is made whole, or else later.
fn added(command: Command, add: fn(Command) -> Command) -> Command {
    match IS_WHOLE.get() {
        true => add(command),
        false => command.defer(add),
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Parsed<Self> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Parsed<Self> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Parsed<()> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        added(command, T::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        added(command, T::augment_args_for_update)
    }
}

impl<T: Subcommand> Subcommand for Deferred<T> {
    fn augment_subcommands(command: Command) -> Command {
        added(command, T::augment_subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        added(command, T::augment_subcommands_for_update)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}
