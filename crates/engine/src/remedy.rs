//! What helps a thread that the graph gives no next step: another answer, or another workflow.

use uwf_moderator::RouteError;
use uwf_protocol::workflow::NodeName;

/// What helps a blocked thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Another answer of the last role may take an edge.
    Answer {
        /// The statuses that have edges, if the answer has one that has none.
        statuses: Vec<String>,
    },
    /// Whatever is answered, the workflow leads nowhere: a thread keeps the workflow that it began with.
    Workflow,
}

impl Remedy {
    /// Returns what helps where the graph leads nowhere for this reason.
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
        let answer = Remedy::Answer { statuses };
        assert_eq!(Remedy::of(&unknown(node("a"), &["good"])), answer);
        assert_eq!(Remedy::of(&unknown(node("a"), &[])), Remedy::Workflow);
        assert_eq!(
            Remedy::of(&unknown(NodeName::Start, &["x"])),
            Remedy::Workflow
        );
        let no_match = |node| Remedy::of(&RouteError::NoMatch { node });
        assert_ne!(no_match(node("a")), Remedy::Workflow);
        assert_eq!(no_match(NodeName::Start), Remedy::Workflow);
        let condition = RouteError::Condition {
            edge: EdgeName {
                from: node("a"),
                key: EdgeKey::Index(0),
            },
            condition: "c".to_owned(),
            problem: Box::new(ConditionError::TooLong { length: 1 }),
        };
        assert_eq!(Remedy::of(&condition), Remedy::Workflow);
        let no_edges = RouteError::NoEdges { node: node("a") };
        assert_eq!(Remedy::of(&no_edges), Remedy::Workflow);
    }
}
