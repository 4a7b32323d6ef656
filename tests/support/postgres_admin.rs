//! What the tests do to a server beside the remote.

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// A connection of somebody who may do everything.
pub(crate) struct Admin {
    runtime: Runtime,
    client: Client,
}

impl Admin {
    pub(crate) fn new(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let (client, connection) = runtime
            .block_on(tokio_postgres::connect(url, NoTls))
            .expect("the server answers");
        runtime.spawn(connection);
        Self { runtime, client }
    }

    pub(crate) fn run(&self, sql: &str) {
        let done = self.runtime.block_on(self.client.batch_execute(sql));
        done.unwrap_or_else(|problem| panic!("{sql}: {problem:?}"));
    }

    /// Runs something, and tells whether that was allowed.
    pub(crate) fn may(&self, sql: &str) -> bool {
        let done = self.runtime.block_on(self.client.batch_execute(sql));
        match done {
            Ok(()) => true,
            Err(problem) => {
                let code = problem.code().expect("the server refuses it");
                assert_eq!(*code, SqlState::INSUFFICIENT_PRIVILEGE, "{problem:?}");
                false
            }
        }
    }

    /// Returns the first row of an answer, its columns separated by spaces.
    pub(crate) fn row(&self, sql: &str) -> String {
        let rows = self.runtime.block_on(self.client.simple_query(sql));
        let rows = rows.unwrap_or_else(|problem| panic!("{sql}: {problem:?}"));
        let first = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let first = first.expect("there is a row");
        let columns = (0..first.len()).map(|at| first.get(at).unwrap_or("null"));
        columns.collect::<Vec<_>>().join(" ")
    }
}
