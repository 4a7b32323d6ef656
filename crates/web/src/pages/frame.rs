//! What every page has around its own part: the head, and the links to the other pages.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use crate::answer;
use crate::asked::Asked;
use crate::assets::ADDRESSES;
use crate::parts::{Said, notices};
use crate::posted::KEY_FIELD;
use crate::visitor::{Access, Visitor};

/// The own part of a page.
pub(crate) struct Page {
    /// Its title.
    pub(crate) title: String,
    /// The entry of the navigation that it belongs to.
    pub(crate) tab: Tab,
    /// What it shows.
    pub(crate) main: Markup,
}

/// An entry of the navigation, which every page has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Threads,
    Workflows,
    Costs,
    Machine,
    Help,
    /// No entry.
    None,
}

impl Tab {
    /// The entries, each with its address and its text.
    const SHOWN: [(Self, &'static str, &'static str); 5] = [
        (Self::Threads, "/", "Threads"),
        (Self::Workflows, "/workflows", "Workflows"),
        (Self::Costs, "/costs", "Costs"),
        (Self::Machine, "/machine", "Machine"),
        (Self::Help, "/help", "Help"),
    ];

    /// Returns the links to the pages, of which this one is the current one.
    fn navigation(self) -> Markup {
        html! {
            nav aria-label="Pages" {
                @for (tab, address, label) in Self::SHOWN {
                    a href=(address) aria-current=[(tab == self).then_some("page")] { (label) }
                }
            }
        }
    }
}

/// A page with everything around it.
pub(crate) struct Framed(Markup);

impl IntoResponse for Framed {
    fn into_response(self) -> Response {
        answer::html(StatusCode::OK, self.0)
    }
}

impl Page {
    /// Puts the page into the frame for a visitor.
    pub(crate) fn in_frame(self, asked: &Asked) -> Framed {
        let form_key = match &asked.visitor {
            Visitor::Person { form_key, .. } => Some(form_key.reveal()),
            Visitor::Program | Visitor::Stranger => None,
        };
        Framed(html! {
            (DOCTYPE)
            html lang="en" {
                (head(&self.title))
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header.top {
                        a.brand href="/" { "uwf" }
                        (self.tab.navigation())
                        @if asked.app.access == Access::ReadOnly {
                            span.mode title="This server was started with --read-only" { "read-only" }
                        }
                        span #fresh role="status" {}
                        @if let Some(key) = form_key {
                            form.leave method="post" action="/logout" {
                                input type="hidden" name=(KEY_FIELD) value=(key);
                                button.quiet type="submit" { "Log out" }
                            }
                        }
                    }
                    p #lost.lost role="alert" hidden {}
                    main #main tabindex="-1" {
                        @if let Some(why) = asked.app.hub.slow() { p.hint.slow { "This page may be out of date: " (Said(&why)) "." } }
                        (notices(asked))
                        (self.main)
                    }
                }
            }
        })
    }
}

/// Returns a page without the links to other pages: the form to log in.
pub(crate) fn bare(title: &str, main: &Markup) -> Markup {
    narrow(title, &html! {}, main)
}

/// Returns the page of a refusal, with the links to the pages.
pub(crate) fn refused(title: &str, main: &Markup) -> Markup {
    narrow(title, &Tab::None.navigation(), main)
}

fn narrow(title: &str, navigation: &Markup, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body.bare {
                header.top { a.brand href="/" { "uwf" } (navigation) }
                main #main { (main) }
            }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (Said(title)) " · uwf" }
            link rel="icon" href=(ADDRESSES.icon) type="image/svg+xml";
            link rel="stylesheet" href=(ADDRESSES.style);
            script src=(ADDRESSES.script) defer {}
        }
    }
}
