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
    pub(crate) advance: String,
    pub(crate) has_moved: String,
    pub(crate) put: String,
    pub(crate) missing: String,
    pub(crate) closure: String,
    pub(crate) nodes: String,
    pub(crate) list: String,
}

impl Statements {
    pub(crate) fn new(schema: &str) -> Self {
        let write = |text: &str| uncommented(text).replace("{schema}", schema);
        let store = uncommented(include_str!("../sql/store.sql"));
        let needs = uncommented(include_str!("../sql/needs.sql"));
        let storing = |text: &str| write(&uncommented(text).replace("{store}", &store));
        let walking = |text: &str, have: &str| {
            let needs = needs.replace("{have}", have);
            text.replace("{needs}", &needs).replace("{have}", have)
        };
        let acquire = |lease: &str| {
            let whole = include_str!("../sql/acquire.sql").replace("{lease}", &uncommented(lease));
            write(&walking(&whole, "$4"))
        };
        Self {
            schema: write(include_str!("../sql/schema.sql")),
            hello: write(include_str!("../sql/hello.sql")),
            acquire: acquire(include_str!("../sql/lease_one.sql")),
            acquire_next: acquire(include_str!("../sql/lease_next.sql")),
            find: write(include_str!("../sql/find.sql")),
            renew: write(include_str!("../sql/renew.sql")),
            release: write(include_str!("../sql/release.sql")),
            advance: storing(include_str!("../sql/advance.sql")),
            has_moved: write(include_str!("../sql/has_moved.sql")),
            put: storing(include_str!("../sql/put.sql")),
            missing: write(include_str!("../sql/missing.sql")),
            closure: write(&walking(include_str!("../sql/closure.sql"), "$2")),
            nodes: write(include_str!("../sql/nodes.sql")),
            list: write(include_str!("../sql/list.sql")),
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
        let all = format!("{:?}", Statements::new("team_a"));
        assert!(all.contains("team_a.nodes"));
        for open in ["{schema}", "{store}", "{needs}", "{have}", "{lease}", "--"] {
            assert!(!all.contains(open), "{open}");
        }
    }
}
