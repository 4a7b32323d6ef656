//! Threads with steps at a remote, and a repository to compare with.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::machine::MachineId;
use uwf_protocol::raw_node::{LinkedNode, RawNode};
use uwf_protocol::run::ThreadRecord;
use uwf_remote::care::Cared;
use uwf_remote::{
    Acquired, Advanced, After, Lease, Leased, NewThread, Owner, Push, Put, Released, Remote, Want,
    Which,
};
use uwf_remote_postgres::{Address, Postgres};

use crate::admin::Admin;
use crate::postgres;

/// The bytes of a node, and how many a step has.
const BYTES: usize = 600;
const NODES: usize = 5;
const LEASE: Duration = Duration::from_secs(120);

/// The number of the last node, thread or owner that was made.
static LAST: AtomicU64 = AtomicU64::new(100);

fn next() -> u64 {
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// Returns how many nodes a thread of so many steps has.
pub(crate) fn chain(steps: usize) -> usize {
    3 + steps * NODES
}

fn node(refs: Vec<CasRef>) -> LinkedNode {
    let number = next();
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(BYTES, b'x');
    LinkedNode {
        node: RawNode {
            hash: CasRef::from_u64(number),
            type_hash: CasRef::from_u64(1),
            payload,
            timestamp_ms: 1_780_416_525_000,
        },
        refs,
    }
}

/// Returns the nodes of a step, the step last.
fn step(before: CasRef) -> Vec<LinkedNode> {
    let mut nodes: Vec<LinkedNode> = (1..NODES).map(|_| node(Vec::new())).collect();
    let mut refs: Vec<CasRef> = nodes.iter().map(|node| node.node.hash).collect();
    refs.push(before);
    nodes.push(node(refs));
    nodes
}

/// A remote in a schema of its own.
pub(crate) struct Client {
    url: String,
    password: Option<String>,
    schema: String,
}

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        Self::made(url, None)
    }

    pub(crate) fn with_password(url: &str, password: &str) -> Self {
        Self::made(url, Some(password.to_owned()))
    }

    fn made(url: &str, password: Option<String>) -> Self {
        let client = Self {
            url: url.to_owned(),
            password,
            schema: postgres::new_schema(),
        };
        let mut remote = client.open();
        remote.make().unwrap();
        let mut schema = node(Vec::new());
        schema.node.hash = CasRef::from_u64(1);
        assert_eq!(remote.put(&[schema], None), Ok(Put::Done));
        client
    }

    pub(crate) fn open(&self) -> Postgres {
        let address = Address::new(&self.url, &self.schema).unwrap();
        Postgres::new(address, self.password.clone()).unwrap()
    }

    pub(crate) fn new_owner(&self) -> Owner {
        let number = next();
        Owner {
            machine: MachineId::from_u64(number),
            name: self.schema.clone(),
            mark: number.to_string(),
        }
    }

    /// Makes a table of one row, and keeps a connection to change it.
    pub(crate) fn one_row(&self) -> OneRow {
        let (admin, table) = (Admin::new(&self.url), format!("{}.one_row", self.schema));
        admin.run(&format!("CREATE TABLE {table} AS SELECT 1 AS number"));
        OneRow { admin, table }
    }

    /// Asks for the next thread as a worker does, who fetches it then.
    pub(crate) fn want_next<'a>(&self, owner: &'a Owner) -> Want<'a> {
        Want {
            owner,
            lasts: LEASE,
            have: &[],
            at_most: 0,
        }
    }

    /// Puts a thread with so many steps there, and returns it.
    pub(crate) fn thread(&self, remote: &mut Postgres, steps: usize) -> Thread {
        let start = node(Vec::new());
        let (workflow, mut head) = (CasRef::from_u64(1), start.node.hash);
        let mut nodes = vec![start];
        for _ in 0..steps {
            nodes.extend(step(head));
            head = nodes[nodes.len() - 1].node.hash;
        }
        for part in nodes.chunks(2000) {
            assert_eq!(remote.put(part, None), Ok(Put::Done));
        }
        let id = ThreadId::new(next(), 0);
        let new = NewThread {
            thread: id,
            workflow,
            head,
            status: HeadStatus::Ready,
            label: None,
            record: ThreadRecord::default(),
        };
        assert_eq!(remote.put(&[], Some(&new)), Ok(Put::Done));
        Thread {
            id,
            head,
            owner: self.new_owner(),
        }
    }

    /// Fills the tables with nodes that refer to each other, and with a thread for ten of them, of which each tenth is ready.
    pub(crate) fn fill(&self, nodes: usize) {
        let schema = &self.schema;
        // A statement that makes a million of rows takes longer than a call of a remote may.
        Admin::new(&self.url).run(&format!(
            "INSERT INTO {schema}.nodes (hash, type, payload, digest, stamp, refs)
             SELECT n + (1::bigint << 40), 1, convert_to(repeat('x', 300) || n, 'UTF8'), decode(repeat('00', 32), 'hex'), 0,
               CASE WHEN n % 50 = 0 THEN '{{}}'::bigint[] ELSE ARRAY[n - 1 + (1::bigint << 40)] END
             FROM generate_series(1, {nodes}) AS n;
             INSERT INTO {schema}.threads (id, workflow, head, status, records)
             SELECT '7' || lpad(n::text, 25, '0'), 1, 10 * n + (1::bigint << 40), CASE WHEN n % 10 = 0 THEN 'ready' ELSE 'ended' END,
               ARRAY['{{}}'::bytea]
             FROM generate_series(1, {nodes} / 10) AS n;
             ANALYZE {schema}.nodes; ANALYZE {schema}.threads"
        ));
    }

    /// Takes the next ready thread and does a step of it. Tells whether there was one.
    pub(crate) fn step_next(&self, remote: &mut Postgres) -> bool {
        let owner = self.new_owner();
        let want = self.want_next(&owner);
        match remote
            .acquire(
                Which::Next {
                    labels: &[],
                    except: &[],
                },
                &want,
            )
            .unwrap()
        {
            Acquired::Leased(leased) => {
                advance(remote, &leased.lease, leased.head);
                true
            }
            _ => false,
        }
    }
}

