//! How many connections to the server a step of a shared thread needs, and for how long it keeps one.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::gates::{at_work, open_gate};
use crate::postgres::Server;
use crate::sharing::{at_remote, head, with_server};
use crate::sharing_place::Place;
use crate::world::{World, wait_until};

/// The connections of a machine.
#[derive(Default)]
struct Connections {
    made: AtomicUsize,
    open: AtomicUsize,
}

impl Connections {
    /// Lets a machine ask the server by a proxy that counts.
    fn of(server: &Server, world: &World) -> Arc<Self> {
        let url = server.url();
        let port = url.rsplit([':', '/']).nth(1).unwrap();
        let (counted, target) = (Arc::new(Self::default()), port.parse::<u16>().unwrap());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let own = listener.local_addr().unwrap().port();
        world.configure(
            "remote.url",
            &url.replace(&format!(":{port}/"), &format!(":{own}/")),
        );
        let counting = Arc::clone(&counted);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let server = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).unwrap();
                let counting = Arc::clone(&counting);
                std::thread::spawn(move || counting.pass_on(&client.unwrap(), &server));
            }
        });
        counted
    }

    fn pass_on(&self, client: &TcpStream, server: &TcpStream) {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| io::copy(&mut { server }, &mut { client }));
            let _ = io::copy(&mut { client }, &mut { server });
            let _ = server.shutdown(Shutdown::Both);
        });
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_step_lets_go_of_its_connection_while_the_agent_works() {
    with_server(|server| {
        let place = Place::new(server);
        let one = &place.machines[0];
        let connections = Connections::of(server, one);
        let engine = at_work(one, &["thread", "step", &place.thread]);
        assert!(connections.made.load(Ordering::Relaxed) > 0);
        wait_until("the connection is closed", || {
            connections.open.load(Ordering::Relaxed) == 0
        });
        open_gate(one);
        assert!(engine.wait_with_output().unwrap().status.success());
    });
}

#[test]
fn a_server_on_the_same_machine_is_reached_by_its_socket() {
    with_server(|server| {
        let place = Place::new(server);
        let one = &place.machines[0];
        let socket = server.socket_url();
        let add = ["remote", "add", &socket, "--schema", &place.schema];
        one.uwf(&add).exits(0);
        one.step(&place.thread).exits(0);
        assert_eq!(
            at_remote(&place.machines[1], &place.thread)["head"],
            head(one, &place.thread)
        );
        let folder = one.root().join("no-server");
        let nowhere = format!("postgres:///uwf?host={}&user=uwf", folder.display());
        let add = ["remote", "add", &nowhere, "--schema", &place.schema];
        one.uwf(&add).exits(5).says(&folder.display().to_string());
    });
}

#[test]
fn a_step_that_takes_less_than_two_seconds_connects_once() {
    with_server(|server| {
        let place = Place::new(server);
        let one = &place.machines[0];
        let connections = Connections::of(server, one);
        // A remote at a new address is asked once which threads it shares.
        one.uwf(&["fetch"]).exits(0);
        let mut quick = 0;
        for _ in 0..10 {
            let (before, begun) = (connections.made.load(Ordering::Relaxed), Instant::now());
            one.step(&place.thread).exits(0);
            let made = connections.made.load(Ordering::Relaxed) - before;
            // On a machine that has much to do, a step may take longer.
            if begun.elapsed() < Duration::from_secs(2) {
                assert_eq!(made, 1);
                quick += 1;
            }
        }
        assert!(quick > 0);
    });
}
