//! The connection to a server. A call makes it when there is none, gives it up when it is silent, and is repeated where that can
//! help.

use std::net::ToSocketAddrs;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::config::{Config, Host};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;
use uwf_remote::{RemoteError, Right};

use crate::address::{Address, Tls};
use crate::failure::{Failure, failure};
use crate::link::Link;
use crate::tls;

/// How long each kind of call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long connecting may take, for each address of a host.
    pub connect: Duration,
    /// How long nothing may be sent or received during a call. A call may bring some megabytes of nodes, so all of it may take
    /// longer.
    pub call: Duration,
    /// How long nothing may be sent or received while the server looks up many nodes. It may send nothing before it has found all of
    /// them.
    pub look_up: Duration,
    /// How long nothing may be sent or received during a call for maintenance. The server may look at all nodes before it answers.
    pub maintenance: Duration,
    /// The least time for which a node must have been condemned before it is removed. A statement that began before the
    /// condemnation must have ended by then ("Garbage of a remote" in `docs/architecture.md`, point 4).
    pub least_age: Duration,
}

/// What a call is for.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Any other call.
    Usual,
    /// The server looks up many nodes.
    LookUp,
    /// The server may look at all nodes.
    Maintenance,
}

impl Kind {
    /// Returns how long such a call may be silent.
    fn limit(self, limits: &Limits) -> Duration {
        match self {
            Self::Usual => limits.call,
            Self::LookUp => limits.look_up,
            Self::Maintenance => limits.maintenance,
        }
    }

    /// Tells whether such a call is made again after a silence, because another connection may work. A call for maintenance has
    /// taken too long for that.
    fn is_repeated_after_silence(self) -> bool {
        match self {
            Self::Usual | Self::LookUp => true,
            Self::Maintenance => false,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            call: Duration::from_secs(20),
            look_up: Duration::from_secs(120),
            maintenance: Duration::from_secs(30 * 60),
            least_age: Duration::from_secs(60 * 60),
        }
    }
}

/// The settings of a session. The planner overestimates walks through nodes: with `jit`, the server would compile a statement for a
/// second to save milliseconds.
const SETTINGS: &str = "SET jit = off";
/// Asks whether the user may read a table, and may add nothing to it.
const ONLY_READS: &str =
    "SELECT has_table_privilege($1, 'SELECT') AND NOT has_any_column_privilege($1, 'INSERT')";
/// How often a call is repeated after a failure that may pass. With the pauses this takes some seconds, in which a server can be
/// restarted.
const RETRIES: u32 = 8;
/// The first pause before a call is repeated. Later ones are longer.
const PAUSE: Duration = Duration::from_millis(20);
/// The keepalive of TCP: the time without data after which the system probes the server, the number of probes, and the time between
/// them. So a server that is cut off during a long call for maintenance is noticed.
const ALIVE: (Duration, u32, Duration) = (Duration::from_secs(30), 3, Duration::from_secs(10));
/// How long a request to cancel a call may take.
const CANCEL: Duration = Duration::from_secs(2);

