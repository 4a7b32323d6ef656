//! What the calls of a step cost at a PostgreSQL server, beside `git commit` on the same disk, and how that grows with the size of the
//! remote, the length of a thread, and the number of workers.
//!
//! `cargo bench -p uwf-remote-postgres` starts a server of its own and prints tables. `UWF_BENCH_PAIRS` sets the number of rounds (40),
//! `UWF_BENCH_NODES` that of the nodes of the large remote (1,000,000); it has a thread for each ten of them.

#![expect(clippy::print_stdout, reason = "the tables are printed")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]

#[path = "../../../../tests/support/postgres_admin.rs"]
#[expect(dead_code, reason = "tests use the rest of it")]
mod admin;
#[path = "../../../../tests/support/postgres_guarded.rs"]
mod guarded;
#[path = "../../../../tests/support/postgres.rs"]
#[expect(dead_code, reason = "tests use the rest of it")]
mod postgres;
mod world;

use std::time::{Duration, Instant};

use admin::Admin;
use guarded::{ask_for_password, authority, folder_of, give};
use uwf_remote::{Acquired, Given, Part, Remote, Which};
use uwf_remote_postgres::Postgres;
use world::{Client, Clones, Repository, chain};

/// How long the workers of the last table work.
const WORK: Duration = Duration::from_secs(8);

fn main() {
    let Some(server) = postgres::own_server() else {
        return;
    };
    let rounds = number("UWF_BENCH_PAIRS", 40);
    let nodes = number("UWF_BENCH_NODES", 1_000_000);
    let url = server.socket_url();
    let (small, large) = (Client::new(&url), Client::new(&url));
    large.fill(nodes);
    println!(
        "| of a step at the remote | at {nodes} nodes, ms | in commits of git | in commits with `core.fsync=all` | in two transactions of one row |"
    );
    println!("|---|---|---|---|---|");
    steps(&large, rounds);
    println!("\n| of a step, with TLS and a password | ms | in pushes and fetches of git |");
    println!("|---|---|---|");
    guarded_steps(rounds);
    println!("\n| call | small, ms | large, ms | large / small |");
    println!("|---|---|---|---|");
    claims(&small, &large, rounds);
    long_threads(&small, rounds);
    println!("\n| fetch of 1,000 steps from nothing | ms | in commits of git |");
    println!("|---|---|---|");
    fetches(&large, rounds.min(10));
    println!("\n| workers | steps per second |");
    println!("|---|---|");
    for count in [1, 8, 32] {
        println!("| {count} | {:.0} |", workers(&large, count));
    }
}

/// The connections of a step: one that was there before, a new one, as for a step of less than two seconds, or one for the lease and one
/// for the new head, as for a step that takes longer.
const CONNECTIONS: [(&str, usize); 3] = [
    ("on a connection that is kept", 0),
    ("on a new connection", 1),
    ("on two new connections", 2),
];

/// Takes the lease of a thread and moves its head, on so many new connections.
fn step(thread: &mut world::Thread, remote: &mut Postgres, new: usize) {
    if new > 0 {
        remote.rest();
    }
    let lease = thread.acquire(remote);
    if new > 1 {
        remote.rest();
    }
    thread.advance(remote, &lease);
}

/// Takes the lease of a thread and moves its head.
fn steps(client: &Client, rounds: usize) {
    let repository = Repository::new();
    let mut remote = client.open();
    // No server can keep a lease and a new head in less.
    let floor = client.one_row();
    for (name, new) in CONNECTIONS {
        let mut thread = client.thread(&mut remote, 1);
        let mut pairs = Vec::new();
        for _ in 0..=rounds {
            let commit = time(|| repository.commit());
            let durable = time(|| repository.durable_commit());
            let least = time(|| {
                floor.change();
                floor.change();
            });
            let step = time(|| step(&mut thread, &mut remote, new));
            pairs.push([step, commit, durable, least]);
        }
        // The first round fills caches.
        let pairs = &pairs[1..];
        let step = median(pairs.iter().map(|pair| pair[0]));
        let [commits, durable, least] =
            [1, 2, 3].map(|with| median(pairs.iter().map(|pair| pair[0] / pair[with])));
        println!(
            "| lease and new head, {name} | {step:.1} | {commits:.2} | {durable:.2} | {least:.2} |"
        );
    }
}

