//! A connection: made when it is needed, given up when it is silent, and repeated calls where a call may be repeated.

use std::hash::BuildHasher;
use std::net::ToSocketAddrs;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::config::{Config, Host};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;
use uwf_remote::RemoteError;

use crate::address::{Address, Tls};
use crate::failure::{Failure, failure};
use crate::link::Link;
use crate::tls;

/// How much time there is for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long connecting may take, for each address of a host.
    pub connect: Duration,
    /// How long nothing may come or go while a call is made. A call brings up to some megabytes of nodes, which may take longer.
    pub call: Duration,
    /// The same for a call for which the server looks up many nodes. It may say nothing before it has looked up all of them.
    pub walk: Duration,
    /// The same for a call for maintenance: the server walks through all nodes before it answers.
    pub maintenance: Duration,
    /// How long a node must have been condemned at least before it is removed. A statement that began before must have ended.
    pub least_age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            call: Duration::from_secs(20),
            walk: Duration::from_secs(120),
            maintenance: Duration::from_secs(30 * 60),
            least_age: Duration::from_secs(60 * 60),
        }
    }
}

/// What the server must not do for us: it overrates walks through nodes, and would compile them for a second, to save
/// milliseconds.
const SETTINGS: &str = "SET jit = off";
/// How often a call is made again that failed although nothing speaks against it. With the pauses in between this takes some
/// seconds, in which a server can be started again.
const AGAIN: u32 = 8;
/// How long the first pause before such a call is.
const PAUSE: Duration = Duration::from_millis(20);
/// After how long without a word the system asks whether the other end is still there, how often it does, and how long it waits each
/// time. A server that is cut off amid a long call for maintenance is noticed by that.
const ALIVE: (Duration, u32, Duration) = (Duration::from_secs(30), 3, Duration::from_secs(10));
/// How long telling a server may take that nobody waits for its answer any more.
const GIVE_UP: Duration = Duration::from_secs(2);

/// A parameter of a statement, with its type: the server need not be asked for it.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection to one server.
pub(crate) struct Connection {
    address: Address,
    password: Option<String>,
    pub(crate) limits: Limits,
    runtime: Runtime,
    link: Option<Link>,
}

