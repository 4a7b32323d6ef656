//! Models behind TLS: which servers are trusted, and what is said of the others.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, Run, World};

/// What a server shows.
struct Shown {
    name: &'static str,
    until_year: i32,
}

const GOOD: Shown = Shown {
    name: "127.0.0.1",
    until_year: 4000,
};

/// Returns the port of a server that speaks TLS and passes one call on, and the PEM of its authority.
fn tls_front(backend: &ModelServer, shown: &Shown) -> (u16, String) {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut leaf = CertificateParams::new(vec![shown.name.to_owned()]).unwrap();
    leaf.not_after = date_time_ymd(shown.until_year, 1, 1);
    let leaf = leaf.signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let backend = backend.proxy_url().replace("http://", "");
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        // Who does not trust the certificate hangs up.
        let _ = pass_on(StreamOwned::new(connection, stream), &backend);
    });
    (port, authority.pem())
}

fn pass_on(
    mut stream: StreamOwned<ServerConnection, TcpStream>,
    backend: &str,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !is_complete(&request) {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        request.extend_from_slice(&piece[..length]);
    }
    let mut backend = TcpStream::connect(backend)?;
    backend.write_all(&request)?;
    let mut answer = Vec::new();
    backend.read_to_end(&mut answer)?;
    stream.write_all(&answer)?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// Tells whether a request with a JSON body is all there.
fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
    body.is_some_and(|body| serde_json::from_str::<serde_json::Value>(body).is_ok())
}

/// Steps a thread whose answer is read by a model at a URL, with its authority trusted or not.
fn step(port: u16, trusted: Option<&str>) -> Run {
    step_with(&format!("https://127.0.0.1:{port}/v1"), |world, command| {
        if let Some(pem) = trusted {
            command.env("SSL_CERT_FILE", world.write("ca.pem", pem));
        }
    })
}

/// Steps a thread whose answer is read by a model at a URL, in an environment of its own.
fn step_with(base_url: &str, prepare: impl Fn(&World, &mut Command)) -> Run {
    let world = World::new();
    world.write("answer.md", "The note is: hello");
    world.agent("uwf-command", &["--", "cat", "answer.md"]);
    world.model("extract", base_url);
    world.put(ONE_STEP);
    let thread = world.start("one");
    let mut command = world.command(&["thread", "step", &thread]);
    prepare(&world, &mut command);
    command.output().unwrap().into()
}

fn model() -> ModelServer {
    ModelServer::start(vec![Scripted::says(
        &json!({ "note": "hello" }).to_string(),
    )])
}

#[test]
fn an_authority_of_ones_own_is_trusted_by_its_file() {
    let model = model();
    let (port, pem) = tls_front(&model, &GOOD);
    step(port, Some(&pem)).exits(0);
    assert_eq!(model.requests().len(), 1);
}

/// Steps with a server that is not trusted, and asserts what is said and that nothing was asked.
#[track_caller]
fn check_refused(shown: &Shown, is_trusted: bool, reason: &str, advice: &str) {
    let model = model();
    let (port, pem) = tls_front(&model, shown);
    step(port, is_trusted.then_some(pem.as_str()))
        .exits(3)
        .says("(tls)")
        .says(reason)
        .says(advice);
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn a_server_that_nobody_vouches_for_is_refused() {
    check_refused(&GOOD, false, "whom this machine trusts", "SSL_CERT_FILE=");
}

#[test]
fn a_certificate_that_has_expired_is_refused() {
    let expired = Shown {
        until_year: 2001,
        ..GOOD
    };
    check_refused(&expired, true, "has expired", "clock");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let other = Shown {
        name: "models.example",
        ..GOOD
    };
    check_refused(&other, true, "for another name", "baseUrl");
}

#[test]
fn a_server_without_tls_is_named_as_such() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = [0; 4096];
        let _ = stream.read(&mut hello);
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    step(port, None)
        .exits(3)
        .says("does not speak TLS")
        .says("may be `http`");
}

#[test]
fn a_machine_that_trusts_nobody_can_use_a_model_of_its_own() {
    let trusts_nobody = |_: &World, command: &mut Command| {
        command
            .env("SSL_CERT_FILE", "/nonexistent")
            .env("SSL_CERT_DIR", "/nonexistent");
    };
    let model = model();
    step_with(&model.base_url(), trusts_nobody).exits(0);
    step_with("https://127.0.0.1:9/v1", trusts_nobody)
        .exits(3)
        .says("(tls)")
        .says("ca-certificates");
}