/// A parameter of a statement, with its type. So the server need not be asked for the type.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection to one server.
pub(crate) struct Connection {
    pub(crate) address: Address,
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
            .map_err(|problem| RemoteError::Unprepared(problem.to_string()))?;
        Ok(Self {
            address,
            password,
            limits,
            runtime,
            link: None,
        })
    }

    /// Makes a call, which is one statement, and returns its rows. The call is repeated after a failure that may pass, such as a
    /// lost connection.
    pub(crate) fn call(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, RemoteError> {
        self.repeated(|connection| connection.once(statement, parameters, Kind::Usual))
    }

    /// Makes a call for which the server looks up many nodes.
    pub(crate) fn look_up(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, RemoteError> {
        self.repeated(|connection| connection.once(statement, parameters, Kind::LookUp))
    }

    /// Makes a call for maintenance, for which the server may look at all nodes.
    pub(crate) fn maintenance_call(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, RemoteError> {
        self.repeated(|connection| connection.once(statement, parameters, Kind::Maintenance))
    }

    /// Runs a script of statements. They are sent together, so they are one transaction. The script must have no `BEGIN` or
    /// `COMMIT`: if it failed between them, its transaction would stay open. It is repeated as a statement is.
    pub(crate) fn script(&mut self, statements: &str) -> Result<(), RemoteError> {
        self.repeated(|connection| {
            connection.limited(Kind::Usual, async |client| {
                client.batch_execute(statements).await
            })
        })
    }

    /// Closes the connection. The next call makes another one.
    pub(crate) fn close(&mut self) {
        if let Some(link) = self.link.take() {
            drop(link);
            // The task of the connection ends it properly, if it runs once more.
            self.runtime.block_on(tokio::task::yield_now());
        }
    }

    /// Makes a call, and repeats it after a failure that may pass. After a silence it is repeated once, without a pause.
    fn repeated<T>(
        &mut self,
        mut call: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, RemoteError> {
        let (mut tried, mut was_silent) = (0, false);
        loop {
            let (error, wait) = match call(self) {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(error)) => return Err(self.with_rights(error)),
                Err(Failure::Again(error)) if tried == RETRIES => return Err(error),
                Err(Failure::Silent(error)) if was_silent => return Err(error),
                Err(Failure::Again(error)) => {
                    tried += 1;
                    (error, uwf_remote::pause(PAUSE, (tried - 1).min(6)))
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

    /// Adds to the error about a right that the user lacks whether the user may read all the same.
    fn with_rights(&mut self, error: RemoteError) -> RemoteError {
        match error {
            RemoteError::Denied(Right::Role { schema, .. }, said) => {
                let only_reads = self.only_reads();
                RemoteError::Denied(Right::Role { schema, only_reads }, said)
            }
            other => other,
        }
    }

    /// Tells whether the user may read threads, and add none. If the server does not say, it is false.
    fn only_reads(&mut self) -> bool {
        let table = format!("\"{}\".threads", self.address.schema);
        let asked = self.once(ONLY_READS, &[(&table, Type::TEXT)], Kind::Usual);
        let rows = asked.unwrap_or_default();
        let row = rows.first().map(|row| row.try_get::<_, bool>(0));
        matches!(row, Some(Ok(true)))
    }

    fn once(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        kind: Kind,
    ) -> Result<Vec<Row>, Failure> {
        self.limited(kind, async |client| {
            client.query_typed(statement, parameters).await
        })
    }

    /// Does the work of a call, unless the connection is silent for too long. The connection is kept only if the server has answered,
    /// with rows or with an error.
    fn limited<T>(
        &mut self,
        kind: Kind,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Failure> {
        let limit = kind.limit(&self.limits);
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
                Err(failure(&problem, &self.address.schema))
            }
            None => {
                self.cancel(&link);
                let silent = self.silent(limit);
                Err(match kind.is_repeated_after_silence() {
                    true => Failure::Silent(silent),
                    false => Failure::Final(silent),
                })
            }
        }
    }

    /// Asks the server to cancel a call whose answer is not waited for any more. Without that, the server would go on with it.
    /// Whether the request arrives is not known.
    fn cancel(&self, link: &Link) {
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
        let limited = async { tokio::time::timeout(CANCEL, cancelling).await };
        let _ = self.runtime.block_on(limited);
    }

    /// Returns the error for a server that was silent for this time.
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
                        .map_err(|problem| failure(&problem, &self.address.schema))?;
                    Ok(Link::start(client, connection))
                }
                Tls::Verified { authorities } => {
                    let tls = tls::client(authorities.as_deref()).map_err(Failure::Final)?;
                    let tls = MakeRustlsConnect::new(tls);
                    let (client, connection) = config
                        .connect(tls)
                        .await
                        .map_err(|problem| failure(&problem, &self.address.schema))?;
                    Ok(Link::start(client, connection))
                }
            }
        };
        // The client limits only the connection to a port, and not the handshake that follows.
        let limited = async { tokio::time::timeout(limit, connecting).await };
        let connected = self.runtime.block_on(limited);
        match connected {
            Ok(connected) => connected.map_err(|failure: Failure| failure.at(&self.address)),
            Err(_) => Err(Failure::Final(self.silent(limit))),
        }
    }

    /// Returns the address of the remote with the IP addresses of its hosts.
    fn resolved(&self) -> Result<Config, Failure> {
        let given = &self.address.config;
        let mut config = with_ips(given).map_err(Failure::Final)?;
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
            // The server must acknowledge within this time what is sent. Its answer may take longer.
            .tcp_user_timeout(ALIVE.0 + ALIVE.1 * ALIVE.2);
        Ok(config)
    }
}

/// Returns the hosts of an address with their IP addresses. They are looked up here, because the client would use a pool of threads
/// for it. A host that is not found is left out. If no host is found, the error names all of them.
fn with_ips(given: &Config) -> Result<Config, RemoteError> {
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

/// Sends the settings, and does not wait for the answer. So they cost no round trip. An error does no harm: a server without such a
/// setting does not need it.
async fn send_settings(client: &Client) {
    let mut sending = std::pin::pin!(client.batch_execute(SETTINGS));
    // The first poll sends it.
    std::future::poll_fn(|context| {
        let _ = sending.as_mut().poll(context);
        std::task::Poll::Ready(())
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the hosts for which IP addresses were found.
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