impl Connection {
    /// Prepares a connection. Nothing is sent before the first call.
    pub(crate) fn new(
        address: Address,
        password: Option<String>,
        limits: Limits,
    ) -> Result<Self, RemoteError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|problem| RemoteError::Away(problem.to_string()))?;
        Ok(Self {
            address,
            password,
            limits,
            runtime,
            link: None,
        })
    }

    /// Makes a call, which is one statement, and returns its rows. It is made again if the server asks for that, or if the
    /// connection is lost.
    pub(crate) fn call(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, RemoteError> {
        self.repeated(|connection| connection.once(statement, parameters, connection.limits.call))
    }

    /// Makes a call for which the server looks up many nodes.
    pub(crate) fn walk(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, RemoteError> {
        self.repeated(|connection| connection.once(statement, parameters, connection.limits.walk))
    }

    /// Makes a call for maintenance, which may take longer.
    pub(crate) fn long_call(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, RemoteError> {
        self.repeated(|connection| {
            connection.once(statement, parameters, connection.limits.maintenance)
        })
    }

    /// Runs a script of statements. They are sent together, so they are one transaction. The script must not begin or end one itself:
    /// if it failed, its transaction would stay open. It is sent again when a statement would be.
    pub(crate) fn script(&mut self, statements: &str) -> Result<(), RemoteError> {
        self.repeated(|connection| {
            let limit = connection.limits.call;
            connection.limited(limit, async |client| client.batch_execute(statements).await)
        })
    }

    /// Closes the connection. The next call makes another one.
    pub(crate) fn close(&mut self) {
        if let Some(link) = self.link.take() {
            drop(link);
            // The other half of the connection says goodbye when it runs.
            self.runtime.block_on(tokio::task::yield_now());
        }
    }

    fn repeated<T>(
        &mut self,
        mut call: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, RemoteError> {
        let (mut tried, mut was_silent) = (0, false);
        loop {
            let (error, wait) = match call(self) {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Again(error)) if tried == AGAIN => return Err(error),
                Err(Failure::Silent(error)) if was_silent => return Err(error),
                Err(Failure::Again(error)) => {
                    tried += 1;
                    (error, pause(tried - 1))
                }
                Err(Failure::Silent(error)) => {
                    was_silent = true;
                    (error, Duration::ZERO)
                }
            };
            tracing::debug!(tag = "K7W2N5X9", tried, %error, "a call to the remote is made again");
            std::thread::sleep(wait);
        }
    }

    fn once(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        limit: Duration,
    ) -> Result<Vec<Row>, Failure> {
        self.limited(limit, async |client| {
            client.query_typed(statement, parameters).await
        })
    }

    /// Does something with the connection, unless it is silent for this time. The connection is kept only if the server has answered,
    /// with rows or with an error.
    fn limited<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Failure> {
        let known = self.link.take().filter(|link| !link.client.is_closed());
        let is_new = known.is_none();
        let link = match known {
            Some(link) => link,
            None => self.connect()?,
        };
        let working = async {
            if is_new {
                send_settings(&link.client).await;
            }
            work(&link.client).await
        };
        match self.runtime.block_on(link.unless_silent(limit, working)) {
            Some(Ok(answer)) => {
                self.link = Some(link);
                Ok(answer)
            }
            Some(Err(problem)) => {
                if problem.as_db_error().is_some() && !link.client.is_closed() {
                    self.link = Some(link);
                }
                Err(failure(&problem))
            }
            None => {
                self.give_up(&link);
                let silent = self.silent(limit);
                // The way there may be lost, and another one may be there. What has taken this long is not begun anew.
                Err(match limit > self.limits.walk.max(self.limits.call) {
                    true => Failure::Final(silent),
                    false => Failure::Silent(silent),
                })
            }
        }
    }

    /// Tells the server that nobody waits for its answer any more: it would go on with the call. Whether it hears that is not known.
    fn give_up(&self, link: &Link) {
        let token = link.client.cancel_token();
        let cancelling = async {
            let _ = match &self.address.tls {
                Tls::Off => token.cancel_query(NoTls).await,
                Tls::Verified { authorities } => match tls::client(authorities.as_deref()) {
                    Ok(tls) => token.cancel_query(MakeRustlsConnect::new(tls)).await,
                    Err(_) => Ok(()),
                },
            };
        };
        let limited = async { tokio::time::timeout(GIVE_UP, cancelling).await };
        let _ = self.runtime.block_on(limited);
    }

    fn silent(&self, limit: Duration) -> RemoteError {
        let (address, seconds) = (&self.address, limit.as_secs_f64());
        RemoteError::Away(format!("{address}: no answer within {seconds} seconds"))
    }

    fn connect(&self) -> Result<Link, Failure> {
        let config = self.resolved()?;
        let addresses = u32::try_from(config.get_hostaddrs().len()).unwrap_or(1);
        let limit = self.limits.connect * addresses.max(1);
        let connecting = async {
            match &self.address.tls {
                Tls::Off => {
                    let (client, connection) = config
                        .connect(NoTls)
                        .await
                        .map_err(|problem| failure(&problem))?;
                    Ok(Link::start(client, connection))
                }
                Tls::Verified { authorities } => {
                    let tls = tls::client(authorities.as_deref()).map_err(Failure::Final)?;
                    let tls = MakeRustlsConnect::new(tls);
                    let (client, connection) = config
                        .connect(tls)
                        .await
                        .map_err(|problem| failure(&problem))?;
                    Ok(Link::start(client, connection))
                }
            }
        };
        // The client has a limit for the connection to a port alone, and none for the talk that follows.
        let limited = async { tokio::time::timeout(limit, connecting).await };
        let connected = self.runtime.block_on(limited);
        match connected {
            Ok(connected) => connected.map_err(|failure: Failure| failure.at(&self.address)),
            Err(_) => Err(Failure::Final(self.silent(limit))),
        }
    }

    /// Returns the address with the numbers of its hosts.
    fn resolved(&self) -> Result<Config, Failure> {
        let given = &self.address.config;
        let mut config = with_numbers(given).map_err(Failure::Final)?;
        if let Some(user) = given.get_user() {
            config.user(user);
        }
        if let Some(database) = given.get_dbname() {
            config.dbname(database);
        }
        if let Some(options) = given.get_options() {
            config.options(options);
        }
        if let Some(password) = &self.password {
            config.password(password);
        }
        config
            .application_name(given.get_application_name().unwrap_or("uwf"))
            .target_session_attrs(given.get_target_session_attrs())
            .ssl_mode(given.get_ssl_mode())
            .connect_timeout(self.limits.connect)
            .keepalives_idle(ALIVE.0)
            .keepalives_retries(ALIVE.1)
            .keepalives_interval(ALIVE.2)
            // What is sent is taken by the other end within this time. The answer may take longer.
            .tcp_user_timeout(ALIVE.0 + ALIVE.1 * ALIVE.2);
        Ok(config)
    }
}

/// Returns the hosts of an address with their numbers. They are looked up here, because the client would do so in a pool of threads.
/// A host whose number is not found is left out, unless that is each of them.
fn with_numbers(given: &Config) -> Result<Config, RemoteError> {
    let mut config = Config::new();
    let ports = given.get_ports();
    let mut unknown = Vec::new();
    for (at, host) in given.get_hosts().iter().enumerate() {
        let port = match ports {
            [] => 5432,
            [all] => *all,
            each => each.get(at).copied().unwrap_or(5432),
        };
        match host {
            Host::Unix(path) => {
                config.host_path(path).port(port);
            }
            Host::Tcp(name) => match (name.trim_matches(['[', ']']), port).to_socket_addrs() {
                Ok(found) => {
                    for address in found {
                        config.host(name).hostaddr(address.ip()).port(port);
                    }
                }
                Err(problem) => unknown.push(format!("{name}: {problem}")),
            },
        }
    }
    let unknown = unknown.join("; ");
    if config.get_hosts().is_empty() {
        return Err(RemoteError::Away(unknown));
    }
    if !unknown.is_empty() {
        tracing::debug!(
            tag = "VBEW7XKZ",
            unknown,
            "hosts of the remote are left out"
        );
    }
    Ok(config)
}

/// Sends the settings, and does not wait for the answer: a server that knows no such setting needs none. So they cost no round
/// trip.
async fn send_settings(client: &Client) {
    let mut sending = std::pin::pin!(client.batch_execute(SETTINGS));
    // The first look at it sends it.
    std::future::poll_fn(|context| {
        let _ = sending.as_mut().poll(context);
        std::task::Poll::Ready(())
    })
    .await;
}

/// Returns a pause before the next try. Several clients that were told to try again do not do so together.
fn pause(tried: u32) -> Duration {
    // Each of these hashers has a random start.
    let random = std::hash::RandomState::new().hash_one(tried);
    let spread = random.to_le_bytes()[0] % 100;
    PAUSE * (1 << tried.min(6)) * (50 + u32::from(spread)) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names for which numbers were found.
    fn found(hosts: &str) -> Result<Vec<Host>, RemoteError> {
        let url = format!("postgres://u@{hosts}/d");
        let address = Address::new(&url, "uwf").expect("it is an address");
        let connection = Connection::new(address, None, Limits::default())?;
        match connection.resolved() {
            Ok(config) => {
                let hosts = config.get_hosts().to_vec();
                assert_eq!(hosts.len(), config.get_hostaddrs().len());
                assert_eq!(hosts.len(), config.get_ports().len());
                Ok(hosts)
            }
            Err(Failure::Again(error) | Failure::Silent(error) | Failure::Final(error)) => {
                Err(error)
            }
        }
    }

    #[test]
    fn a_host_without_a_number_does_not_keep_from_the_others() {
        for hosts in ["127.0.0.1,a..b", "a..b,127.0.0.1", "a..b,127.0.0.1,c..d"] {
            let found = found(hosts);
            assert_eq!(found, Ok(vec![Host::Tcp("127.0.0.1".into())]), "{hosts}");
        }
    }

    #[test]
    fn hosts_without_numbers_are_all_named() {
        let away = found("a..b,c..d").expect_err("neither name exists");
        assert!(
            matches!(&away, RemoteError::Away(text) if text.contains("a..b: ") && text.contains("c..d: ")),
            "{away}"
        );
    }
}
