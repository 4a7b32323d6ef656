//! The listener and its connections: how many there are, how long they may take, and how they end.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use uwf_engine::Site;

use crate::app::{App, Shared};
use crate::audit::{Peer, Refusals, WRITERS};
use crate::desks::{COMMANDS, Desks, READERS};
use crate::guard::Gate;
use crate::live::STREAMS;
use crate::live::hub::Hub;
use crate::patient::Patient;
use crate::routes;
use crate::session::Sessions;
use crate::settings::Settings;
use crate::stop::{self, Closing};
use crate::vanished::Seen;

/// How many connections there are at most. More of them wait.
const CONNECTIONS: usize = STREAMS + 256;
/// How long the head of a request may take to come.
const HEAD: Duration = Duration::from_secs(5);
/// How long answers have to end when the server does.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait when no connection can be taken, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a thread of a request stays for the next one.
const WORKER_STAYS: Duration = Duration::from_secs(5);

/// Why a server ended.
#[derive(Debug)]
pub enum ServeError {
    /// The address cannot be used.
    Listen {
        /// The address.
        listen: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The machine refused something else.
    Machine(io::Error),
}

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Listen { listen, .. } => write!(f, "cannot listen at `{listen}`"),
            Self::Machine(_) => f.write_str("the server cannot run"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. } | Self::Machine(source) => Some(source),
        }
    }
}

/// A server that listens, and answers when it [runs](Self::run).
pub struct Server {
    listener: TcpListener,
    listen: SocketAddr,
    settings: Settings,
    closing: Closing,
}

impl Server {
    /// Opens the listener. From now on INT and TERM end the server, not the process.
    ///
    /// # Errors
    /// When the address cannot be used, or the machine refuses something else.
    pub fn open(settings: Settings) -> Result<Self, ServeError> {
        let asked = settings.place.listen();
        let opened = TcpListener::bind(asked).and_then(|listener| {
            listener.set_nonblocking(true)?;
            let listen = listener.local_addr()?;
            Ok((listener, listen))
        });
        let (listener, listen) = opened.map_err(|source| ServeError::Listen {
            listen: asked,
            source,
        })?;
        Ok(Self {
            listener,
            listen,
            settings,
            closing: stop::on_signal().map_err(ServeError::Machine)?,
        })
    }

    /// Returns the address on which it listens.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Returns the address that people open, without the token.
    #[must_use]
    pub fn url(&self) -> String {
        match self.settings.place.public() {
            Some(public) => public.origin.clone(),
            None => format!("http://{}", self.listen),
        }
    }

    /// Answers requests until a signal ends that. Then streams end first, and other answers get a moment to.
    ///
    /// # Errors
    /// When the runtime cannot start.
    pub fn run(self, site: Site) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(READERS + COMMANDS + WRITERS)
            .thread_keep_alive(WORKER_STAYS)
            .build()
            .map_err(ServeError::Machine)?;
        let url = self.url();
        let Self {
            listener,
            listen,
            settings,
            closing,
        } = self;
        let app = Arc::new(App {
            site,
            url,
            gate: Gate::new(listen, &settings.place, &settings.allowed_hosts),
            access: settings.access,
            token: settings.token,
            sessions: Sessions::default(),
            refusals: Refusals::default(),
            seen: Seen::default(),
            hub: Hub::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
            desks: Desks::default(),
            closing: closing.clone(),
            explain: settings.explain,
            check: settings.check,
            carry: settings.carry,
            here: settings.here,
        });
        // From now on it is noticed if the root goes away. A new one may have nothing yet.
        let _ = app.seen.check(&app.site.root);
        let served = runtime.block_on(serve(listener, &app, closing));
        // What is still at work only reads the site, or waits for a command, which goes on as a process of its own.
        runtime.shutdown_background();
        served.map_err(ServeError::Machine)
    }
}

/// Takes connections until the server is to end.
async fn serve(listener: TcpListener, app: &Shared, mut closing: Closing) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let service = TowerToHyperService::new(routes::router(app));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let taking = async {
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let Ok((stream, peer)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let (peer, service) = (Peer(peer.ip()), service.clone());
            let service = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(peer);
                service.call(request)
            });
            let connection = builder.serve_connection(Patient::new(TokioIo::new(stream)), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // A client that breaks off is its own affair.
                let _ = connection.await;
                drop(place);
            });
        }
    };
    first(taking, async {
        let _ = closing.wait_for(|is_closing| *is_closing).await;
    })
    .await;
    drop(listener);
    app.hub.end();
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    Ok(())
}

/// Waits until one of two things ends.
async fn first(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let mut one = pin!(one);
    let mut other = pin!(other);
    poll_fn(|context| {
        let is_over =
            one.as_mut().poll(context).is_ready() || other.as_mut().poll(context).is_ready();
        match is_over {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}
