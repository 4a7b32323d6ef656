//! Machines that share a thread, and what is stored at their remote.

use crate::postgres::{Server, new_schema};
use crate::postgres_admin::Admin;
use crate::sharing::{machines_in, shared};
use crate::world::{Run, World};

/// Two machines that share a thread, and somebody who may do everything with the database.
pub(crate) struct Place {
    pub(crate) machines: [World; 2],
    pub(crate) thread: String,
    pub(crate) schema: String,
    pub(crate) admin: Admin,
}

impl Place {
    pub(crate) fn new(server: &Server) -> Self {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        Self {
            thread: shared(&machines, "again"),
            admin: Admin::new(&server.url()),
            machines,
            schema,
        }
    }

    /// Calls `uwf remote` on one of the machines.
    pub(crate) fn remote_of(&self, machine: usize, args: &[&str]) -> Run {
        self.machines[machine].uwf(&[&["remote"], args].concat())
    }

    /// Changes something in the database, where `@` is the schema.
    pub(crate) fn run(&self, sql: &str) {
        self.admin.run(&sql.replace('@', &self.schema));
    }

    /// Counts rows of a table, such as `nodes WHERE hash = 7`.
    pub(crate) fn count(&self, what: &str) -> String {
        let sql = format!("SELECT count(*) FROM {}.{what}", self.schema);
        self.admin.row(&sql)
    }
}
