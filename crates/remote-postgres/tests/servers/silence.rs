//! Servers that say nothing any more, and servers that are slow.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use uwf_remote::{Given, Part, Put, Remote, RemoteError};
use uwf_remote_postgres::{Limits, Postgres};

use crate::cuts::{Cut, proxy};
use crate::world::{hash, large_node, node};
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
    place.open_within(Limits {
        call: LIMIT,
        ..Limits::default()
    })
}

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
    assert!(took >= 2 * LIMIT && took < 5 * LIMIT, "{took:?}");
    assert!(asked.load(Ordering::SeqCst) >= 2);
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
        if length == piece.len() {
            std::thread::sleep(Duration::from_millis(60));
        }
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
    let part = Part {
        skip: 0,
        at_most: usize::MAX.try_into().unwrap(),
    };
    let begun = Instant::now();
    match remote.closure(&[hash(50)], &[], part).unwrap() {
        Given::Nodes(closure) => assert_eq!(closure.nodes.len(), 2),
        Given::Lacking(nodes) => panic!("{nodes:?}"),
    }
    assert!(begun.elapsed() > 2 * LIMIT, "{:?}", begun.elapsed());
}
