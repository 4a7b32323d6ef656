//! The remote in real servers: Azurite, and the store that the environment names.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use uwf_remote::care::Cared;
use uwf_remote::suite::Place;
use uwf_remote::{Remote, RemoteError};
use uwf_remote_object::{Address, Object};

use crate::azurite::{Azurite, CONTAINER, KEY};

/// The address of another store, whose keys are in the environment. Everything is written behind its prefix.
const URL: &str = "UWF_TEST_OBJECT_URL";

/// A prefix of its own in a store.
struct InServer {
    url: String,
    prefix: String,
    azure_key: Option<&'static str>,
}

impl InServer {
    fn new(url: &str, azure_key: Option<&'static str>) -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let place = PLACES.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("{}-{place}", std::process::id());
        let (front, parameters) = url.split_once('?').unwrap_or((url, ""));
        let url = format!("{}/{prefix}?{parameters}", front.trim_end_matches('/'));
        Self {
            url,
            prefix,
            azure_key,
        }
    }

    fn open(&self) -> Object {
        let address = Address::new(&self.url).expect("it is an address");
        let key = |name: &str| match (name, self.azure_key) {
            ("AZURE_STORAGE_ACCOUNT_KEY", Some(key)) => Some(key.to_owned()),
            _ => std::env::var(name).ok(),
        };
        Object::new(&address, &key).expect("there is room for a connection")
    }
}

impl Place for InServer {
    fn connect(&self) -> Box<dyn Remote + Send> {
        Box::new(self.open())
    }

    fn pass(&self, time: Duration) {
        // The time is told in whole seconds.
        std::thread::sleep(time + Duration::from_secs(2));
    }
}

#[expect(clippy::print_stdout, reason = "it is to be seen how long it takes")]
fn made(url: &str, azure_key: Option<&'static str>) -> InServer {
    let begun = Instant::now();
    let place = InServer::new(url, azure_key);
    place.open().make().expect("the store is fit");
    println!("the race took {:?}", begun.elapsed());
    place
}

#[test]
fn azurite_is_a_remote() {
    let Some(server) = Azurite::start_or_skip() else {
        return;
    };
    let first = made(&server.url(), Some(KEY));
    // The race of writers takes most of the time. The other remotes have the object by which a store has passed it.
    crate::passes(&|| {
        let place = InServer::new(&server.url(), Some(KEY));
        let [from, to] =
            [&first, &place].map(|it| format!("{CONTAINER}/{}/remote.json", it.prefix));
        let url = server.url();
        let (_, endpoint) = url.split_once("endpoint=").expect("it is in the address");
        let source = ("x-ms-copy-source", format!("{endpoint}/{from}"));
        server.put(&to, "", &[source], 202);
        Box::new(place)
    });
}

#[test]
fn azurite_refuses_another_key_and_knows_no_other_container() {
    let Some(server) = Azurite::start_or_skip() else {
        return;
    };
    let wrong = InServer::new(&server.url(), Some("c2VjcmV0"));
    let refused = wrong.open().make();
    let Err(RemoteError::NotLetIn(_, said)) = refused else {
        panic!("it is another key: {refused:?}");
    };
    assert!(!said.contains("c2VjcmV0"), "{said}");
    let elsewhere = server.url().replace(CONTAINER, "elsewhere");
    let refused = InServer::new(&elsewhere, Some(KEY)).open().make();
    assert!(matches!(refused, Err(RemoteError::NoBucket)), "{refused:?}");
    let away = server.url();
    drop(server);
    let refused = InServer::new(&away, Some(KEY)).open().make();
    assert!(matches!(refused, Err(RemoteError::Away(_))), "{refused:?}");
}

#[test]
fn the_store_that_the_environment_names_is_a_remote() {
    match std::env::var(URL) {
        Ok(url) => crate::passes(&|| Box::new(made(&url, None))),
        Err(_) => println!("skipped: {URL} names no store"),
    }
}
