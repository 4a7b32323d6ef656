//! Passwords, certificates and roles: which clients a server lets in, and which servers a client trusts. No password is shown, or sent
//! to a server that is not trusted.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};

use uwf_remote::care::Cared;
use uwf_remote::suite::{Place, cases};
use uwf_remote::{Advanced, Distrust, Named, Query, Remote, RemoteError};
use uwf_remote_postgres::{Address, Postgres};

use crate::admin::Admin;
use crate::guarded::{Authority, ask_for_password, authority, folder_of, give};
use crate::world::{START, acquire, advance, hash, new_thread, node, record, start_nodes, take};
use crate::{InSchema, postgres};

const RIGHT: &str = "open-sesame-7251";
const WRONG: &str = "guessed-9013";

fn connect(url: &str, password: Option<&str>) -> Postgres {
    let address = Address::new(url, "uwf").expect("it is an address");
    Postgres::new(address, password.map(str::to_owned)).expect("there is room for a connection")
}

/// Returns why a client is refused, and checks that it does not try again and again.
fn denied(url: &str, password: Option<&str>) -> String {
    let mut remote = connect(url, password);
    match remote.hello() {
        Err(
            RemoteError::NotLetIn(_, why)
            | RemoteError::NotSafe(_, why)
            | RemoteError::Unprepared(why),
        ) => {
            let all = format!("{why} {remote:?} {:?}", remote.hello());
            for secret in [RIGHT, WRONG] {
                assert!(!all.contains(secret), "{all}");
            }
            why
        }
        other => panic!("a refusal is expected: {other:?}"),
    }
}

#[test]
fn the_socket_of_a_server_on_this_machine_needs_no_encryption() {
    let Some(server) = postgres::own_server() else {
        return;
    };
    let mut remote = connect(&server.socket_url(), None);
    remote.make().expect("the server is on this machine");
    assert!(remote.hello().is_ok());
}

#[test]
fn a_password_is_asked_for_and_never_shown() {
    let Some(server) = postgres::own_server() else {
        return;
    };
    let admin = Admin::new(&server.url());
    ask_for_password(&admin, "machine", RIGHT);
    server.kill_and_start();

    let url = server.url().replace(postgres::USER, "machine");
    assert!(denied(&url, None).contains("asks for a password"));
    assert!(denied(&url, Some(WRONG)).contains("password authentication failed"));
    let mut remote = connect(&url, Some(RIGHT));
    remote.make().expect("the password is right");
    let shown = format!("{remote:?} {:?}", remote.hello());
    assert!(!shown.contains(RIGHT), "{shown}");
}

#[test]
fn only_a_server_with_the_right_certificate_is_trusted() {
    let Some(server) = postgres::own_server() else {
        return;
    };
    let folder = folder_of(&Admin::new(&server.url()));
    let ours = tempfile::tempdir().unwrap();
    let show = |shown: &Authority| {
        give(&folder, "server.crt", &shown.certificate);
        give(&folder, "server.key", &shown.key);
        fs::write(ours.path().join("right.pem"), &shown.pem).unwrap();
        server.kill_and_start();
    };
    let url = |host: &str, file: &str| {
        let file = ours.path().join(file);
        format!(
            "{}?sslrootcert={}",
            server.url().replace("127.0.0.1", host),
            file.display()
        )
    };
    fs::write(ours.path().join("wrong.pem"), authority(4000).pem).unwrap();
    fs::write(ours.path().join("empty.pem"), "").unwrap();
    Admin::new(&server.url()).run("ALTER SYSTEM SET ssl = on");

    show(&authority(4000));
    let mut remote = connect(&url("127.0.0.1", "right.pem"), None);
    remote.make().expect("the certificate is right");
    let refused = [
        (
            url("127.0.0.1", "wrong.pem"),
            "its authority is not known here",
        ),
        (
            url("localhost", "right.pem"),
            "it is for another name (`127.0.0.1`), and not for `localhost`",
        ),
        (url("127.0.0.1", "empty.pem"), "no certificate in it"),
        (
            url("127.0.0.1", "none.pem"),
            "none.pem: No such file or directory",
        ),
        (
            format!("{}?sslmode=verify-full", server.url()),
            "its authority is not known here",
        ),
    ];
    for (url, why) in refused {
        let said = denied(&url, Some(RIGHT));
        assert!(said.contains(why), "{why} is expected: {said}");
    }
    show(&authority(2001));
    let said = denied(&url("127.0.0.1", "right.pem"), Some(RIGHT));
    assert!(said.contains("its time is over"), "{said}");
}

/// A server that offers no encryption gets nothing but the question for it.
#[test]
fn a_password_is_not_sent_without_encryption() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let stranger = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut question = [0; 8];
        client.read_exact(&mut question).unwrap();
        client.write_all(b"N").unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).unwrap();
        (question, rest)
    });
    let url = format!("postgres://machine@127.0.0.1:{port}/uwf?sslmode=verify-full");
    let refused = connect(&url, Some(RIGHT)).hello().unwrap_err();
    assert!(
        matches!(&refused, RemoteError::NotSafe(Distrust::NoTls, why) if why.contains("does not offer TLS")),
        "{refused}"
    );
    let (question, rest) = stranger.join().unwrap();
    assert_eq!(
        question,
        [0, 0, 0, 8, 4, 210, 22, 47],
        "the question for encryption"
    );
    assert!(rest.is_empty(), "and nothing else");
}

/// A remote whose owner has let others in.
pub(crate) struct Shared {
    pub(crate) owned: InSchema,
    pub(crate) as_reader: InSchema,
    pub(crate) as_worker: InSchema,
}

impl Shared {
    pub(crate) fn new(url: &str) -> Self {
        Self::of(InSchema::new(url))
    }

