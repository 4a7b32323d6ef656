//! Helpers that know no noun of the domain: Base32, ULIDs, front matter, time, time zones, sizes, amounts, suggestions,
//! command lines, causes of errors, differences of texts, names of secrets, texts without secrets, headers of tar archives,
//! and text for terminals, diagrams and Markdown pages.
//!
//! Everything here is pure: no files, no environment, no clock. Time and randomness come in as arguments.

pub mod amount;
pub mod ansi;
pub mod base32;
pub mod causes;
pub mod diagram;
pub mod front_matter;
pub mod line_diff;
pub mod markdown;
pub mod mask;
pub mod printable;
pub mod secret_name;
pub mod shell_words;
pub mod size;
pub mod suggest;
pub mod text;
pub mod time;
pub mod ulid;
pub mod ustar;
pub mod zone;
