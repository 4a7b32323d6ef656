//! A connection that is cut at the worst moments: what was asked for is done once, whatever becomes of the answer.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::{Acquired, Advanced, Lease, Named, Put, Released, Remote, RemoteError};
use uwf_remote_postgres::{Limits, Postgres};

use crate::admin::Admin;
use crate::cuts::{Cut, proxy};
use crate::world::{
    START, acquire, advance, hash, large_node, new_thread, node, record, start_nodes,
};
use crate::{InSchema, postgres};

/// The server gets nothing of the request.
const BEFORE_REQUEST: Cut = within(0);
/// The server does all, and its answer is lost.
const BEFORE_REPLY: Cut = Cut {
    passed: None,
    is_silent: false,
};
/// The same, and the connection stays open.
const SILENT: Cut = Cut {
    passed: None,
    is_silent: true,
};

/// The server gets so many bytes of the request.
const fn within(bytes: usize) -> Cut {
    Cut {
        passed: Some(bytes),
        is_silent: false,
    }
}

/// The cut of the next request alone.
type Plan = Arc<Mutex<Option<Cut>>>;

/// Returns the port of a proxy that cuts what is planned.
fn proxy_with(server: u16, plan: &Plan) -> u16 {
    let plan = Arc::clone(plan);
    proxy(server, Arc::new(move || plan.lock().unwrap().take()))
}

/// A client whose next request can be cut.
struct Cuttable {
    remote: Postgres,
    plan: Plan,
    cut: Option<Cut>,
}

impl Cuttable {
    /// Makes a call that is cut. The client repeats it.
    fn call<T>(&mut self, call: impl Fn(&mut Postgres) -> Result<T, RemoteError>) -> T {
        // There is a connection before the cut.
        self.remote.hello().expect("the server answers");
        *self.plan.lock().unwrap() = self.cut;
        let answer = call(&mut self.remote);
        assert_eq!(*self.plan.lock().unwrap(), None, "the cut was made");
        answer.expect("the call is repeated")
    }

    fn lease(&mut self) -> Lease {
        match self.call(|remote| acquire(remote, 1)) {
            Acquired::Leased(leased) => leased.lease,
            other => panic!("a lease is expected: {other:?}"),
        }
    }
}

/// A step with more than a megabyte.
fn large_step() -> Vec<LinkedNode> {
    vec![large_node(50, 1_200_000), node(11, &[START, 50])]
}

fn name_a_step(client: &mut Cuttable, was_done: bool) {
    let named = client.call(|remote| remote.set_name("solve", 0, hash(11)));
    let expected = if was_done {
        Named::Already
    } else {
        Named::Done
    };
    assert_eq!(named, expected);
}

/// Does some work through connections that are cut, and returns what is stored in the end.
fn state_after(cut: Option<Cut>, port: u16, direct: &str) -> String {
    let place = InSchema::new(direct);
    let plan = Plan::default();
    let through = InSchema {
        url: format!(
            "postgres://{}@127.0.0.1:{}/postgres",
            postgres::USER,
            proxy_with(port, &plan)
        ),
        schema: place.schema.clone(),
    };
    let call = match cut {
        Some(SILENT) => Duration::from_secs(2),
        _ => Limits::default().call,
    };
    let remote = through.open_within(Limits {
        call,
        look_up: call,
        ..Limits::default()
    });
    let mut client = Cuttable { remote, plan, cut };
    let was_done = matches!(cut, Some(BEFORE_REPLY | SILENT));

    let new = new_thread(1, record(Some(50)));
    let put = client.call(|remote| remote.put(&start_nodes(), Some(&new)));
    assert_eq!(put, if was_done { Put::Already } else { Put::Done });
    let lease = client.lease();
    assert_eq!(lease.fence, 1);
    client.call(|remote| remote.renew(&lease));
    let step = large_step();
    let moved =
        client.call(|remote| advance(remote, &lease, &step, (START, 11), &record(Some(50))));
    let expected = if was_done {
        Advanced::Already
    } else {
        Advanced::Moved
    };
    assert_eq!(moved, expected);
    let lease = client.lease();
    assert_eq!(lease.fence, 2);
    let released = client.call(|remote| remote.release(&lease, &record(None)));
    let expected = if was_done {
        Released::Lost
    } else {
        Released::Yes
    };
    assert_eq!(released, expected);
    assert!(client.call(|remote| remote.missing(&[hash(50)])).is_empty());
    name_a_step(&mut client, was_done);

    let schema = &place.schema;
    Admin::new(direct).row(&format!(
        "SELECT head, version, fence, lease_owner, array_length(records, 1), roots,
           (SELECT count(*) FROM {schema}.nodes), (SELECT count(*) FROM {schema}.history),
           (SELECT count(*) FROM {schema}.threads),
           (SELECT string_agg(n::text, ';') FROM {schema}.names AS n)
         FROM {schema}.threads"
    ))
}

#[test]
fn a_connection_that_is_cut_anywhere_changes_nothing_of_the_result() {
    let Some(server) = postgres::server() else {
        return;
    };
    let url = server.url();
    let port: u16 = url
        .rsplit([':', '/'])
        .nth(1)
        .and_then(|port| port.parse().ok())
        .expect("the address has a port");
    let whole = state_after(None, port, &url);
    assert_eq!(whole, "11 1 2 null 1 {50} 5 1 1 (solve,11,1,{})");
    for cut in [BEFORE_REQUEST, within(1), within(100), BEFORE_REPLY, SILENT] {
        println!("{cut:?}");
        assert_eq!(state_after(Some(cut), port, &url), whole, "{cut:?}");
    }
}

#[test]
fn a_large_request_that_is_cut_in_its_middle_is_done_once() {
    let Some(server) = postgres::server() else {
        return;
    };
    let url = server.url();
    let port: u16 = url.rsplit([':', '/']).nth(1).unwrap().parse().unwrap();
    let place = InSchema::new(&url);
    let plan = Plan::default();
    let through = InSchema {
        url: url.replace(&port.to_string(), &proxy_with(port, &plan).to_string()),
        schema: place.schema.clone(),
    };
    let mut client = Cuttable {
        remote: through.open(),
        plan,
        cut: None,
    };
    client
        .remote
        .put(&start_nodes(), Some(&new_thread(1, record(None))))
        .unwrap();
    let lease = client.lease();
    client.cut = Some(within(600_000));
    let step = large_step();
    let moved = client.call(|remote| advance(remote, &lease, &step, (START, 11), &record(None)));
    assert_eq!(moved, Advanced::Moved);
    let missing = client.remote.missing(&[hash(50), hash(11)]).unwrap();
    assert!(missing.is_empty());
}

/// A server that takes a connection and never says a word.
#[test]
fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let place = InSchema::not_made(&format!("postgres://nobody@127.0.0.1:{port}/none"));
    let mut remote = place.open_within(Limits {
        connect: Duration::from_millis(300),
        ..Limits::default()
    });
    let refused = remote.hello().unwrap_err().to_string();
    assert!(
        refused.contains("no answer within 0.3 seconds"),
        "{refused}"
    );
}
