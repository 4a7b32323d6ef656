//! The statements, one for each call, with the name of the schema in them.

/// The statements for one schema.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) schema: String,
    pub(crate) hello: String,
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
    pub(crate) condemn: String,
    pub(crate) now: String,
    pub(crate) barriers: [String; 2],
    pub(crate) reprieve: String,
    pub(crate) remove: String,
    pub(crate) check_nodes: String,
    pub(crate) check_threads: String,
    pub(crate) check_history: String,
    pub(crate) count_threads: String,
    pub(crate) count_nodes: String,
    pub(crate) roles: String,
}

/// What stands for no nodes in a statement.
const NONE: &str = "'{}'::bigint[]";

impl Statements {
    pub(crate) fn new(schema: &str) -> Self {
        let old = uncommented(include_str!("../sql/old.sql"));
        let old = old.replace("{client}", &crate::VERSION.to_string());
        let write = |text: &str| {
            let text = uncommented(text).replace("{old}", &old);
            text.replace("{schema}", schema)
        };
        let store = uncommented(include_str!("../sql/store.sql"));
        let needs = uncommented(include_str!("../sql/needs.sql"));
        let naming = |text: &str, roots: &str, given: &str| {
            let named = uncommented(include_str!("../sql/named.sql"));
            let named = named.replace("{roots}", roots).replace("{given}", given);
            text.replace("{named}", &named)
        };
        let storing = |text: &str, roots: &str| {
            let text = uncommented(text).replace("{store}", &store);
            write(&naming(&text, roots, "$1"))
        };
        let walking = |text: &str, have: &str| {
            let needs = needs.replace("{have}", have);
            text.replace("{needs}", &needs).replace("{have}", have)
        };
        let acquire = |lease: &str| {
            let whole = include_str!("../sql/acquire.sql").replace("{lease}", &uncommented(lease));
            write(&walking(&whole, "$4"))
        };
        let marking = |text: &str| {
            let roots = uncommented(include_str!("../sql/roots.sql"));
            write(&walking(&text.replace("{roots}", &roots), NONE))
        };
        Self {
            schema: write(include_str!("../sql/schema.sql")),
            hello: write(include_str!("../sql/hello.sql")),
            acquire: acquire(include_str!("../sql/lease_one.sql")),
            acquire_next: acquire(include_str!("../sql/lease_next.sql")),
            find: write(include_str!("../sql/find.sql")),
            renew: write(include_str!("../sql/renew.sql")),
            release: write(&naming(include_str!("../sql/release.sql"), "$6", NONE)),
            end_lease: write(include_str!("../sql/end_lease.sql")),
            advance: storing(include_str!("../sql/advance.sql"), "$17"),
            has_moved: write(include_str!("../sql/has_moved.sql")),
            put: storing(include_str!("../sql/put.sql"), "$15"),
            missing: write(include_str!("../sql/missing.sql")),
            closure: write(&walking(include_str!("../sql/closure.sql"), "$2")),
            nodes: write(include_str!("../sql/nodes.sql")),
            list: write(include_str!("../sql/list.sql")),
            condemn: marking(include_str!("../sql/condemn.sql")),
            now: write(include_str!("../sql/now.sql")),
            barriers: [
                write(include_str!("../sql/barrier_nodes.sql")),
                write(include_str!("../sql/barrier_threads.sql")),
            ],
            reprieve: marking(include_str!("../sql/reprieve.sql")),
            remove: write(include_str!("../sql/remove.sql")),
            check_nodes: write(include_str!("../sql/check_nodes.sql")),
            check_threads: write(include_str!("../sql/check_threads.sql")),
            check_history: write(include_str!("../sql/check_history.sql")),
            count_threads: write(include_str!("../sql/count_threads.sql")),
            count_nodes: write(include_str!("../sql/count_nodes.sql")),
            // This one is for people, with its comments.
            roles: include_str!("../sql/roles.sql").replace("{schema}", schema),
        }
    }
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
        assert!(all.contains("team_a.nodes"));
        let without_none = all.replace(NONE, "").replace("'{}'", "");
        let letters: Vec<char> = without_none.chars().collect();
        let opened = letters
            .windows(2)
            .find(|pair| pair[0] == '{' && pair[1].is_ascii_lowercase());
        assert_eq!(opened, None);
        assert!(!all.contains("--"));
    }
}