    fn of(owned: InSchema) -> Self {
        let (url, schema) = (&owned.url, &owned.schema);
        let admin = Admin::new(url);
        // It may be run again.
        for _ in 0..2 {
            admin.run(owned.open().roles());
        }
        let user = |role: &str| {
            admin.run(&format!(
                "CREATE ROLE {schema}_user_{role} LOGIN; GRANT {schema}_{role} TO {schema}_user_{role}"
            ));
            InSchema {
                url: url.replace(
                    &format!("//{}@", postgres::USER),
                    &format!("//{schema}_user_{role}@"),
                ),
                schema: schema.clone(),
            }
        };
        Self {
            as_reader: user("reader"),
            as_worker: user("worker"),
            owned,
        }
    }
}

impl Place for Shared {
    fn connect(&self) -> Box<dyn Remote + Send> {
        Box::new(self.as_worker.open())
    }

    fn pass(&self, time: std::time::Duration) {
        std::thread::sleep(time);
    }
}

pub(crate) fn assert_denied<T: std::fmt::Debug>(answers: Vec<(&str, Result<T, RemoteError>)>) {
    for (call, answer) in answers {
        assert!(
            matches!(answer, Err(RemoteError::Denied(..))),
            "{call}: {answer:?}"
        );
    }
}

#[test]
fn a_reader_reads_and_changes_nothing() {
    let Some(server) = postgres::server() else {
        return;
    };
    let shared = Shared::new(&server.url());
    let mut owner = shared.owned.open();
    owner
        .put(&start_nodes(), Some(&new_thread(1, record(None))))
        .unwrap();
    let lease = take(&mut owner, 1);
    owner.set_name("solve", 0, hash(START)).unwrap();

    let mut reader = shared.as_reader.open();
    assert!(reader.hello().is_ok());
    assert!(reader.missing(&[hash(START)]).unwrap().is_empty());
    assert_eq!(reader.list(&Query::default(), None, 9).unwrap().len(), 1);
    assert_eq!(reader.names(None, 9).unwrap().len(), 1);
    assert_eq!(reader.statistics().unwrap().unwrap().nodes, 3);
    assert_eq!(crate::collector::sound(&mut reader).threads, 1);

    let step = [node(11, &[START])];
    let nothing = record(None);
    assert_denied(vec![
        ("acquire", acquire(&mut reader, 1).map(drop)),
        ("renew", reader.renew(&lease).map(drop)),
        (
            "advance",
            advance(&mut reader, &lease, &step, (START, 11), &nothing).map(drop),
        ),
        ("release", reader.release(&lease, &nothing).map(drop)),
        ("put", reader.put(&step, None).map(drop)),
        (
            "set_name",
            reader.set_name("solve", 0, hash(START)).map(drop),
        ),
        ("migrate", reader.migrate().map(drop)),
        (
            "collect",
            reader.collect(std::time::Duration::ZERO).map(drop),
        ),
    ]);
}

#[test]
fn a_schema_may_be_a_word_of_sql_or_as_long_as_its_roles_allow() {
    let Some(server) = postgres::server() else {
        return;
    };
    for schema in ["user", "order", &"a".repeat(56)] {
        let owned = InSchema {
            url: server.url(),
            schema: schema.to_owned(),
        };
        let mut owner = owned.open();
        owner.make().expect("the tables are made");
        let shared = Shared::of(owned);
        let mut worker = shared.as_worker.open();
        worker
            .put(&start_nodes(), Some(&new_thread(1, record(None))))
            .unwrap();
        let lease = take(&mut worker, 1);
        let step = [node(11, &[START])];
        let moved = advance(&mut worker, &lease, &step, (START, 11), &record(None));
        assert_eq!(moved, Ok(Advanced::Moved), "{schema}");
        let admin = Admin::new(&server.url());
        let names = format!("\"{schema}\".names");
        admin.run(&format!("REVOKE ALL ON {names} FROM {schema}_worker"));
        assert!(matches!(
            worker.set_name("solve", 0, hash(START)),
            Err(RemoteError::Denied(..))
        ));
        owner.migrate().expect("the owner may do that");
        let named = worker.set_name("solve", 0, hash(START));
        assert_eq!(named, Ok(Named::Done), "{schema}");
        assert_eq!(owner.collect(std::time::Duration::ZERO).map(drop), Ok(()));
        assert_eq!(crate::collector::sound(&mut owner).threads, 1);
    }
}

#[test]
fn a_worker_does_all_that_a_remote_is_for_and_no_more() {
    let Some(server) = postgres::server() else {
        return;
    };
    let one_at_a_time = cases()
        .into_iter()
        .filter(|case| !case.name.contains("many"));
    for case in one_at_a_time {
        println!("{}", case.name);
        (case.check)(&Shared::new(&server.url()));
    }
    let shared = Shared::new(&server.url());
    let mut worker = shared.as_worker.open();
    worker
        .put(&start_nodes(), Some(&new_thread(1, record(None))))
        .unwrap();
    assert_denied(vec![(
        "collect",
        worker.collect(std::time::Duration::ZERO).map(drop),
    )]);
    let admin = Admin::new(&server.url());
    let schema = &shared.owned.schema;
    admin.run(&format!("SET ROLE {schema}_worker"));
    for change in [
        format!("UPDATE {schema}.nodes SET payload = ''"),
        format!("DELETE FROM {schema}.nodes"),
        format!("DELETE FROM {schema}.threads"),
        format!("UPDATE {schema}.remote SET store_id = ''"),
        format!("UPDATE {schema}.history SET to_head = 1"),
        format!("UPDATE {schema}.names SET name = ''"),
        format!("DELETE FROM {schema}.names"),
    ] {
        assert!(!admin.may(&change), "{change}");
    }
}