/// Takes the lease of a thread and moves its head, as a person does who sends a commit and another who brings it.
fn guarded_steps(rounds: usize) {
    const PASSWORD: &str = "open-sesame";
    let Some(server) = postgres::own_server() else {
        return;
    };
    let admin = Admin::new(&server.url());
    ask_for_password(&admin, "machine", PASSWORD);
    let (shown, folder) = (authority(4000), folder_of(&admin));
    give(&folder, "server.crt", &shown.certificate);
    give(&folder, "server.key", &shown.key);
    admin.run("ALTER SYSTEM SET ssl = on");
    server.kill_and_start();
    let ours = tempfile::tempdir().unwrap();
    let file = ours.path().join("authority.pem");
    std::fs::write(&file, &shown.pem).unwrap();
    let url = server.url().replace(postgres::USER, "machine");
    let url = format!("{url}?sslrootcert={}", file.display());
    let client = Client::with_password(&url, PASSWORD);
    let mut remote = client.open();
    let mut thread = client.thread(&mut remote, 1);
    let clones = Clones::new();
    for (name, new) in &CONNECTIONS[1..] {
        let mut pairs = Vec::new();
        for _ in 0..=rounds {
            clones.commit();
            let exchange = time(|| clones.push_and_fetch());
            let step = time(|| step(&mut thread, &mut remote, *new));
            pairs.push([step, exchange]);
        }
        let pairs = &pairs[1..];
        let step = median(pairs.iter().map(|pair| pair[0]));
        let ratio = median(pairs.iter().map(|pair| pair[0] / pair[1]));
        println!("| lease and new head, {name} | {step:.1} | {ratio:.2} |");
    }
}

/// Asks for the next ready thread, where a few are ready, and where one of ten of very many are.
fn claims(small: &Client, large: &Client, rounds: usize) {
    small.fill(1000);
    let owners = [small, large].map(|client| (client, client.open()));
    compare("the next thread", rounds, owners, |(client, remote)| {
        let owner = client.new_owner();
        let want = client.want_next(&owner);
        let taken = remote
            .acquire(
                Which::Next {
                    labels: &[],
                    except: &[],
                },
                &want,
            )
            .unwrap();
        let Acquired::Leased(leased) = taken else {
            panic!("no thread is ready: {taken:?}");
        };
        remote.release(&leased.lease, &leased.record).unwrap();
    });
}

/// Takes the lease of a thread whose head is known here, of a short and of a long one.
fn long_threads(client: &Client, rounds: usize) {
    let threads = [10, 10_000].map(|steps| {
        let mut remote = client.open();
        (client.thread(&mut remote, steps), remote)
    });
    compare(
        "a lease at 10 steps, and at 10,000",
        rounds,
        threads,
        |(thread, remote)| {
            let lease = thread.acquire(remote);
            thread.release(remote, &lease);
        },
    );
}

/// Brings all nodes of a thread.
fn fetches(client: &Client, rounds: usize) {
    let repository = Repository::new();
    let mut remote = client.open();
    let thread = client.thread(&mut remote, 1000);
    let mut pairs = Vec::new();
    for _ in 0..=rounds {
        let commit = time(|| repository.commit());
        let fetch = time(|| {
            let part = Part {
                skip: 0,
                at_most: std::num::NonZeroUsize::MAX,
            };
            let given = remote.closure(&[thread.head()], &[], part).unwrap();
            let Given::Nodes(closure) = given else {
                panic!("nodes are missing");
            };
            assert!(closure.nodes.len() > 5000 && closure.complete);
        });
        pairs.push([fetch, commit]);
    }
    let pairs = &pairs[1..];
    let fetch = median(pairs.iter().map(|pair| pair[0]));
    let ratio = median(pairs.iter().map(|pair| pair[0] / pair[1]));
    println!("| {} nodes | {fetch:.0} | {ratio:.1} |", chain(1000));
}

/// Returns how many steps per second so many workers do, each with a connection of its own.
fn workers(client: &Client, count: usize) -> f64 {
    let begun = Instant::now();
    let done: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..count)
            .map(|_| {
                scope.spawn(|| {
                    let mut remote = client.open();
                    let mut done = 0;
                    while begun.elapsed() < WORK {
                        done += usize::from(client.step_next(&mut remote));
                    }
                    done
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    });
    f64::from(u32::try_from(done).unwrap()) / begun.elapsed().as_secs_f64()
}

/// Prints the medians of a call in two places, called in turn, and of their ratios.
fn compare<T>(name: &str, rounds: usize, mut places: [T; 2], call: impl Fn(&mut T)) {
    let mut pairs = Vec::new();
    for _ in 0..=rounds {
        pairs.push(places.each_mut().map(|place| time(|| call(place))));
    }
    let pairs = &pairs[1..];
    let [small, large] = [0, 1].map(|at| median(pairs.iter().map(|pair| pair[at])));
    let ratio = median(pairs.iter().map(|pair| pair[1] / pair[0]));
    println!("| {name} | {small:.2} | {large:.2} | {ratio:.2} |");
}

/// Returns how many milliseconds a call takes.
fn time(call: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    call();
    begun.elapsed().as_secs_f64() * 1000.0
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().expect("a number"))
}
