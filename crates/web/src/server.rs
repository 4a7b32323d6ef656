//! The listener and its connections: how many are open, how long they may take, and how they end.

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
use crate::audit::LOG_INS;
use crate::gate::Gate;
use crate::guard::LOOKS;
use crate::live::STREAMS;
use crate::permits::{COMMANDS, Permits, READERS};
use crate::refusals::{Refusals, WRITERS};
use crate::routes;
use crate::session::Sessions;
use crate::settings::Settings;
use crate::stop::{self, Closing};
use crate::vanished::Seen;
use crate::visitor::Peer;
use crate::write_timeout::WriteTimeout;

/// How many connections are open at most. Further ones wait until one is closed.
const CONNECTIONS: usize = STREAMS + 256;
/// How long the head of a request may take to arrive.
const HEAD: Duration = Duration::from_secs(5);
/// The grace period: how long answers may still take when the server ends.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait after a connection could not be accepted, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);
/// How long an idle thread of the blocking pool waits for work before it ends.
const WORKER_IDLE: Duration = Duration::from_secs(5);

/// Why a server cannot start or go on.
#[derive(Debug)]
pub enum ServeError {
    /// The address cannot be used.
    Listen {
        /// The address.
        listen: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system refused something else.
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
    /// When the address cannot be used, or the handlers of signals cannot be installed.
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

    /// Returns the address at which it listens.
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

    /// Answers requests until a signal ends the server. Then streams end at once, and other answers have a grace period.
    ///
    /// # Errors
    /// When the runtime cannot start or cannot use the listener.
    pub fn run(self, site: Site) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(READERS + COMMANDS + WRITERS + LOG_INS + LOOKS)
            .thread_keep_alive(WORKER_IDLE)
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
            hub: Arc::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
            permits: Permits::default(),
            closing: closing.clone(),
            explain: settings.explain,
            check: settings.check,
            carry: settings.carry,
            failed_call: settings.failed_call,
            here: settings.here,
            hint: settings.hint,
        });
        // The first look: it records what exists, so that later looks notice a loss. A new root may be empty.
        let _ = app.seen.check(&app.site.root);
        let served = runtime.block_on(serve(listener, &app, closing));
        // The server does not wait for blocking work. Such work reads the site, writes a line of the log, or waits for a command,
        // which is a process of its own.
        runtime.shutdown_background();
        served.map_err(ServeError::Machine)
    }
}

/// Accepts connections until the server is to end. Then it waits for open ones, for at most [`GRACE`].
async fn serve(listener: TcpListener, app: &Shared, mut closing: Closing) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let service = TowerToHyperService::new(routes::router(app));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let accepting = async {
        loop {
            let Ok(permit) = Arc::clone(&connections).acquire_owned().await else {
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
            let io = WriteTimeout::new(TokioIo::new(stream));
            let connection = builder.serve_connection(io, service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // An error means that the client broke off or was dropped. Nobody is left to tell.
                let _ = connection.await;
                drop(permit);
            });
        }
    };
    first(accepting, async {
        let _ = closing.wait_for(|is_closing| *is_closing).await;
    })
    .await;
    drop(listener);
    app.hub.end();
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    Ok(())
}

/// Waits until one of two futures is done.
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
