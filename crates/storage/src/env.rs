//! The machine as a value: variables, working directory, clock and randomness. No other code asks for them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use uwf_protocol::machine::MachineId;
use xxhash_rust::xxh64::xxh64;

/// Where a machine says which one it is: its own id, or else its name.
const NAMES: [&str; 2] = ["/etc/machine-id", HOST_NAME];
/// Where the kernel tells the name of the machine.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// The environment of a process.
///
/// Variables and directories are captured once. The clock and the source of randomness are asked at each call, unless the
/// value was built by hand.
#[derive(Debug, Clone)]
pub struct Env {
    variables: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
    home: Option<PathBuf>,
    started_ms: i64,
    source: Source,
}

/// Where time and randomness come from.
#[derive(Debug, Clone, Copy)]
enum Source {
    Machine,
    Fixed { now_ms: i64, random: u128 },
}

impl Env {
    /// Captures the environment of this process.
    ///
    /// If the working directory was removed, it is `.`: then only those calls fail that need it.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            started_ms: machine_ms(),
            source: Source::Machine,
        }
    }

    /// Builds an environment by hand: the home directory is the variable `HOME`, time stands still, and
    /// every random number is the same.
    #[must_use]
    pub fn from_parts(
        variables: &[(&str, &str)],
        cwd: impl Into<PathBuf>,
        now_ms: i64,
        random: u128,
    ) -> Self {
        let variables: BTreeMap<OsString, OsString> = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let home = variables
            .get(OsStr::new("HOME"))
            .filter(|home| !home.is_empty());
        Self {
            home: home.map(PathBuf::from),
            variables,
            cwd: cwd.into(),
            started_ms: now_ms,
            source: Source::Fixed { now_ms, random },
        }
    }

    /// Adds the variables that are not set yet, such as those of `.env`.
    #[must_use]
    pub fn with_defaults(mut self, variables: Vec<(String, String)>) -> Self {
        for (name, value) in variables {
            self.variables.entry(name.into()).or_insert(value.into());
        }
        self
    }

    /// Returns the value of a variable; one that is empty, or not Unicode, counts as unset.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name)?.to_str()
    }

    /// Returns the value of a variable that names a path; an empty one counts as unset.
    #[must_use]
    pub fn var_os(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value)
    }

    /// Returns all variables, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let variables = self.variables.iter();
        variables.map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Tells whether a variable exists, even if it is empty.
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.variables.contains_key(OsStr::new(name))
    }

    /// Returns the working directory.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the home directory, if there is one.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the directories of `PATH`, in order. Empty entries, which would mean the working directory, are left out.
    pub fn search_path(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let path = self.var_os("PATH").unwrap_or_default();
        std::env::split_paths(path).filter(|directory| !directory.as_os_str().is_empty())
    }

    /// Returns the file of a program. A name with a slash is a path; any other name is looked up in `PATH`.
    #[must_use]
    pub fn find_program(&self, command: &str) -> Option<PathBuf> {
        if command.contains('/') {
            return Some(self.cwd.join(command));
        }
        let mut candidates = self.search_path().map(|directory| directory.join(command));
        candidates.find(|file| file.is_file())
    }

    /// Returns the time in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        match self.source {
            Source::Machine => machine_ms(),
            Source::Fixed { now_ms, .. } => now_ms,
        }
    }

    /// Returns when this value was made, which is when the process started, in milliseconds since 1970.
    #[must_use]
    pub fn started_ms(&self) -> i64 {
        self.started_ms
    }

    /// Returns 128 random bits of the kernel. This needs no device file.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn random(&self) -> io::Result<u128> {
        match self.source {
            Source::Machine => machine_random(),
            Source::Fixed { random, .. } => Ok(random),
        }
    }

    /// Returns the id of this process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        std::process::id()
    }

    /// Returns the file of the running program. If the file was replaced or removed meanwhile, this is the kernel's own
    /// name for it, which still works.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        let own = std::env::current_exe().ok().filter(|file| file.is_file());
        own.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
    }
}

/// Returns the id of this machine. It stays the same when the machine starts anew, and tells nobody what the machine calls
/// itself. The machine is asked once.
#[must_use]
pub fn machine_id() -> MachineId {
    static ID: LazyLock<MachineId> = LazyLock::new(|| {
        let mut names = NAMES.iter().filter_map(|file| name_in(Path::new(file)));
        let name = names.next().unwrap_or_default();
        MachineId::from_u64(xxh64(format!("uwf {name}").as_bytes(), 0))
    });
    *ID
}

/// Returns what this machine calls itself, for people.
#[must_use]
pub fn machine_name() -> String {
    name_in(Path::new(HOST_NAME)).unwrap_or_default()
}

fn name_in(file: &Path) -> Option<String> {
    let content = uwf_durable::read(file).ok()??;
    let name = String::from_utf8(content).ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

fn machine_ms() -> i64 {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}

fn machine_random() -> io::Result<u128> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(u128::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset_but_is_there() {
        let env = Env::from_parts(&[("A", ""), ("B", "b")], "/", 0, 0);
        assert_eq!(env.var("A"), None);
        assert!(env.is_set("A"));
        assert_eq!(env.var("B"), Some("b"));
        assert!(!env.is_set("C"));
    }

    #[test]
    fn what_is_set_wins_over_a_default() {
        let default = |name: &str| (name.to_owned(), "default".to_owned());
        let env = Env::from_parts(&[("A", "a")], "/", 0, 0);
        let env = env.with_defaults(vec![default("A"), default("B")]);
        assert_eq!((env.var("A"), env.var("B")), (Some("a"), Some("default")));
    }

    #[test]
    fn the_working_directory_is_never_searched_for_programs() {
        let env = Env::from_parts(&[("PATH", "/a::/b:")], "/", 0, 0);
        let path: Vec<_> = env.search_path().collect();
        assert_eq!(path, [Path::new("/a"), Path::new("/b")]);
        assert_eq!(Env::from_parts(&[], "/", 0, 0).search_path().count(), 0);
    }

    #[test]
    fn the_machine_has_a_clock_and_randomness() {
        let env = Env::of_process();
        assert!(env.now_ms() > 1_700_000_000_000);
        assert_ne!(env.random().unwrap(), env.random().unwrap());
    }

    #[test]
    fn the_machine_has_a_name_that_its_id_does_not_tell() {
        let name = NAMES.iter().find_map(|file| name_in(Path::new(file)));
        let name = name.expect("Linux has a host name");
        assert!(!machine_id().to_string().contains(&name));
        assert_eq!(machine_id(), machine_id());
    }
}
