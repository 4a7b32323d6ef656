//! What fixes a blocked thread, to which the graph gives no next step: another answer, or another workflow.

use uwf_moderator::RouteError;
use uwf_protocol::workflow::NodeName;

/// What fixes a blocked thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Another answer of the last role: an edge may apply to it.
    Answer {
        /// The statuses that have edges, if the status of the answer has none.
        statuses: Vec<String>,
    },
    /// Another workflow: here no answer leads on.
    Workflow,
}

impl Fix {
    /// Returns what fixes a thread that is blocked for this reason.
    #[must_use]
    pub fn of(error: &RouteError) -> Self {
        let answer = || Self::Answer {
            statuses: Vec::new(),
        };
        match error {
            RouteError::UnknownStatus { node, known, .. }
                if *node != NodeName::Start && !known.is_empty() =>
            {
                Self::Answer {
                    statuses: known.iter().map(ToString::to_string).collect(),
                }
            }
            RouteError::NoMatch { node } if *node != NodeName::Start => answer(),
            RouteError::Render { edge, .. } | RouteError::Blank { edge, .. }
                if edge.from != NodeName::Start =>
            {
                answer()
            }
            RouteError::UnknownStatus { .. }
            | RouteError::NoMatch { .. }
            | RouteError::Render { .. }
            | RouteError::Blank { .. }
            | RouteError::NoEdges { .. }
            | RouteError::UnknownCondition { .. }
            | RouteError::Condition { .. }
            | RouteError::Template { .. }
            | RouteError::NoResume
            | RouteError::Misfit(_)
            | RouteError::SuspendAtStart { .. } => Self::Workflow,
        }
    }
}

#[cfg(test)]
mod tests {
    use uwf_moderator::condition::ConditionError;
    use uwf_moderator::{EdgeKey, EdgeName};
    use uwf_protocol::ids::Status;

    use super::*;

    fn node(role: &str) -> NodeName {
        NodeName::Role(role.parse().unwrap())
    }

    #[test]
    fn another_answer_is_proposed_only_where_the_answer_decides() {
        let unknown = |node: NodeName, known: &[&str]| RouteError::UnknownStatus {
            node,
            status: Status::new("odd"),
            known: known.iter().map(|key| Status::new(*key)).collect(),
        };
        let statuses = vec!["good".to_owned()];
        let answer = Fix::Answer { statuses };
        assert_eq!(Fix::of(&unknown(node("a"), &["good"])), answer);
        assert_eq!(Fix::of(&unknown(node("a"), &[])), Fix::Workflow);
        assert_eq!(Fix::of(&unknown(NodeName::Start, &["x"])), Fix::Workflow);
        let no_match = |node| Fix::of(&RouteError::NoMatch { node });
        assert_ne!(no_match(node("a")), Fix::Workflow);
        assert_eq!(no_match(NodeName::Start), Fix::Workflow);
        let condition = RouteError::Condition {
            edge: EdgeName {
                from: node("a"),
                key: EdgeKey::Index(0),
            },
            condition: "c".to_owned(),
            problem: Box::new(ConditionError::TooLong { length: 1 }),
        };
        assert_eq!(Fix::of(&condition), Fix::Workflow);
        let no_edges = RouteError::NoEdges { node: node("a") };
        assert_eq!(Fix::of(&no_edges), Fix::Workflow);
    }
}
