//! Servers that say nothing any more, and servers that are slow.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use uwf_remote::{Acquired, Given, Part, Put, Remote, RemoteError, Want, Which};
use uwf_remote_postgres::{Limits, Postgres};

use crate::admin::Admin;
use crate::cuts::{Cut, proxy};
use crate::world::{START, hash, large_node, new_thread, node, owner, record, start_nodes, thread};
use crate::{InSchema, postgres};

/// How long a server may be silent in these tests.
const LIMIT: Duration = Duration::from_secs(1);

/// Returns a client that goes by another port to the server of a place.
fn through(place: &InSchema, other: impl FnOnce(u16) -> u16) -> Postgres {
    let port: u16 = place
        .url
        .rsplit([':', '/'])
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let url = place
        .url
        .replace(&port.to_string(), &other(port).to_string());
    let place = InSchema {
        url,
        schema: place.schema.clone(),
    };
    place.open_within(short())
}

/// Short limits for all calls that a step makes.
fn short() -> Limits {
    Limits {
        call: LIMIT,
        look_up: LIMIT,
        ..Limits::default()
    }
}

/// A part with all nodes.
const ALL: Part = Part {
    skip: 0,
    at_most: NonZeroUsize::MAX,
};

#[test]
fn a_call_that_stays_without_an_answer_is_made_once_more_by_another_connection() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let silent = Cut {
        passed: None,
        is_silent: true,
    };
    let plan = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Some(silent)
    };
    let mut remote = through(&place, |port| proxy(port, Arc::new(plan)));
    let begun = Instant::now();
    let away = remote.hello().unwrap_err();
    assert!(
        matches!(&away, RemoteError::Away(text) if text.contains("no answer within 1 second")),
        "{away}"
    );
    let took = begun.elapsed();
    assert!(took >= 2 * LIMIT, "{took:?}");
    assert!(asked.load(Ordering::SeqCst) >= 2);
}

/// Nobody comes to the nodes while this transaction lasts, so a server that looks for nodes says nothing.
fn keep_from_nodes(admin: &Admin, schema: &str) {
    admin.run(&format!(
        "BEGIN; LOCK TABLE {schema}.nodes, {schema}.threads IN ACCESS EXCLUSIVE MODE"
    ));
}

#[test]
fn a_server_that_looks_up_many_nodes_may_be_silent_for_longer_than_for_a_short_call() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let put = place
        .open()
        .put(&start_nodes(), Some(&new_thread(1, record(None))));
    assert_eq!(put, Ok(Put::Done));
    let admin = Admin::new(&server.url());
    let patient = || {
        place.open_within(Limits {
            look_up: Limits::default().look_up,
            ..short()
        })
    };
    let owner = owner(1);
    let want = Want {
        owner: &owner,
        lasts: Duration::from_secs(600),
        have: &[],
        at_most: usize::MAX,
    };
    let any = Which::Next {
        labels: &[],
        except: &[],
    };
    keep_from_nodes(&admin, &place.schema);
    let (given, next) = std::thread::scope(|scope| {
        let asked = scope.spawn(|| patient().closure(&[hash(START)], &[], ALL));
        let next = scope.spawn(|| patient().acquire(any, &want));
        // A short call would be given up after twice its limit.
        std::thread::sleep(4 * LIMIT);
        assert!(!asked.is_finished(), "{:?}", asked.join());
        assert!(!next.is_finished(), "{:?}", next.join());
        admin.run("COMMIT");
        (asked.join().unwrap(), next.join().unwrap())
    });
    assert!(matches!(given, Ok(Given::Nodes(_))), "{given:?}");
    assert!(matches!(next, Ok(Acquired::Leased(_))), "{next:?}");
}

#[test]
fn a_server_does_not_go_on_with_a_call_that_was_given_up() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let (admin, watcher) = (Admin::new(&server.url()), Admin::new(&server.url()));
    let mut remote = place.open_within(short());
    keep_from_nodes(&admin, &place.schema);
    let given = remote.closure(&[hash(1)], &[], ALL);
    assert!(matches!(given, Err(RemoteError::Away(_))), "{given:?}");
    let found = remote.find(thread(1), hash(1));
    assert!(matches!(found, Err(RemoteError::Away(_))), "{found:?}");
    let schema = &place.schema;
    let waiting = format!(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation IN ('{schema}.nodes'::regclass, '{schema}.threads'::regclass)"
    );
    // The server hears of it by a connection of its own.
    let until = Instant::now() + Duration::from_secs(30);
    while watcher.row(&waiting) != "0" {
        assert!(Instant::now() < until, "the server still works for nobody");
        std::thread::sleep(Duration::from_millis(50));
    }
    admin.run("COMMIT");
}

#[test]
fn a_call_that_the_server_cancels_is_not_made_again() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let admin = Admin::new(&server.url());
    keep_from_nodes(&admin, &place.schema);
    let limit = Duration::from_millis(400);
    let limited = InSchema {
        url: format!(
            "{}?options=-cstatement_timeout%3D{}",
            place.url,
            limit.as_millis()
        ),
        schema: place.schema.clone(),
    };
    let begun = Instant::now();
    let found = limited.open().find(thread(1), hash(1));
    assert!(
        matches!(&found, Err(RemoteError::Cancelled(text)) if text.contains("statement timeout")),
        "{found:?}"
    );
    assert!(begun.elapsed() < 4 * limit, "{:?}", begun.elapsed());
    admin.run("COMMIT");
}

/// Passes on what a server says by and by, and what a client says at once. Returns its port.
fn slow(server: u16) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (
                client.unwrap(),
                TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap(),
            );
            let (mut asks, mut asked) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut asks, &mut asked));
            std::thread::spawn(move || by_and_by(server, client));
        }
    });
    port
}

fn by_and_by(mut from: TcpStream, mut to: TcpStream) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        // A megabyte a second, however many bytes come at once.
        std::thread::sleep(Duration::from_micros(length as u64));
        if to.write_all(&piece[..length]).is_err() {
            return;
        }
    }
}

#[test]
fn nodes_that_take_longer_than_a_server_may_be_silent_come_if_something_always_comes() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let nodes = [node(1, &[]), large_node(50, 3_000_000)];
    assert_eq!(place.open().put(&nodes, None), Ok(Put::Done));
    let mut remote = through(&place, slow);
    let begun = Instant::now();
    match remote.closure(&[hash(50)], &[], ALL).unwrap() {
        Given::Nodes(closure) => assert_eq!(closure.nodes.len(), 2),
        Given::Lacking(nodes) => panic!("{nodes:?}"),
    }
    assert!(begun.elapsed() > 2 * LIMIT, "{:?}", begun.elapsed());
}
