//! Which threads an address asks for. The page of all threads and the list for programs have the same fields.

use std::str::FromStr;

use axum::http::StatusCode;
use uwf_engine::{
    Board, BoardPage, Children, ListFilter, Site, ThreadStatus, board, choose_workflow,
};
use uwf_protocol::ids::ThreadId;

use crate::asked::Asked;
use crate::fields::Fields;
use crate::trouble::{Refusal, Trouble};

/// How many threads a page has if the address does not say.
const PER_PAGE: usize = 50;
/// How many threads a page has at most.
const MOST: usize = 500;

/// The fields of an address that select threads.
pub(crate) mod field {
    pub(crate) const STATUS: &str = "status";
    pub(crate) const WORKFLOW: &str = "workflow";
    pub(crate) const LABEL: &str = "label";
    pub(crate) const TEXT: &str = "q";
    pub(crate) const CHILDREN: &str = "children";
    pub(crate) const BEFORE: &str = "before";
    pub(crate) const TAKE: &str = "take";
}

/// Returns which threads the fields of an address select.
///
/// # Errors
/// When a field has a value that it cannot have, or the workflow is unknown.
fn of(site: &Site, query: &Fields) -> Result<(ListFilter, BoardPage), Trouble> {
    let statuses: Vec<ThreadStatus> = query
        .all(field::STATUS)
        .flat_map(|text| text.split(','))
        .map(|text| parsed(field::STATUS, text))
        .collect::<Result<_, _>>()?;
    let labels = query.all(field::LABEL);
    let labels = labels.map(|text| parsed(field::LABEL, text));
    let workflow = query.get(field::WORKFLOW);
    let workflow = workflow.map(|text| choose_workflow(site, text));
    let filter = ListFilter {
        all: true,
        children: match query.get(field::CHILDREN) {
            Some("listed") => Children::Listed,
            None => Children::Hidden,
            Some(other) => return Err(wrong(field::CHILDREN, other).into()),
        },
        statuses: (!statuses.is_empty()).then_some(statuses),
        workflow: workflow.transpose()?,
        labels: labels.collect::<Result<_, _>>()?,
        text: query.get(field::TEXT).map(|text| text.trim().to_owned()),
        ..ListFilter::default()
    };
    let before = query.get(field::BEFORE);
    let before = before.map(|text| parsed::<ThreadId>(field::BEFORE, text));
    let take = query.get(field::TAKE);
    let take = take.map(|text| parsed::<usize>(field::TAKE, text));
    let page = BoardPage {
        after: before.transpose()?,
        take: take.transpose()?.unwrap_or(PER_PAGE).min(MOST),
    };
    Ok((filter, page))
}

/// Returns the threads that an address asks for. If the state has lost threads or cannot be read as a whole, the first warning
/// says so: commands then refuse to work, and the threads here are not all.
///
/// # Errors
/// As [`of`], and when the files of the state cannot be read at all.
pub(crate) fn board_of(asked: &Asked) -> Result<Board, Trouble> {
    let site = asked.site();
    let (filter, page) = of(site, &asked.query)?;
    let mut board = board(site, &filter, page)?;
    if let Some(problem) = board.problem.take() {
        let explained = (asked.app.explain)(problem);
        board.warnings.insert(0, explained.whole());
    }
    Ok(board)
}

/// Returns the text of a field as a value.
pub(crate) fn parsed<T: FromStr>(name: &str, text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|_| wrong(name, text))
}

/// Returns the refusal of the value of a field.
pub(crate) fn wrong(name: &str, text: &str) -> Refusal {
    let message = format!("`{text}` is no value of `{name}`");
    Refusal::new(StatusCode::BAD_REQUEST, "field", message)
}
