//! The database of the reference program: a table of variables, each the name of a node, and a table of their tags.

use std::path::Path;
use std::str::FromStr;

use rusqlite::{Connection, OpenFlags, Row};
use uwf_protocol::ids::{CasRef, IdError, ThreadId};
use uwf_storage::Reason;

use crate::copy::DatabaseCopy;
use crate::error::ForeignError;
use crate::state::{End, ForeignState};

/// The tables that are read.
const TABLES: [&str; 2] = ["variables", "variable_tags"];
/// What the names of its variables begin with.
const THREAD: &str = "@uwf/thread/";
const HISTORY: &str = "@uwf/history/";
const WORKFLOW: &str = "@uwf/registry/";

/// The variables with the tags of an ended thread. A name may have several rows, one for each type of node: the last one
/// that was written counts.
const VARIABLES: &str = "
    SELECT v.name, v.value, tag.completed_at, tag.reason, tag.workflow
    FROM variables v
    LEFT JOIN (
        SELECT variable_name, variable_schema,
            max(CASE key WHEN 'completedAt' THEN CAST(value AS TEXT) END) AS completed_at,
            max(CASE key WHEN 'reason' THEN value END) AS reason,
            max(CASE key WHEN 'workflow' THEN value END) AS workflow
        FROM variable_tags
        GROUP BY variable_name, variable_schema
    ) tag ON tag.variable_name = v.name AND tag.variable_schema = v.schema
    WHERE substr(v.name, 1, 5) = '@uwf/'
    ORDER BY v.updated, v.created, v.schema";

/// How many tables have the name, and how many of their columns are computed. Views and virtual tables do not count.
const TABLE: &str = "
    SELECT
        (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1 AND sql LIKE 'CREATE TABLE%'),
        (SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden <> 0)";

/// A row of [`VARIABLES`].
#[derive(Debug, Default)]
struct Variable {
    name: String,
    value: String,
    completed_at: Option<String>,
    reason: Option<String>,
    workflow: Option<String>,
}

/// Reads a database; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<ForeignState>, ForeignError> {
    let Some(copy) = DatabaseCopy::of(path)? else {
        return Ok(None);
    };
    let damaged = |problem: String| ForeignError::Database {
        path: path.to_owned(),
        problem,
    };
    let variables = variables(&copy.path()).map_err(damaged)?;
    let mut state = ForeignState::default();
    for variable in variables {
        add(&mut state, &variable).map_err(|problem| ForeignError::Variable {
            path: path.to_owned(),
            name: variable.name,
            problem,
        })?;
    }
    Ok(Some(state))
}

/// Returns the variables of a database, or what is wrong with it.
fn variables(path: &Path) -> Result<Vec<Variable>, String> {
    let said = |error: rusqlite::Error| error.to_string();
    // Writing is allowed because a database whose program was killed is recovered first. It is a copy.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(said)?;
    // What a stranger wrote into the schema must compute nothing.
    for (pragma, value) in [
        ("trusted_schema", false),
        ("ignore_check_constraints", true),
    ] {
        database.pragma_update(None, pragma, value).map_err(said)?;
    }
    for table in TABLES {
        check(&database, table).map_err(said)??;
    }
    let mut query = database.prepare(VARIABLES).map_err(said)?;
    let rows = query.query_map([], variable).map_err(said)?;
    rows.collect::<Result<_, _>>().map_err(said)
}

