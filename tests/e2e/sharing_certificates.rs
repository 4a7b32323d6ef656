//! A server whose certificate is not accepted: what is wrong with it, and what to type.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection};

use crate::world::{Run, World};

/// A certificate of version 1 for 127.0.0.1 until the year 3026.
const VERSION_1: &str = "-----BEGIN CERTIFICATE-----
MIIBJDCBywIUSB7h8nUmxCnSor5eDmZ2PK3B2uMwCgYIKoZIzj0EAwIwFDESMBAG
A1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyOTA5MjcxNVoYDzMwMjYwNDAxMDkyNzE1
WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AAQ4yWMHy5vXND2qnYAsLYIqLg2lJINY8+9JL0Murb8PZ7dE1Q2+yR5PR1oSETIc
xdET7CJE8UToOlMblGKTllnZMAoGCCqGSM49BAMCA0gAMEUCIQDHGyJtKJ7DhXCB
FYzCVRj+2P0/oMmoNOrvSW29WVy1ngIgdMco6rwkeJdMFHOamPgB+/eeKoQvz74w
y4NHd2Oger4=
-----END CERTIFICATE-----
";

/// A certificate with the key that shows it.
struct Shown {
    pem: String,
    key: KeyPair,
}

fn names(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

/// A certificate that the server has signed itself.
fn own(params: &CertificateParams) -> Shown {
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    Shown { pem, key }
}

/// Shows the same certificate to everybody, also one that the library would refuse.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// Returns the address of a server that agrees to encrypt as PostgreSQL does, and shows a certificate.
fn address(shown: &Shown) -> String {
    let chain = vec![CertificateDer::from_pem_slice(shown.pem.as_bytes()).unwrap()];
    let key = PrivatePkcs8KeyDer::from(shown.key.serialize_der()).into();
    let key = ring::sign::any_supported_type(&key).unwrap();
    let certified = Arc::new(CertifiedKey::new(chain, key));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Always(certified)));
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut connection = ServerConnection::new(config.clone()).unwrap();
            let mut question = [0; 8];
            // Who does not trust the certificate hangs up.
            let _ = client
                .read_exact(&mut question)
                .and_then(|()| client.write_all(b"S"))
                .and_then(|()| connection.complete_io(&mut client));
        }
    });
    format!("postgres://u@127.0.0.1:{port}/d")
}

/// Adds a remote whose server shows a certificate, where another one is trusted.
fn add(shown: &Shown, trusted: &str) -> (World, Run, String) {
    let world = World::new();
    let file = world.write("trusted.crt", trusted);
    let url = format!("{}?sslrootcert={}", address(shown), file.display());
    let run = world.uwf(&["remote", "add", &url]);
    (world, run, url)
}

#[track_caller]
fn check(shown: &Shown, trusted: &str, why: &str, what_to_do: &str) {
    let (world, run, url) = add(shown, trusted);
    assert!(!run.stderr.contains("refuses"), "{}", run.stderr);
    assert!(!run.stderr.contains("Other("), "{}", run.stderr);
    run.exits(1)
        .says("no safe connection to the server: its certificate is not accepted")
        .says(why)
        .says("hint: ")
        .says(what_to_do);
    world.configure("remote.url", &url);
    let doctor = world.uwf(&["doctor", "--format", "text"]).stdout;
    assert!(doctor.contains(why), "{doctor}");
    assert!(doctor.contains(what_to_do), "{doctor}");
}

#[test]
fn an_authority_that_is_not_known_is_named_by_its_file() {
    let (ours, other) = (own(&names(&["127.0.0.1"])), own(&names(&["127.0.0.1"])));
    check(
        &ours,
        &other.pem,
        "its authority is not known here",
        "uwf remote add '<url>?sslrootcert=<file>'",
    );
    let (_, run, _) = add(&ours, &other.pem);
    run.says("if the address has a `?` already, it is `&sslrootcert=<file>`");
}

#[test]
fn a_certificate_for_another_name_says_its_names_and_one_without_says_what_counts() {
    let other = own(&names(&["db.example.org"]));
    let why = "it is for another name (`db.example.org`), and not for `127.0.0.1`";
    check(&other, &other.pem, why, "use a name of the certificate");
    let mut params = names(&[]);
    params
        .distinguished_name
        .push(DnType::CommonName, "127.0.0.1");
    let only_cn = own(&params);
    let why = "it has no subject alternative name, which must be `127.0.0.1`";
    check(&only_cn, &only_cn.pem, why, "-addext subjectAltName=");
}

#[test]
fn a_certificate_whose_time_is_over_is_made_anew() {
    let mut params = names(&["127.0.0.1"]);
    params.not_after = date_time_ymd(2001, 1, 1);
    let old = own(&params);
    check(&old, &old.pem, "its time is over", "a new certificate");
}

#[test]
fn the_certificate_of_an_authority_or_of_version_1_is_not_that_of_a_server() {
    let mut params = names(&["127.0.0.1"]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = own(&params);
    let what = "openssl req -new -x509";
    let why = "it is that of an authority (`CA:TRUE`)";
    check(&authority, &authority.pem, why, what);
    let old = Shown {
        pem: VERSION_1.to_owned(),
        key: KeyPair::generate().unwrap(),
    };
    check(&old, &authority.pem, "it has version 1", what);
}

#[test]
fn what_is_wrong_with_the_file_of_the_authorities_is_said_by_the_name_of_the_option() {
    let world = World::new();
    let url = "postgres://u@127.0.0.1/d?sslrootcert=/nowhere/ca.crt";
    let said = "/nowhere/ca.crt: No such file or directory";
    world
        .uwf(&["remote", "add", url])
        .exits(1)
        .says(said)
        .says("`sslrootcert` in the address must name a file");
    world.configure("remote.url", url);
    let doctor = world.uwf(&["doctor", "--format", "text"]).stdout;
    assert!(doctor.contains(said), "{doctor}");
    let bare = doctor.lines().any(|line| line.trim() == "→");
    assert!(!bare, "{doctor}");
}
