//! The statements, one for each call, with the name of the schema in them.

/// The statements for one schema.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) schema: String,
    pub(crate) hello: String,
    pub(crate) acquire_alone: String,
    pub(crate) acquire_next_alone: String,
    pub(crate) acquire: String,
    pub(crate) acquire_next: String,
    pub(crate) find: String,
    pub(crate) renew: String,
    pub(crate) release: String,
    pub(crate) end_lease: String,
    pub(crate) advance: String,
    pub(crate) has_moved: String,
    pub(crate) put: String,
    pub(crate) missing: String,
    pub(crate) closure: String,
    pub(crate) nodes: String,
    pub(crate) list: String,
    pub(crate) set_label: String,
    pub(crate) set_name: String,
    pub(crate) name: String,
    pub(crate) names: String,
    pub(crate) may_remove: String,
    pub(crate) condemn: String,
    pub(crate) now: String,
    pub(crate) barriers: [String; 3],
    pub(crate) reprieve: String,
    pub(crate) remove: String,
    pub(crate) check_nodes: String,
    pub(crate) check_threads: String,
    pub(crate) check_history: String,
    pub(crate) check_names: String,
    pub(crate) links: String,
    pub(crate) thread_needs: String,
    pub(crate) restore: String,
    pub(crate) relink: String,
    pub(crate) records: String,
    pub(crate) count_garbage: String,
    pub(crate) count_threads: String,
    pub(crate) count_nodes: String,
    pub(crate) count_names: String,
    pub(crate) migrate: String,
    pub(crate) grants: String,
    pub(crate) roles: String,
}

/// The text of an empty list of nodes in a statement.
const NONE: &str = "'{}'::bigint[]";

/// The parameters that have the owner of a lease, in different statements.
const OWNERS: [&str; 2] = ["$2", "$9"];

/// What replaces the placeholders in the texts of the statements.
struct Text<'a> {
    schema: &'a str,
    /// The condition that this client is too old.
    old: String,
}

impl<'a> Text<'a> {
    fn new(schema: &'a str) -> Self {
        let old = uncommented(include_str!("../sql/old.sql"));
        Self {
            schema,
            old: old.replace("{client}", &crate::VERSION.to_string()),
        }
    }

    /// Returns a statement without comments and placeholders.
    fn write(&self, text: &str) -> String {
        let mut text = uncommented(text).replace("{old}", &self.old);
        for owner in OWNERS {
            text = text.replace(&format!("{{own:{owner}}}"), &is_own(owner));
        }
        let text = text
            .replace("{refs}", &without_holes("refs"))
            .replace("{records}", &without_holes("records"));
        in_schema(&text, self.schema)
    }

    /// Returns a statement that makes tables.
    fn making(&self, text: &str) -> String {
        let tables = text.replace("{names_table}", include_str!("../sql/names_table.sql"));
        self.write(&tables.replace("{version}", &crate::VERSION.to_string()))
    }

    /// Returns a statement that stores nodes. The parameter `nodes` has the nodes that a record names.
    fn storing(&self, text: &str, nodes: &str) -> String {
        let store = uncommented(include_str!("../sql/store.sql"));
        let text = uncommented(text).replace("{store}", &store);
        self.write(&naming(&text, nodes, "$1"))
    }

    /// Returns a statement that takes a lease, and brings no nodes.
    fn acquiring_alone(&self, lease: &str) -> String {
        let whole =
            include_str!("../sql/acquire_alone.sql").replace("{lease}", &uncommented(lease));
        self.write(&whole)
    }

    /// Returns a statement that takes a lease, and brings nodes of the head.
    fn acquiring(&self, lease: &str) -> String {
        let whole = include_str!("../sql/acquire.sql").replace("{lease}", &uncommented(lease));
        self.write(&walking(&whole, "$4"))
    }

    /// Returns a statement that walks from all roots. The parameter `named` has the nodes that records name.
    fn marking(&self, text: &str, named: &str) -> String {
        let roots = uncommented(include_str!("../sql/roots.sql")).replace("{named}", named);
        self.write(&walking(&text.replace("{roots}", &roots), NONE))
    }
}

/// Returns the condition that a lease is that of the owner in a parameter.
fn is_own(owner: &str) -> String {
    uncommented(include_str!("../sql/own.sql")).replace("{owner}", owner)
}

/// Returns the text that reads an array without NULLs and in one dimension. No command stores other ones, but a damaged remote may
/// have them.
fn without_holes(array: &str) -> String {
    format!("ARRAY(SELECT one FROM unnest({array}) AS one WHERE one IS NOT NULL)")
}

/// Fills in which of the nodes that a record names are stored beside it.
fn naming(text: &str, nodes: &str, given: &str) -> String {
    let named = uncommented(include_str!("../sql/named.sql"));
    let named = named.replace("{nodes}", nodes).replace("{given}", given);
    text.replace("{named}", &named)
}

