//! What every handler shares.

use std::sync::Arc;

use tokio::sync::Semaphore;
use uwf_engine::{EngineError, Site};

use crate::audit::Refusals;
use crate::desks::Desks;
use crate::guard::{Access, Gate};
use crate::live::hub::Hub;
use crate::order::{Carried, Order};
use crate::session::Sessions;
use crate::settings::Finding;
use crate::stop::Closing;
use crate::token::Token;
use crate::trouble::Explained;
use crate::vanished::Seen;

/// The server's own: the site, who may come in, and the sessions of those who did.
pub(crate) struct App {
    /// The storage root that is shown. Functions on it block, so handlers call them on a thread for that.
    pub(crate) site: Site,
    /// The address that people open.
    pub(crate) url: String,
    /// Which hosts and origins are ours.
    pub(crate) gate: Gate,
    /// What visitors may do.
    pub(crate) access: Access,
    /// What lets a visitor in.
    pub(crate) token: Token,
    /// Those who came in.
    pub(crate) sessions: Sessions,
    /// Who was not let in of late.
    pub(crate) refusals: Refusals,
    /// What was seen of the root.
    pub(crate) seen: Seen,
    /// Those who listen to what happens.
    pub(crate) hub: Hub,
    /// Places for streams of events.
    pub(crate) streams: Arc<Semaphore>,
    /// Places for requests that block.
    pub(crate) desks: Desks,
    /// Whether the server is to end.
    pub(crate) closing: Closing,
    /// Tells people what an error means.
    pub(crate) explain: fn(EngineError) -> Explained,
    /// Checks everything that a step needs.
    pub(crate) check: fn(&Site) -> Result<Vec<Finding>, Explained>,
    /// Does what a visitor wants, as a command.
    pub(crate) carry: fn(&Site, &Order) -> Result<Carried, Explained>,
    /// Adds to a command what it needs to mean this site.
    pub(crate) here: fn(&str) -> String,
}

/// The same, as handlers hold it.
pub(crate) type Shared = Arc<App>;
