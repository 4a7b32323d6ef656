//! What every handler shares.

use std::sync::Arc;

use tokio::sync::Semaphore;
use uwf_engine::{EngineError, Site, ThreadView};
use uwf_protocol::ids::ThreadId;

use crate::gate::Gate;
use crate::live::hub::Hub;
use crate::order::{Carried, Order};
use crate::permits::Permits;
use crate::refusals::Refusals;
use crate::session::Sessions;
use crate::settings::{FailedCall, Finding};
use crate::stop::Closing;
use crate::token::Token;
use crate::trouble::Explained;
use crate::vanished::Seen;
use crate::visitor::Access;

/// What all requests of a server share: the site, the rules of access, the sessions and the limits.
pub(crate) struct App {
    /// The storage root that is shown. Functions on it block, so handlers call them on a thread of the blocking pool.
    pub(crate) site: Site,
    /// The address that people open.
    pub(crate) url: String,
    /// Which hosts and origins are ours.
    pub(crate) gate: Gate,
    /// What visitors may do.
    pub(crate) access: Access,
    /// The secret that lets a visitor in.
    pub(crate) token: Token,
    /// The sessions of the browsers that logged in.
    pub(crate) sessions: Sessions,
    /// How many refusals were logged in the current period.
    pub(crate) refusals: Refusals,
    /// Notices when the root disappears.
    pub(crate) seen: Seen,
    /// Sends events to the streams.
    pub(crate) hub: Arc<Hub>,
    /// Limits how many streams of events are open.
    pub(crate) streams: Arc<Semaphore>,
    /// Limit how many requests work at the same time.
    pub(crate) permits: Permits,
    /// Tells when the server is to end.
    pub(crate) closing: Closing,
    /// Tells people what an error means.
    pub(crate) explain: fn(EngineError) -> Explained,
    /// Checks everything that a step needs.
    pub(crate) check: fn(&Site) -> Result<Vec<Finding>, Explained>,
    /// Runs the command of an order.
    pub(crate) carry: fn(&Site, &Order) -> Result<Carried, Explained>,
    /// Returns the failure of the last call of a thread in the background; `None` if it did not fail.
    pub(crate) failed_call: fn(&Site, ThreadId) -> Option<FailedCall>,
    /// Adds to the text of a command what it needs to mean this site.
    pub(crate) here: fn(&str) -> String,
    /// Tells what a person has to do about a thread that waits for a person.
    pub(crate) hint: fn(&ThreadView) -> Option<String>,
}

/// The shared state, as handlers get it.
pub(crate) type Shared = Arc<App>;
