//! The links to what a visitor can do to a thread now.

use maud::{Markup, html};
use uwf_engine::{Action, ThreadView};

use crate::asked::Asked;
use crate::pages::action_words::button;
use crate::parts::thread_address;
use crate::visitor::Access;

/// Returns the address of the page that asks before an action.
pub(crate) fn address(action: Action, view: &ThreadView) -> String {
    format!("{}/do/{}", thread_address(view.thread), action.as_str())
}

/// Returns the links to the actions that are possible now; nothing if visitors may only look.
pub(crate) fn links(asked: &Asked, view: &ThreadView) -> Markup {
    let possible = uwf_engine::possible_actions(view);
    if asked.app.access == Access::ReadOnly || possible.is_empty() {
        return html! {};
    }
    html! {
        nav.actions aria-label="Actions" {
            @for (nth, action) in possible.iter().enumerate() {
                @let is_main = nth == 0 && may_be_main(*action);
                @let class = match (is_main, action) { (true, _) => "button main", (_, Action::Kill) => "button danger", _ => "button" };
                a class=(class) href=(address(*action, view)) { (button(*action, view)) }
            }
        }
    }
}

/// Tells whether the link to an action is emphasized when it is the first one.
fn may_be_main(action: Action) -> bool {
    matches!(
        action,
        Action::Resume | Action::Run | Action::Step | Action::Unpause
    )
}
