//! The page of help: the keys, the statuses, the store, the data for programs, and this server.

use maud::html;
use uwf_engine::ThreadStatus;

use crate::addresses::API;
use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::parts::{Said, status};
use crate::trouble::Trouble;
use crate::visitor::Access;

/// Every key, and what it does.
const KEYS: [(&str, &str); 6] = [
    ("/", "go to the search field"),
    ("j", "go to the next thread or step"),
    ("k", "go to the one before"),
    ("Enter", "open what is chosen"),
    ("?", "show this help"),
    ("Esc", "leave the search field"),
];

/// What each status of a thread means.
fn meaning(status: ThreadStatus) -> &'static str {
    match status {
        ThreadStatus::Idle => "a step can be done",
        ThreadStatus::Running => "a step is being done",
        ThreadStatus::Suspended => {
            "it waits for a person: it asks, or a limit, its supervisor or a failure stopped it"
        }
        ThreadStatus::Blocked => {
            "its graph gives no next step; the workflow or an answer must be changed"
        }
        ThreadStatus::Failed => "the last attempt failed; the step can be tried again",
        ThreadStatus::Waiting => "the last attempt failed, and the next one is planned",
        ThreadStatus::Paused => "a person paused it; no step is started",
        ThreadStatus::Completed => "it reached its end",
        ThreadStatus::Cancelled => "it was ended from outside, before it reached its end",
        ThreadStatus::Corrupt => "it cannot be read; the checks of the machine say more",
    }
}

/// Returns the page.
#[expect(
    clippy::unnecessary_wraps,
    reason = "every page has the same signature"
)]
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    let main = html! {
        div.title { h1 { "Help" } }
        section aria-labelledby="keys" {
            h2 #keys { "Keys" }
            table.plain {
                thead { tr { th scope="col" { "Key" } th scope="col" { "What it does" } } }
                tbody {
                    @for (key, what) in KEYS { tr { th scope="row" { kbd { (key) } } td { (what) } } }
                }
            }
            p { label.switch { input #keys-off type="checkbox"; " Switch the keys off in this browser" } }
        }
        section aria-labelledby="statuses" {
            h2 #statuses { "Statuses" }
            table.plain {
                thead { tr { th scope="col" { "Status" } th scope="col" { "What it means" } } }
                tbody {
                    @for one in ThreadStatus::ALL { tr { th scope="row" { (status(one)) } td { (meaning(one)) } } }
                }
            }
        }
        section aria-labelledby="store" {
            h2 #store { "Store" }
            p { "Workflows, starts and steps of threads are nodes. The name of a node is the hash of its content. A hash on a page leads to its
                node, which says what it refers to and what needs it. Nodes never change." }
        }
        section aria-labelledby="data" {
            h2 #data { "Data for programs" }
            p { "What the pages show is also there as data, for programs that send the token: " }
            pre tabindex="0" { "curl -H 'Authorization: Bearer TOKEN' " (asked.app.url) (API) "/threads" }
        }
        section aria-labelledby="server" {
            h2 #server { "This server" }
            p { "uwf " (env!("CARGO_PKG_VERSION")) ". It shows " code { (Said(&asked.site().root.path().display().to_string())) } ". "
                @match asked.app.access {
                    Access::ReadOnly => "Visitors may look only.",
                    Access::Full => "Visitors may look and act.",
                } }
        }
    };
    Ok(Page {
        title: "Help".to_owned(),
        tab: Tab::Help,
        main,
    })
}
