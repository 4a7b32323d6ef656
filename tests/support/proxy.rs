//! A proxy between a client and a server that cuts connections at the worst moments.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// How a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// How many bytes of the request the server gets; `None` if it gets all, and its answer is lost.
    pub(crate) passed: Option<usize>,
    /// Whether the connection stays open, without a word.
    pub(crate) is_silent: bool,
}

/// Tells for each request whether its connection is cut.
pub(crate) type Plan = Arc<dyn Fn() -> Option<Cut> + Send + Sync>;

/// Passes connections on to a server, and returns its own port.
pub(crate) fn proxy(server: u16, plan: Plan) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("it has a port").port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("a client comes");
            // A server that was ended takes none.
            let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else {
                continue;
            };
            let lost = Arc::new(Mutex::new(None));
            let halves = [(&client, &server), (&server, &client)].map(|(from, to)| {
                let half = |stream: &TcpStream| stream.try_clone().expect("a socket has two ends");
                (half(from), half(to))
            });
            let [(from_client, to_server), (from_server, to_client)] = halves;
            std::thread::spawn({
                let (plan, lost) = (Arc::clone(&plan), Arc::clone(&lost));
                move || pass_requests(from_client, to_server, &plan, &lost)
            });
            std::thread::spawn(move || pass_replies(from_server, to_client, &lost));
        }
    });
    port
}

/// Passes on what the client says. Its first message starts the session; the others are requests.
fn pass_requests(
    mut client: TcpStream,
    mut server: TcpStream,
    plan: &Plan,
    lost: &Mutex<Option<Cut>>,
) {
    let mut piece = vec![0; 64 * 1024];
    let mut is_first = true;
    let mut left = None;
    while let Ok(length @ 1..) = client.read(&mut piece) {
        let cut = match std::mem::take(&mut is_first) {
            true => None,
            false => plan(),
        };
        if let Some(cut) = cut {
            match cut.passed {
                Some(bytes) => left = Some(bytes),
                None => *lost.lock().expect("no thread panics") = Some(cut),
            }
        }
        let passed = left.map_or(length, |left: usize| left.min(length));
        if server.write_all(&piece[..passed]).is_err() {
            break;
        }
        if let Some(left) = &mut left {
            *left -= passed;
            if *left == 0 {
                break;
            }
        }
    }
    end(&client, &server);
}

/// Passes on what the server says, until an answer is to be lost.
fn pass_replies(mut server: TcpStream, mut client: TcpStream, lost: &Mutex<Option<Cut>>) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = server.read(&mut piece) {
        let lost = *lost.lock().expect("no thread panics");
        match lost {
            Some(cut) if cut.is_silent => continue,
            Some(_) => break,
            None if client.write_all(&piece[..length]).is_err() => break,
            None => {}
        }
    }
    end(&client, &server);
}

fn end(client: &TcpStream, server: &TcpStream) {
    for stream in [client, server] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}
