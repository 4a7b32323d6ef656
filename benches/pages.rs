//! What pages of `uwf serve` cost: the list of many threads, a long thread, and what a server needs while nothing happens.
//!
//! `cargo bench -p uwf --bench pages` prints the tables of `docs/performance.md`. `UWF_BIN` names the binary that is measured in
//! place of the one that cargo built; `UWF_BENCH_ROUNDS` sets how often each page is asked for.

#![expect(clippy::print_stdout, reason = "the table is printed")]

mod seeded;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use seeded::World;

const DEFAULT_ROUNDS: usize = 21;
const TOKEN: &str = "a-token-of-the-benches-0123456789";
/// The pages of many threads.
const PAGES: [&str; 5] = [
    "/",
    "/?status=completed",
    "/?q=task-77",
    "/api/v1/threads",
    "/machine",
];
/// How many pages are open at once.
const OPEN: usize = 100;
/// How long a server is watched while nothing happens.
const IDLE: Duration = Duration::from_secs(10);

fn main() {
    // A fifth is active, as after some months.
    let usual = [100, 10_000]
        .map(|threads| Server::over(World::with_threads(threads / 5).and_ended(threads / 5 * 4)));
    lists("of which a fifth is active", &usual);
    drop(usual);
    let active = [100, 10_000].map(|threads| Server::over(World::with_threads(threads)));
    lists("all of them active", &active);
    drop(active);
    let long = [100, 10_000].map(|steps| Server::over(with_a_step_done(World::with_steps(steps))));
    println!("| page | 100 steps, ms | 10,000 steps, ms | ratio |");
    println!("|---|---|---|---|");
    println!("{}", row(&long, "the thread", Server::newest));
    println!(
        "{}",
        row(&long, "its way, as data", |server| {
            format!("/api/v1{}/graph", server.newest())
        })
    );
    println!("\n| server over 10,000 threads | |");
    println!("|---|---|");
    quiet(&Server::over(World::with_threads(2_000).and_ended(8_000)));
}