/// Fills in a walk that stops at the nodes that the caller has.
fn walking(text: &str, have: &str) -> String {
    let needs = uncommented(include_str!("../sql/needs.sql")).replace("{have}", have);
    text.replace("{needs}", &needs).replace("{have}", have)
}

impl Statements {
    pub(crate) fn new(schema: &str) -> Self {
        let text = Text::new(schema);
        Self {
            schema: text.making(include_str!("../sql/schema.sql")),
            hello: text.write(include_str!("../sql/hello.sql")),
            acquire_alone: text.acquiring_alone(include_str!("../sql/lease_one.sql")),
            acquire_next_alone: text.acquiring_alone(include_str!("../sql/lease_next.sql")),
            acquire: text.acquiring(include_str!("../sql/lease_one.sql")),
            acquire_next: text.acquiring(include_str!("../sql/lease_next.sql")),
            find: text.write(include_str!("../sql/find.sql")),
            renew: text.write(include_str!("../sql/renew.sql")),
            release: text.write(&naming(include_str!("../sql/release.sql"), "$6", NONE)),
            end_lease: text.write(include_str!("../sql/end_lease.sql")),
            advance: text.storing(include_str!("../sql/advance.sql"), "$16"),
            has_moved: text.write(include_str!("../sql/has_moved.sql")),
            put: text.storing(include_str!("../sql/put.sql"), "$14"),
            missing: text.write(include_str!("../sql/missing.sql")),
            closure: text.write(&walking(include_str!("../sql/closure.sql"), "$2")),
            nodes: text.write(include_str!("../sql/nodes.sql")),
            list: text.write(include_str!("../sql/list.sql")),
            set_label: text.write(include_str!("../sql/set_label.sql")),
            set_name: text.write(include_str!("../sql/set_name.sql")),
            name: text.write(include_str!("../sql/name.sql")),
            names: text.write(include_str!("../sql/names.sql")),
            may_remove: text.write(include_str!("../sql/may_remove.sql")),
            condemn: text.marking(include_str!("../sql/condemn.sql"), "$1"),
            now: text.write(include_str!("../sql/now.sql")),
            barriers: [
                text.write(include_str!("../sql/barrier_nodes.sql")),
                text.write(include_str!("../sql/barrier_threads.sql")),
                text.write(include_str!("../sql/barrier_names.sql")),
            ],
            reprieve: text.marking(include_str!("../sql/reprieve.sql"), "$1"),
            remove: text.write(include_str!("../sql/remove.sql")),
            check_nodes: text.write(include_str!("../sql/check_nodes.sql")),
            check_threads: text.write(include_str!("../sql/check_threads.sql")),
            check_history: text.write(include_str!("../sql/check_history.sql")),
            check_names: text.write(include_str!("../sql/check_names.sql")),
            links: text.write(include_str!("../sql/links.sql")),
            thread_needs: text.write(include_str!("../sql/thread_needs.sql")),
            restore: text.write(include_str!("../sql/restore.sql")),
            relink: text.write(include_str!("../sql/relink.sql")),
            records: text.write(include_str!("../sql/records.sql")),
            count_garbage: text.marking(include_str!("../sql/count_garbage.sql"), "$2"),
            count_threads: text.write(include_str!("../sql/count_threads.sql")),
            count_nodes: text.write(include_str!("../sql/count_nodes.sql")),
            count_names: text.write(include_str!("../sql/count_names.sql")),
            migrate: text.making(include_str!("../sql/migrate.sql")),
            grants: text.write(include_str!("../sql/grants.sql")),
            // People read this one, so it keeps its comments.
            roles: in_schema(include_str!("../sql/roles.sql"), schema),
        }
    }
}

/// Fills in the schema. Its name is quoted, because it may be a word of SQL, such as `user`. The names of the roles only begin with
/// it.
fn in_schema(text: &str, schema: &str) -> String {
    let text = text.replace("{schema}_", &format!("{schema}_"));
    text.replace("{schema}", &format!("\"{schema}\""))
}

/// Returns a statement without its comments, which are for people.
fn uncommented(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_open_in_a_statement() {
        let statements = Statements::new("team_a");
        assert!(!statements.roles.contains('{'));
        let runnable = Statements {
            roles: String::new(),
            ..statements
        };
        let all = format!("{runnable:?}").replace("Statements {", "");
        assert!(all.contains(r#"\"team_a\".nodes"#));
        let without_none = all.replace(NONE, "").replace("'{}'", "");
        let letters: Vec<char> = without_none.chars().collect();
        let opened = letters
            .windows(2)
            .find(|pair| pair[0] == '{' && pair[1].is_ascii_lowercase());
        assert_eq!(opened, None);
        assert!(!all.contains("--"));
    }
}