/// A table of one row.
pub(crate) struct OneRow {
    admin: Admin,
    table: String,
}

impl OneRow {
    /// Changes the row, in a transaction of its own.
    pub(crate) fn change(&self) {
        let table = &self.table;
        self.admin
            .run(&format!("UPDATE {table} SET number = number + 1"));
    }
}

/// A thread at a remote, and a machine that works on it.
pub(crate) struct Thread {
    id: ThreadId,
    head: CasRef,
    owner: Owner,
}

impl Thread {
    pub(crate) fn head(&self) -> CasRef {
        self.head
    }

    /// Takes its lease, with the head known here.
    pub(crate) fn acquire(&self, remote: &mut Postgres) -> Lease {
        let have = [self.head];
        let want = Want {
            owner: &self.owner,
            lasts: LEASE,
            have: &have,
            at_most: 5000,
        };
        let acquired = remote.acquire(Which::Thread(self.id), &want).unwrap();
        let Acquired::Leased(leased) = acquired else {
            panic!("nobody else has it: {acquired:?}");
        };
        let Leased { lease, nodes, .. } = *leased;
        assert!(nodes.is_empty());
        lease
    }

    /// Does a step.
    pub(crate) fn advance(&mut self, remote: &mut Postgres, lease: &Lease) {
        self.head = advance(remote, lease, self.head);
    }

    pub(crate) fn release(&self, remote: &mut Postgres, lease: &Lease) {
        let released = remote.release(lease, &ThreadRecord::default());
        assert_eq!(released, Ok(Released::Yes));
    }
}

fn advance(remote: &mut Postgres, lease: &Lease, from: CasRef) -> CasRef {
    let nodes = step(from);
    let to = nodes[nodes.len() - 1].node.hash;
    let push = Push {
        nodes: &nodes,
        from,
        to,
        status: HeadStatus::Ready,
        record: &ThreadRecord::default(),
        lease: After::GiveBack,
    };
    assert_eq!(remote.advance(lease, &push), Ok(Advanced::Moved));
    to
}

/// A repository for commits to compare with.
pub(crate) struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        git(repository.folder.path(), &["init", "-q"]);
        repository
    }

    /// Makes an empty commit.
    pub(crate) fn commit(&self) {
        commit(self.folder.path());
    }

    /// Makes an empty commit that is on the disk afterwards.
    pub(crate) fn durable_commit(&self) {
        let commit = ["commit", "-q", "--allow-empty", "-m", "step"];
        git(
            self.folder.path(),
            &[&["-c", "core.fsync=all"], &commit[..]].concat(),
        );
    }
}

/// Two clones of a bare repository on the same disk.
pub(crate) struct Clones {
    folder: tempfile::TempDir,
}

impl Clones {
    pub(crate) fn new() -> Self {
        let clones = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let at = clones.folder.path();
        git(at, &["init", "-q", "--bare", "shared"]);
        git(at, &["clone", "-q", "shared", "one"]);
        commit(&at.join("one"));
        git(&at.join("one"), &["push", "-q", "origin", "HEAD"]);
        git(at, &["clone", "-q", "shared", "other"]);
        clones
    }

    /// Makes an empty commit in one of them.
    pub(crate) fn commit(&self) {
        commit(&self.folder.path().join("one"));
    }

    /// Sends the commit, and brings it into the other.
    pub(crate) fn push_and_fetch(&self) {
        let at = self.folder.path();
        git(&at.join("one"), &["push", "-q", "origin", "HEAD"]);
        git(&at.join("other"), &["fetch", "-q"]);
    }
}

fn commit(folder: &Path) {
    git(folder, &["commit", "-q", "--allow-empty", "-m", "step"]);
}

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder);
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
    assert!(command.args(args).status().unwrap().success());
}
