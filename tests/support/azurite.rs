//! Azurite, which speaks as Azure Blob Storage does, for tests: on a port of loopback, in memory, and ended with its test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::fmt::rfc2822::DateTimePrinter;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The account that every Azurite has, and its key, which everybody knows.
const ACCOUNT: &str = "devstoreaccount1";
pub(crate) const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
pub(crate) const CONTAINER: &str = "uwf-tests";
/// The program that makes an Azurite.
const PROGRAM: &str = "UWF_TEST_AZURITE";
/// A server of its own, which ends with the test.
pub(crate) struct Azurite {
    process: Child,
    port: u16,
    _folder: TempDir,
}

impl Azurite {
    /// Starts a server. If the environment names no program for it, says that the test is skipped.
    #[expect(clippy::print_stdout, reason = "a skipped test says so")]
    pub(crate) fn start_or_skip() -> Option<Self> {
        let program = std::env::var(PROGRAM);
        if program.is_err() {
            println!("skipped: {PROGRAM} names no program");
        }
        program.ok().map(|program| Self::start(&program))
    }

    fn start(program: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let process = Command::new(program)
            .args(["--disableTelemetry", "--inMemoryPersistence", "--silent"])
            .args(["--blobPort", &port.to_string()])
            .current_dir(&folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            process,
            port,
            _folder: folder,
        };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "it does not start"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        server.make_container();
        server
    }

    /// Returns the address of a remote in its container.
    pub(crate) fn url(&self) -> String {
        let endpoint = format!("http://127.0.0.1:{}/{ACCOUNT}", self.port);
        format!("az://{CONTAINER}?account={ACCOUNT}&endpoint={endpoint}")
    }

    /// Makes the container, as its owner would do by hand.
    fn make_container(&self) {
        self.put(CONTAINER, "restype=container", &[], 201);
    }

    /// Sends a signed request without a body. The names of the headers come before `x-ms-date` in the alphabet.
    pub(crate) fn put(&self, path: &str, query: &str, headers: &[(&str, String)], expected: u16) {
        let path = format!("/{ACCOUNT}/{path}");
        let now = jiff::Timestamp::now();
        let date = DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&now)
            .unwrap();
        let own = headers
            .iter()
            .map(|(name, value)| format!("{name}:{value}\n"));
        let own = own.collect::<String>();
        let headers = format!("{own}x-ms-date:{date}\nx-ms-version:2021-08-06\n");
        let signed_query = match query {
            "" => String::new(),
            query => format!("\n{}", query.replace('=', ":")),
        };
        let signed = format!(
            "PUT{}{headers}/{ACCOUNT}{path}{signed_query}",
            "\n".repeat(12)
        );
        let key = BASE64_STANDARD.decode(KEY).unwrap();
        let signature = BASE64_STANDARD.encode(hmac(&key, signed.as_bytes()));
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let headers = headers.trim_end().replace('\n', "\r\n");
        let request = format!(
            "PUT {path}?{query} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\nAuthorization: SharedKey {ACCOUNT}:{signature}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            self.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let expected = format!("HTTP/1.1 {expected}");
        assert!(answer.starts_with(&expected), "{answer}");
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// HMAC with SHA-256, for a key that is not longer than a block.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let padded = |pad: u8| -> [u8; 64] {
        let byte = |at| key.get(at).copied().unwrap_or(0) ^ pad;
        std::array::from_fn(byte)
    };
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(text)
        .finalize();
    let outer = Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize();
    outer.to_vec()
}
