//! A remote that repeats each call until it is answered, as a person would who waits for a server.

use std::time::{Duration, Instant};

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{
    Acquired, Advanced, Found, FoundOne, Given, Hello, Lease, Listed, Named, NewThread, Part, Push,
    Put, Query, Released, Remote, RemoteError, Renewed, SharedName, Standing, Want, Which,
};
use uwf_remote_postgres::Postgres;

pub(crate) struct Patient(pub(crate) Postgres);

impl Patient {
    fn wait<T>(
        &mut self,
        call: impl Fn(&mut Postgres) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        let deadline = Instant::now() + Duration::from_secs(90);
        loop {
            match call(&mut self.0) {
                Err(error) if error.may_pass() && Instant::now() < deadline => {}
                answer => return answer,
            }
        }
    }
}

impl Remote for Patient {
    fn hello(&mut self) -> Result<Hello, RemoteError> {
        self.wait(Remote::hello)
    }

    fn acquire(&mut self, which: Which<'_>, want: &Want<'_>) -> Result<Acquired, RemoteError> {
        self.wait(|remote| remote.acquire(which, want))
    }

    fn renew(&mut self, lease: &Lease) -> Result<Renewed, RemoteError> {
        self.wait(|remote| remote.renew(lease))
    }

    fn advance(&mut self, lease: &Lease, push: &Push<'_>) -> Result<Advanced, RemoteError> {
        self.wait(|remote| remote.advance(lease, push))
    }

    fn release(&mut self, lease: &Lease, record: &ThreadRecord) -> Result<Released, RemoteError> {
        self.wait(|remote| remote.release(lease, record))
    }

    fn standing(&mut self, thread: ThreadId) -> Result<Standing, RemoteError> {
        self.wait(|remote| remote.standing(thread))
    }

    fn end_lease(&mut self, lease: &Lease) -> Result<(), RemoteError> {
        self.wait(|remote| remote.end_lease(lease))
    }

    fn put(&mut self, nodes: &[LinkedNode], new: Option<&NewThread>) -> Result<Put, RemoteError> {
        self.wait(|remote| remote.put(nodes, new))
    }

    fn missing(&mut self, hashes: &[CasRef]) -> Result<Vec<CasRef>, RemoteError> {
        self.wait(|remote| remote.missing(hashes))
    }

    fn closure(
        &mut self,
        from: &[CasRef],
        have: &[CasRef],
        part: Part,
    ) -> Result<Given, RemoteError> {
        self.wait(|remote| remote.closure(from, have, part))
    }

    fn find(&mut self, thread: ThreadId, head: CasRef) -> Result<Option<Found>, RemoteError> {
        self.wait(|remote| remote.find(thread, head))
    }

    fn find_each(&mut self, threads: &[(ThreadId, CasRef)]) -> Result<Vec<FoundOne>, RemoteError> {
        self.wait(|remote| remote.find_each(threads))
    }

    fn list(
        &mut self,
        query: &Query,
        after: Option<ThreadId>,
        at_most: usize,
    ) -> Result<Vec<Listed>, RemoteError> {
        self.wait(|remote| remote.list(query, after, at_most))
    }

    fn set_label(&mut self, thread: ThreadId, label: Option<&Label>) -> Result<(), RemoteError> {
        self.wait(|remote| remote.set_label(thread, label))
    }

    fn set_name(&mut self, name: &str, known: u64, to: CasRef) -> Result<Named, RemoteError> {
        self.wait(|remote| remote.set_name(name, known, to))
    }

    fn names(
        &mut self,
        after: Option<&str>,
        at_most: usize,
    ) -> Result<Vec<SharedName>, RemoteError> {
        self.wait(|remote| remote.names(after, at_most))
    }
}
