//! What there is to know about the pages, and every key.

use maud::html;

use crate::asked::Asked;
use crate::pages::frame::{Page, Tab};
use crate::trouble::Trouble;

/// Every key, and what it does.
const KEYS: [(&str, &str); 6] = [
    ("/", "go to the search field"),
    ("j", "go to the next thread or step"),
    ("k", "go to the one before"),
    ("Enter", "open what is chosen"),
    ("?", "show this help"),
    ("Esc", "leave the search field"),
];

/// Returns the page.
#[expect(
    clippy::unnecessary_wraps,
    reason = "every page has the same signature"
)]
pub(crate) fn page(_: &Asked) -> Result<Page, Trouble> {
    let main = html! {
        h1 { "Help" }
        section {
            h2 { "Keys" }
            table.plain {
                thead { tr { th scope="col" { "Key" } th scope="col" { "What it does" } } }
                tbody {
                    @for (key, what) in KEYS { tr { th scope="row" { kbd { (key) } } td { (what) } } }
                }
            }
            p {
                label.switch { input #keys-off type="checkbox"; " Switch the keys off in this browser" }
            }
        }
    };
    Ok(Page {
        title: "Help".to_owned(),
        tab: Tab::Help,
        main,
    })
}