/// Checks that a table is there, is stored as it is read, and is not damaged.
fn check(database: &Connection, table: &str) -> rusqlite::Result<Result<(), String>> {
    let (tables, computed): (i64, i64) =
        database.query_row(TABLE, [table], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if tables == 0 {
        let problem = format!("it has no table `{table}`: another program wrote it");
        return Ok(Err(problem));
    }
    if computed > 0 {
        let problem =
            format!("columns of its table `{table}` are computed: another program wrote it");
        return Ok(Err(problem));
    }
    let query = format!("PRAGMA quick_check('{table}')");
    let found: String = database.query_row(&query, [], |row| row.get(0))?;
    Ok(match found.as_str() {
        "ok" => Ok(()),
        problem => Err(problem.trim().replace('\n', "; ")),
    })
}

fn variable(row: &Row<'_>) -> rusqlite::Result<Variable> {
    Ok(Variable {
        name: row.get(0)?,
        value: row.get(1)?,
        completed_at: row.get(2)?,
        reason: row.get(3)?,
        workflow: row.get(4)?,
    })
}

/// Adds what a variable says, or returns why it says nothing. A variable of another kind is left out.
fn add(state: &mut ForeignState, variable: &Variable) -> Result<(), String> {
    let name = variable.name.as_str();
    if let Some(thread) = name.strip_prefix(THREAD) {
        state.add_active(parsed(thread)?, parsed(&variable.value)?);
    } else if let Some(thread) = name.strip_prefix(HISTORY) {
        let thread: ThreadId = parsed(thread)?;
        state.add_ended(thread, parsed(&variable.value)?, end(variable)?);
    } else if let Some(workflow) = name.strip_prefix(WORKFLOW) {
        let hash = parsed(&variable.value)?;
        state.workflows.insert(workflow.to_owned(), hash);
    }
    Ok(())
}

fn end(variable: &Variable) -> Result<End, String> {
    let completed_at = variable.completed_at.as_deref().unwrap_or_default();
    let workflow: Option<CasRef> = variable.workflow.as_deref().map(parsed).transpose()?;
    Ok(End {
        completed_at: completed_at.parse().map_err(|_| {
            format!("its tag `completedAt`, `{completed_at}`, is not a number of milliseconds")
        })?,
        reason: match variable.reason.as_deref() {
            None | Some("completed") => Reason::Completed,
            Some("cancelled") => Reason::Cancelled,
            Some(other) => {
                return Err(format!(
                    "its tag `reason`, `{other}`, is neither `completed` nor `cancelled`"
                ));
            }
        },
        workflow,
    })
}

fn parsed<T: FromStr<Err = IdError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: IdError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD_A: &str = "01J7K9Z000000000000000000A";
    const HASH: &str = "CTS5P6RD8HMCS";

    fn said(name: &str, value: &str, tags: [Option<&str>; 3]) -> Result<ForeignState, String> {
        let [completed_at, reason, workflow] = tags.map(|tag| tag.map(str::to_owned));
        let mut state = ForeignState::default();
        let variable = Variable {
            name: name.to_owned(),
            value: value.to_owned(),
            completed_at,
            reason,
            workflow,
        };
        add(&mut state, &variable).map(|()| state)
    }

    #[test]
    fn a_variable_is_a_thread_an_ended_thread_or_the_name_of_a_workflow() {
        let none = [None; 3];
        let active = said(&format!("{THREAD}{THREAD_A}"), HASH, none).unwrap();
        let one = active.threads.values().next().unwrap();
        assert_eq!((one.head.as_str(), one.end), (HASH, None));
        let tags = [Some("7"), Some("cancelled"), Some(HASH)];
        let ended = said(&format!("{HISTORY}{THREAD_A}"), HASH, tags).unwrap();
        let end = ended.threads.values().next().unwrap().end.unwrap();
        assert_eq!((end.completed_at, end.reason), (7, Reason::Cancelled));
        assert_eq!(end.workflow.unwrap().as_str(), HASH);
        let named = said("@uwf/registry/solve-issue", HASH, none).unwrap();
        assert_eq!(named.workflows["solve-issue"].as_str(), HASH);
        assert_eq!(
            said("@uwf/later/x", "x", none).unwrap(),
            ForeignState::default()
        );
    }

    #[test]
    fn what_cannot_be_understood_says_why() {
        let problem = |name: &str, value: &str, tags| said(name, value, tags).unwrap_err();
        let none = [None; 3];
        let thread = format!("{THREAD}{THREAD_A}");
        assert!(problem(&thread, "../../etc", none).contains("is not a hash"));
        let outside = format!("{THREAD}../../x");
        assert!(problem(&outside, HASH, none).contains("is not a thread id"));
        let ended = format!("{HISTORY}{THREAD_A}");
        assert!(problem(&ended, HASH, none).contains("`completedAt`"));
        let reason = problem(&ended, HASH, [Some("1"), Some("x"), None]);
        assert!(reason.contains("`reason`"), "{reason}");
    }
}
