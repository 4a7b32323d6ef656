//! A PostgreSQL server for tests: made anew in a folder of its own, on a port of loopback, and ended with the last test that uses
//! it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The user of the databases.
pub(crate) const USER: &str = "uwf";

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    folder: tempfile::TempDir,
    port: u16,
    programs: PathBuf,
    keeper: Child,
}

/// The server of this process, while a test uses it.
static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());
/// How many schemas were named.
static SCHEMAS: AtomicU32 = AtomicU32::new(0);

/// Returns the one server that tests share. If there is no PostgreSQL on this machine, says that the test is skipped.
///
/// # Panics
/// If PostgreSQL is there and does not start, or if `UWF_TEST_POSTGRES=required` and it is not there.
#[must_use]
pub(crate) fn server() -> Option<Arc<Server>> {
    let programs = programs_or_skip()?;
    let mut known = SERVER
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(server) = known.upgrade() {
        return Some(server);
    }
    let server = Arc::new(Server::start(programs));
    *known = Arc::downgrade(&server);
    Some(server)
}

/// Returns a new server for a test that kills it, under the same conditions.
pub(crate) fn own_server() -> Option<Server> {
    programs_or_skip().map(Server::start)
}

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn programs_or_skip() -> Option<PathBuf> {
    let programs = programs();
    if programs.is_none() {
        let asked = std::env::var_os("UWF_TEST_POSTGRES");
        let is_required = asked.is_some_and(|value| value == "required");
        assert!(!is_required, "PostgreSQL is required, and there is none");
        println!("skipped: there is no PostgreSQL on this machine (initdb and postgres)");
    }
    programs
}

/// Returns the name of a schema that no other test of this process uses.
#[must_use]
pub(crate) fn new_schema() -> String {
    let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    format!("test_{}_{number}", std::process::id())
}

impl Server {
    fn start(programs: PathBuf) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("uwf-pg-")
            .tempdir()
            .expect("a folder can be made");
        let data = folder.path().join("data");
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = free.local_addr().expect("it has a port").port();
        drop(free);
        if is_root() {
            let owned = Command::new("chown")
                .arg("nobody")
                .arg(folder.path())
                .status();
            assert!(
                owned.is_ok_and(|status| status.success()),
                "the folder can be given to nobody"
            );
        }
        let made = as_user(&programs.join("initdb"))
            .args([
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                "--username",
                USER,
                "--pgdata",
            ])
            .arg(&data)
            .stdout(Stdio::null())
            .output()
            .expect("initdb starts");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let keeper = start_in(&programs, folder.path(), port);
        let server = Self {
            folder,
            port,
            programs,
            keeper,
        };
        server.wait();
        server
    }

    /// Returns the address of the server on loopback.
    #[must_use]
    pub(crate) fn url(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the address of the server on its socket in the file system.
    #[must_use]
    pub(crate) fn socket_url(&self) -> String {
        let (folder, port) = (self.folder.path().display(), self.port);
        format!("postgres:///postgres?host={folder}&port={port}&user={USER}")
    }

    /// Kills the server amid whatever it does. Its keeper starts it again on the same data.
    ///
    /// # Panics
    /// If it does not start.
    pub(crate) fn kill_and_start(&self) {
        let pid = self.pid().expect("it runs");
        let killed = Command::new("kill").args(["-KILL", &pid]).status();
        assert!(
            killed.is_ok_and(|status| status.success()),
            "it can be killed"
        );
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.pid().is_none_or(|new| new == pid) {
            assert!(Instant::now() < deadline, "{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.wait();
    }

    /// Ends the server, waits until it is gone, and keeps it from being started again.
    ///
    /// # Panics
    /// If it does not end.
    pub(crate) fn pause(&self) {
        std::fs::write(self.folder.path().join("paused"), "")
            .expect("its folder can be written to");
        let pid = self.pid().expect("it runs");
        let killed = Command::new("kill").args(["-QUIT", &pid]).status();
        assert!(
            killed.is_ok_and(|status| status.success()),
            "it can be ended"
        );
        // It waits for the end of its sessions, closes its port, and removes its record last.
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.pid().is_some() {
            assert!(Instant::now() < deadline, "{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts the server again that was ended.
    pub(crate) fn resume(&self) {
        std::fs::remove_file(self.folder.path().join("paused")).expect("it was ended");
        self.wait();
    }

    /// Returns the number of its process, as it has recorded it.
    fn pid(&self) -> Option<String> {
        let record = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid"));
        record.ok()?.lines().next().map(str::to_owned)
    }

    /// Waits until the server answers.
    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.answers() {
            assert!(Instant::now() < deadline, "{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn answers(&self) -> bool {
        let asked = with_libraries(Command::new(self.programs.join("pg_isready")))
            .args(["--quiet", "--host=127.0.0.1", "--port"])
            .arg(self.port.to_string())
            .status();
        asked.is_ok_and(|status| status.success())
    }

    /// Returns what the server has logged.
    #[must_use]
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Keeps a server running until its own input is closed, and then ends it with all sessions. The input is closed also if the
/// process of the test is killed.
const KEEPER: &str = r#"data=$1; shift
(while :; do [ -e "$data/../paused" ] || "$0" -D "$data" "$@" </dev/null; sleep 0.1; done) & loop=$!
read -r _
kill "$loop"; server=$(head -n 1 "$data/postmaster.pid")
kill -QUIT "$server"; while kill -0 "$server" 2>/dev/null; do sleep 0.02; done"#;

/// Starts a server with its keeper.
fn start_in(programs: &Path, folder: &Path, port: u16) -> Child {
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("log"));
    let mut keeper = as_user(Path::new("sh"));
    keeper
        .args(["-c", KEEPER])
        .arg(programs.join("postgres"))
        .arg(folder.join("data"))
        .args([
            "-p",
            &port.to_string(),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "max_connections=200",
        ])
        .arg("-k")
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log.expect("a log can be written"));
    keeper.spawn().expect("the server starts")
}

/// Returns a command for a user who is not root: PostgreSQL refuses to run as root.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new(if is_root() {
        Path::new("setpriv")
    } else {
        program
    });
    if is_root() {
        command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]);
        command.arg(program);
    }
    command.current_dir("/");
    with_libraries(command)
}

/// Returns a command with the libraries of programs that are unpacked and not installed.
fn with_libraries(mut command: Command) -> Command {
    let folder = std::env::var_os("UWF_TEST_POSTGRES_LIBRARIES");
    if let Some(folder) = folder.filter(|folder| !folder.is_empty()) {
        command.env("LD_LIBRARY_PATH", folder);
    }
    command
}

fn is_root() -> bool {
    let asked = Command::new("id").arg("-u").output();
    asked.is_ok_and(|asked| asked.stdout.trim_ascii() == b"0")
}

/// Returns the folder with the programs of PostgreSQL: the newest of those that Debian knows, or one on the path.
fn programs() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("UWF_TEST_POSTGRES_BIN") {
        return Some(PathBuf::from(named));
    }
    let has_all = |folder: &PathBuf| {
        ["initdb", "postgres", "pg_isready"]
            .iter()
            .all(|name| folder.join(name).exists())
    };
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut folders: Vec<PathBuf> = versions
        .map(|version| version.path().join("bin"))
        .filter(has_all)
        .collect();
    folders.sort();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    folders
        .pop()
        .or_else(|| std::env::split_paths(&paths).find(has_all))
}
