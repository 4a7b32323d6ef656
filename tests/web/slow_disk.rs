//! A server whose log hangs, and whose readers and commands all wait: those who wait for none of them are answered.

use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use crate::attacks::COMMANDS;
use crate::forms::Person;
use crate::scene::Scene;
use crate::web_client::{Answer, Server, bearer};
use crate::world::{World, binary, path_with, wait_until};

/// How many requests read at once.
const READERS: usize = 8;

/// How many lines about refused requests are written at once.
const WRITERS: usize = 2;

/// How many more requests are refused meanwhile.
const MORE: usize = 3;

/// How soon those are answered who wait for nobody.
const SOON: Duration = Duration::from_secs(5);

/// What a server writes to stderr, which is also each line of its log. While nobody reads that and it is full, each line waits, as
/// on a disk that does not answer.
struct Log {
    pipe: File,
}

impl Log {
    /// Starts a server with such a log, and with a folder of programs before all others.
    fn of_server(world: &World, programs: &Path) -> (Self, Server) {
        let path = world.project().join("log");
        let made = world.command_of("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let pipe = File::options().read(true).write(true).open(&path).unwrap();
        let mut command = world.command_of("sh");
        command.args(["-c", "exec \"$@\" 2> log", "sh"]);
        command.arg(binary()).arg("serve");
        command
            .env("UWF_LOG", "info")
            .env("PATH", path_with(programs));
        (Self { pipe }, Server::of(world, command))
    }

    fn fill(&self) {
        let mut pipe = self.pipe.try_clone().unwrap();
        // The rest of it is written when the log goes on.
        std::thread::spawn(move || pipe.write_all(&[b' '; 1 << 20]));
        let mut before = 0;
        wait_until("the log is full", || {
            let now = ioctl_fionread(&self.pipe).unwrap();
            let is_full = now > 0 && now == before;
            before = now;
            is_full
        });
    }

    fn go_on(&self) {
        let mut pipe = self.pipe.try_clone().unwrap();
        std::thread::spawn(move || std::io::copy(&mut pipe, &mut std::io::sink()));
    }
}

/// Makes a `git` that waits for the file [`go`](Scene::go), and returns its folder. Each one that waits leaves a file in the folder
/// `waiting`.
fn slow_git(scene: &Scene) -> PathBuf {
    let project = scene.world.project();
    std::fs::create_dir(project.join("waiting")).unwrap();
    let body = format!(
        "cd '{}' || exit\n: > waiting/$$\nwhile [ -d waiting ] && [ ! -e go ]; do sleep 0.02; done\nexit 1",
        project.display()
    );
    let git = scene.world.script("slow/git", &body);
    git.parent().unwrap().to_owned()
}

/// Returns the address of a page for which `git` is asked.
pub(crate) fn page_by_git(scene: &Scene) -> String {
    let world = &scene.world;
    let commit = "git init --quiet && git -c user.name=Test -c user.email=test@localhost commit --quiet --allow-empty --message=first";
    let made = world.command_of("sh").args(["-c", commit]).status();
    assert!(made.unwrap().success());
    let thread = scene.thread();
    world.step(&thread).exits(0);
    format!("/steps/{}?files=all", scene.possible(&thread).1)
}

/// Sends a request with a wrong token, and does not wait for the answer.
fn stranger(server: &Server, thread: &str) -> TcpStream {
    let mut stream = server.connect();
    let request = format!(
        "POST /api/v1/threads/{thread}/kill HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer wrong\r\nContent-Length: 0\r\n\r\n",
        server.at
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

/// Checks that a request is answered soon although everything else waits.
#[track_caller]
fn is_answered(server: &Server, status: u16, path: &str, header: &str) {
    let begun = Instant::now();
    let answer = server.ask("GET", path, &[header], "");
    assert_eq!(answer.status, status, "{path} {header}");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

/// Checks that what was typed in a form is not lost while all commands wait.
#[track_caller]
fn is_refused_with_its_texts(person: &Person<'_>, form: &Answer) {
    let typed = [("workflow", "review"), ("prompt", "a <b>long</b> task")];
    let refused = person.send(form, "/new", &typed);
    assert_eq!(refused.status, 503, "{}", refused.body);
    for part in [
        "a &lt;b&gt;long&lt;/b&gt; task",
        "href=\"/new\"",
        "which is the most",
    ] {
        assert!(refused.body.contains(part), "{part}: {}", refused.body);
    }
}

#[test]
fn who_waits_for_no_disk_is_answered_and_those_who_left_take_no_place() {
    let scene = Scene::new(&[]);
    let slow = page_by_git(&scene);
    let (log, server) = Log::of_server(&scene.world, &slow_git(&scene));
    let thread = scene.thread();
    let pause = || {
        let path = format!("/api/v1/threads/{thread}/pause");
        server.ask("POST", &path, &[&bearer()], "").status
    };
    let person = Person::of(&server);
    let form = person.look("/new");
    log.fill();
    std::thread::scope(|scope| {
        // The line before each act waits. One command too many is refused: then all of them wait.
        let (ended, commands) = channel();
        for _ in 0..=COMMANDS {
            let (ended, pause) = (ended.clone(), &pause);
            scope.spawn(move || ended.send(pause()));
        }
        assert_eq!(commands.recv().unwrap(), 503);
        is_refused_with_its_texts(&person, &form);
        let read = || scope.spawn(|| server.get(&slow).status);
        let readers: Vec<_> = (0..READERS).map(|_| read()).collect();
        let waiting = scene.world.project().join("waiting");
        wait_until("all readers wait", || {
            std::fs::read_dir(&waiting).unwrap().count() == READERS
        });
        let strangers: Vec<_> = (0..WRITERS + MORE)
            .map(|_| stranger(&server, &thread))
            .collect();
        wait_until("those whose lines are left out have their answers", || {
            let has_answer = |stream: &&TcpStream| matches!(stream.peek(&mut [0]), Ok(1));
            strangers.iter().filter(has_answer).count() == MORE
        });
        // The others leave, and their lines wait.
        drop(strangers);
        is_answered(&server, 200, "/healthz", "X-None: 1");
        is_answered(&server, 200, "/login", "X-None: 1");
        is_answered(&server, 421, "/", "Host: evil.example");
        is_answered(&server, 303, "/", "X-None: 1");
        let person = scope.spawn(|| server.log_in());
        // The line about the log-in waits soon.
        for _ in 0..20 {
            is_answered(&server, 200, "/healthz", "X-None: 1");
            std::thread::sleep(Duration::from_millis(20));
        }
        log.go_on();
        File::create(scene.go()).unwrap();
        person.join().unwrap();
        assert!(readers.into_iter().all(|one| one.join().unwrap() == 200));
        let done: Vec<u16> = commands.iter().take(COMMANDS).collect();
        assert_eq!(done, [200; COMMANDS]);
    });
    for _ in 0..WRITERS {
        let wrong = ["Authorization: Bearer wrong"];
        let answer = server.ask("POST", "/api/v1/threads", &wrong, "");
        assert_eq!(answer.status, 401, "{}", answer.body);
    }
    let acts = scene.acts_in_log();
    let refused = acts.matches("by=nobody from=127.0.0.1 result=unknown");
    assert_eq!(refused.count(), 2 * WRITERS, "{acts}");
    assert!(acts.contains(&format!("left-out={MORE}")), "{acts}");
}
