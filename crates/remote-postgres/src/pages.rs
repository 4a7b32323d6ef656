//! Reads all threads of a remote in pages, because an answer with all of them may not fit into the memory.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uwf_remote::RemoteError;

use crate::connection::Connection;
use crate::rows::column;

/// How many threads a page has at most.
const THREADS: i64 = 100;

/// Passes each row of a statement about threads to `each`. The statement gets the id after which a page begins, and how many rows a
/// page has at most. It returns the rows in the order of their ids.
pub(crate) fn each_thread(
    connection: &mut Connection,
    statement: &str,
    mut each: impl FnMut(&Row) -> Result<(), RemoteError>,
) -> Result<(), RemoteError> {
    let mut after: Option<String> = None;
    loop {
        let parameters = [(&after as _, Type::TEXT), (&THREADS as _, Type::INT8)];
        let page = connection.maintenance_call(statement, &parameters)?;
        for row in &page {
            each(row)?;
        }
        match page.last() {
            Some(last) => after = Some(column(last, "id")?),
            None => return Ok(()),
        }
    }
}