/// Does one more step by a command: with each, the number of steps and their sums are put on record, which pages read.
fn with_a_step_done(world: World) -> World {
    let agent = world.path("agent.sh");
    fs::write(&agent, "printf -- '---\\nnote: n\\n---\\n'\n").expect("a script is written");
    let arguments = serde_json::json!(["--", "sh", agent]).to_string();
    world.uwf(&["config", "set", "agents.program.command", "uwf-command"]);
    world.uwf(&["config", "set", "agents.program.args", &arguments]);
    let listed = world.uwf(&["thread", "list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let thread = listed[0]["thread"].as_str().expect("there is a thread");
    world.uwf(&["thread", "step", thread, "--agent", "program"]);
    world
}

/// Prints what the pages of 100 and of 10,000 threads take.
fn lists(which: &str, servers: &[Server; 2]) {
    println!("| page | 100 threads, {which}, ms | 10,000 threads, ms | ratio |");
    println!("|---|---|---|---|");
    for path in PAGES {
        println!(
            "{}",
            row(servers, &format!("`{path}`"), |_| path.to_owned())
        );
    }
    println!("{}\n", row(servers, "a thread", Server::newest));
}

/// Returns the first time of both servers, and the median times of further requests in turn.
fn row(servers: &[Server; 2], name: &str, path: impl Fn(&Server) -> String) -> String {
    let first = servers
        .each_ref()
        .map(|server| millis(server.get(&path(server))));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds() {
        for (server, times) in servers.iter().zip(&mut times) {
            times.push(server.get(&path(server)));
        }
    }
    let [few, many] = times.map(|mut times| {
        times.sort_unstable();
        millis(times[times.len() / 2])
    });
    let [few_first, many_first] = first;
    format!(
        "| {name} | {few:.1} (first {few_first:.1}) | {many:.1} (first {many_first:.1}) | {:.2} |",
        many / few
    )
}

/// Prints what a server needs while nothing happens, and what each open page adds to that.
fn quiet(server: &Server) {
    server.get("/");
    let busy = server.busy();
    let begin = Instant::now();
    std::thread::sleep(IDLE);
    println!("| idle, nobody listens | {} |", server.share(busy, begin));
    for (name, which) in [("its own", "RssAnon:"), ("with the program's", "VmRSS:")] {
        let memory = server.memory(which);
        println!("| memory after the first page, {name} | {memory:.1} MiB |");
    }
    let before = server.memory("VmRSS:");
    let open: Vec<BufReader<TcpStream>> = (0..OPEN).map(|_| server.open()).collect();
    let busy = server.busy();
    let begin = Instant::now();
    std::thread::sleep(IDLE);
    println!(
        "| idle, {OPEN} pages are open | {} |",
        server.share(busy, begin)
    );
    let grown = (server.memory("VmRSS:") - before) / OPEN as f64;
    println!("| memory for each open page | {grown:.3} MiB |");
    drop(open);
}

fn rounds() -> usize {
    let rounds = std::env::var("UWF_BENCH_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok());
    rounds.unwrap_or(DEFAULT_ROUNDS)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A server over a root.
struct Server {
    world: World,
    child: Child,
    at: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn over(world: World) -> Self {
        let token = world.path("token");
        fs::write(&token, TOKEN).expect("a token");
        let named = std::env::var_os("UWF_BIN").map(PathBuf::from);
        let binary = named.unwrap_or_else(|| env!("CARGO_BIN_EXE_uwf").into());
        let mut child = Command::new(binary)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--format",
                "json",
                "--token-file",
            ])
            .arg(token)
            .arg("--root")
            .arg(world.path("root"))
            .current_dir(world.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let printed = child.stdout.take().expect("its output");
        BufReader::new(printed)
            .read_line(&mut line)
            .expect("its address");
        let first: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let at = first["listen"].as_str().expect("an address").to_owned();
        Self { world, child, at }
    }

    /// Returns the address of the newest thread.
    fn newest(&self) -> String {
        let listed = self
            .world
            .uwf(&["thread", "list", "--limit", "1", "--format", "json"]);
        let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
        let listed = listed.get("threads").unwrap_or(&listed);
        format!(
            "/threads/{}",
            listed[0]["thread"].as_str().expect("a thread")
        )
    }

    fn ask(&self, path: &str, connection: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.at).expect("a connection");
        let at = &self.at;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: {connection}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("a request");
        stream
    }

    /// Returns how long a page takes.
    fn get(&self, path: &str) -> Duration {
        let begin = Instant::now();
        let mut answer = Vec::new();
        self.ask(path, "close")
            .read_to_end(&mut answer)
            .expect("an answer");
        let took = begin.elapsed();
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{path}: {}",
            String::from_utf8_lossy(&answer)
        );
        took
    }

    /// Opens a page with its stream of events.
    fn open(&self) -> BufReader<TcpStream> {
        self.get("/");
        let mut stream = BufReader::new(self.ask("/api/v1/events", "keep-alive"));
        let mut line = String::new();
        while !line.starts_with("event: hello") {
            line.clear();
            stream.read_line(&mut line).expect("an event");
        }
        stream
    }

    /// Returns the memory of the server in MiB: `RssAnon` is its own, `VmRSS` counts the pages of the program's file, too.
    fn memory(&self, which: &str) -> f64 {
        let file = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(file).expect("a status");
        let line = status.lines().find(|line| line.starts_with(which));
        let words = line.expect("a size").split_whitespace().nth(1);
        let kilobytes: f64 = words.and_then(|word| word.parse().ok()).expect("a number");
        kilobytes / 1024.0
    }

    /// Returns how long the server has worked, in ticks of the kernel.
    fn busy(&self) -> u64 {
        let file = format!("/proc/{}/stat", self.child.id());
        let stat = fs::read_to_string(file).expect("a stat");
        let (_, rest) = stat.rsplit_once(')').expect("a name");
        let times = rest.split_whitespace().skip(11).take(2);
        times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
    }

    /// Returns which share of a core the server has used since then. A tick is 10 ms.
    fn share(&self, busy: u64, since: Instant) -> String {
        let ticks = self.busy() - busy;
        let share = ticks as f64 / since.elapsed().as_secs_f64();
        format!("{share:.1} % of a core")
    }
}
