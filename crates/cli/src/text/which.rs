//! What needs a node, as `uwf cas which` prints it.

use uwf_engine::{NodeState, NodeUses, StepUse, ThreadUse};

use crate::hints;
use crate::output::Show;
use crate::text::table::{Page, fields};

/// How many rows of one kind are shown.
const MOST_ROWS: usize = 20;
/// How many steps of one thread are named.
const MOST_STEPS: usize = 5;

impl Show for NodeUses {
    fn text(&self, page: Page) -> String {
        let mut rows = vec![("node", self.hash.to_string())];
        rows.extend(self.what.clone().map(|what| ("what", what)));
        rows.push(("state", state(self)));
        shown(&mut rows, "thread", self.threads.iter().map(thread));
        let workflows = self.workflows.iter();
        let workflow = workflows.map(|one| format!("{} is {}", one.name, one.hash));
        shown(&mut rows, "workflow", workflow);
        let earlier = self.earlier.iter();
        let earlier = earlier.map(|one| format!("{} was {}", one.name, one.hash));
        shown(&mut rows, "earlier", earlier);
        let replaced = self.replaced.iter();
        let replaced =
            replaced.map(|one| format!("step {} of thread {} before", one.step, one.thread));
        shown(&mut rows, "replaced", replaced);
        let runs = self.runs.iter();
        let run = runs.map(|hash| format!("{hash}, which the record of a run names"));
        shown(&mut rows, "run", run);
        let referrers = self.referrers.iter();
        let referrer = referrers.map(|one| format!("{} ({})", one.hash, one.what));
        shown(&mut rows, "referrer", referrer);
        if !self.reachable {
            let unused = "no thread, workflow or run needs it: `uwf cas gc` removes it when it is old enough";
            rows.push(("unused", hints::here(unused).into_owned()));
        }
        let unreadable = self.unreadable.iter();
        let unreadable =
            unreadable.map(|hash| format!("{hash} cannot be read, and may refer to it"));
        shown(&mut rows, "perhaps", unreadable);
        let others = self.other_roots.iter();
        let other = others.map(|root| {
            let root = root.display();
            format!("{root} uses the store, too, and was not looked at")
        });
        shown(&mut rows, "root", other);
        fields(&rows, page)
    }
}

fn state(uses: &NodeUses) -> String {
    let state = match uses.state {
        NodeState::Sound => "sound",
        NodeState::Corrupt => "corrupt",
        NodeState::Missing => "missing",
    };
    match &uses.problem {
        Some(problem) => format!("{state}: {problem}"),
        None => state.to_owned(),
    }
}

/// Adds a row for each of the first lines, and one with the number of the others.
fn shown(
    rows: &mut Vec<(&'static str, String)>,
    label: &'static str,
    lines: impl ExactSizeIterator<Item = String>,
) {
    let count = lines.len();
    rows.extend(lines.take(MOST_ROWS).map(|line| (label, line)));
    if count > MOST_ROWS {
        rows.push((label, format!("and {} more", count - MOST_ROWS)));
    }
}

fn thread(one: &ThreadUse) -> String {
    let name = one.name.as_ref();
    let name = name.map_or_else(String::new, |name| format!(" {name}"));
    let ended = one.ended.map_or("active", |status| status.as_str());
    let mut uses: Vec<String> = one.steps.iter().take(MOST_STEPS).map(step).collect();
    if one.steps.len() > MOST_STEPS {
        uses.push(format!("and {} more", one.steps.len() - MOST_STEPS));
    }
    if one.start {
        uses.insert(0, "its start".to_owned());
    }
    format!("{}{name}, {ended}: {}", one.thread, uses.join(", "))
}

fn step(one: &StepUse) -> String {
    let number = one
        .number
        .map_or("?".to_owned(), |number| number.to_string());
    let role = one.role.as_ref();
    let role = role.map_or_else(String::new, |role| format!(" of {role}"));
    format!("step {number}{role} ({})", one.step)
}
