//! What every handler of a page or of data gets, and how it is called: on a thread that may block, because functions on a
//! site read files.

use std::str::FromStr;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use url::form_urlencoded;
use uwf_engine::Site;
use uwf_protocol::ids::{CasRef, ThreadId};

use crate::answer::{Data, File, refused_data, refused_page};
use crate::app::Shared;
use crate::audit::Peer;
use crate::guard::Visitor;
use crate::pages::frame::Page;
use crate::posted;
use crate::trouble::{Refusal, Trouble};

/// A request for a page or for data.
pub(crate) struct Asked {
    pub(crate) app: Shared,
    pub(crate) visitor: Visitor,
    pub(crate) query: Fields,
    pub(crate) headers: HeaderMap,
    pub(crate) peer: Peer,
    path: Vec<(String, String)>,
}

impl Asked {
    pub(crate) fn site(&self) -> &Site {
        &self.app.site
    }

    /// Returns the thread in the address.
    pub(crate) fn thread(&self) -> Result<ThreadId, Refusal> {
        self.parsed("thread", "thread")
    }

    /// Returns the hash in the address.
    pub(crate) fn hash(&self) -> Result<CasRef, Refusal> {
        self.parsed("hash", "node")
    }

    /// Returns a part of the address as it was sent.
    pub(crate) fn part(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(part, _)| part == name);
        found.map_or("", |(_, text)| text)
    }

    /// Returns a part of the address as what it must be. Nothing is at an address with another text.
    pub(crate) fn parsed<T: FromStr>(&self, part: &str, noun: &str) -> Result<T, Refusal> {
        let text = self.part(part);
        let refused = || Refusal::not_found(format!("`{text}` is no {noun}"));
        text.parse().map_err(|_| refused())
    }
}

/// The fields of a form, or those after the question mark of an address. The first of a name counts; an empty one counts as absent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    pub(crate) fn parse(text: &str) -> Self {
        Self::of(form_urlencoded::parse(text.as_bytes()).into_owned())
    }

    pub(crate) fn of(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        let fields = fields.into_iter();
        Self(fields.filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns every value of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the same fields with another one.
    #[must_use]
    pub(crate) fn and(&self, name: &str, value: &str) -> Self {
        let mut fields = self.0.clone();
        fields.push((name.to_owned(), value.to_owned()));
        Self(fields)
    }

    /// Returns the text of the same fields, but with this value for one of them; without it if there is no value.
    pub(crate) fn with(&self, name: &str, value: Option<&str>) -> String {
        let rest = self.0.iter().filter(|(field, _)| field != name);
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(rest);
        if let Some(value) = value {
            text.append_pair(name, value);
        }
        text.finish()
    }
}

/// What a handler of pages is.
pub(crate) type PageOf = fn(&Asked) -> Result<Page, Trouble>;
/// What a handler of data is.
pub(crate) type DataOf = fn(&Asked) -> Result<Data, Trouble>;

/// What a handler of files is.
pub(crate) type FileOf = fn(&Asked) -> Result<File, Trouble>;

/// Returns the route of a page.
pub(crate) fn page(make: PageOf) -> MethodRouter<Shared> {
    read(
        move |asked| Ok(make(asked)?.in_frame(asked).into_response()),
        refused_page,
        Work::Reads,
    )
}

/// Returns the route of a page that shows what a command says.
pub(crate) fn page_of_command(make: PageOf) -> MethodRouter<Shared> {
    read(
        move |asked| Ok(make(asked)?.in_frame(asked).into_response()),
        refused_page,
        Work::Command,
    )
}

/// Returns the route of data.
pub(crate) fn data(make: DataOf) -> MethodRouter<Shared> {
    read(
        move |asked| Ok(make(asked)?.answer(&asked.headers)),
        refused_data,
        Work::Reads,
    )
}

/// Returns the route of data that a command prints.
pub(crate) fn data_of_command(make: DataOf) -> MethodRouter<Shared> {
    read(
        move |asked| Ok(make(asked)?.answer(&asked.headers)),
        refused_data,
        Work::Command,
    )
}

/// Returns the route of files.
pub(crate) fn file(make: FileOf) -> MethodRouter<Shared> {
    get(move |parts: AskedParts| async move {
        let asked = asked(parts);
        let place = match asked.app.desks.file().await {
            Ok(place) => place,
            Err(refusal) => return refused_page(&refusal),
        };
        let desk = asked.app.desks.reader().await;
        let work = move || {
            let made = make(&asked).map(|file| file.answer(place));
            answered(&asked, made, refused_page)
        };
        desk.work(work, refused_page).await
    })
}

/// How a request that changes nothing is met.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// The site is read.
    Reads,
    /// A command is started, which may take its time.
    Command,
}

/// Returns the route of something that changes nothing.
fn read(
    make: impl Fn(&Asked) -> Result<Response, Trouble> + Copy + Send + Sync + 'static,
    refuse: fn(&Refusal) -> Response,
    work: Work,
) -> MethodRouter<Shared> {
    get(move |parts: AskedParts| async move {
        let asked = asked(parts);
        let desk = match work {
            Work::Reads => Ok(asked.app.desks.reader().await),
            Work::Command => asked.app.desks.command().await,
        };
        match desk {
            Ok(desk) => {
                let work = move || answered(&asked, make(&asked), refuse);
                desk.work(work, refuse).await
            }
            Err(refusal) => refuse(&refusal),
        }
    })
}

/// What a handler of a form is. It gets the fields, too.
pub(crate) type FormOf = fn(&Asked, &Fields) -> Result<Response, Trouble>;
/// What tells which fields a form may have.
pub(crate) type KnownOf = fn(&Asked) -> Result<&'static [&'static str], Refusal>;

/// Returns the route of a form of a page.
pub(crate) fn form(known: KnownOf, make: FormOf) -> MethodRouter<Shared> {
    posted_to(known, make, refused_page)
}

/// Returns the route of what programs send.
pub(crate) fn act(known: KnownOf, make: FormOf) -> MethodRouter<Shared> {
    posted_to(known, make, refused_data)
}

fn posted_to(
    known: KnownOf,
    make: FormOf,
    refuse: fn(&Refusal) -> Response,
) -> MethodRouter<Shared> {
    post(move |parts: AskedParts, body: Body| async move {
        let asked = asked(parts);
        let come = async {
            let fields = posted::fields_of(&asked.headers, body, known(&asked)?).await?;
            posted::check_key(&asked.visitor, &fields)?;
            Ok((fields, asked.app.desks.command().await?))
        };
        match come.await {
            Ok((fields, desk)) => {
                let work = move || answered(&asked, make(&asked, &fields), refuse);
                desk.work(work, refuse).await
            }
            Err(refusal) => refuse(&refusal),
        }
    })
}

/// Returns what a handler gave, or why it gave nothing.
fn answered(
    asked: &Asked,
    made: Result<Response, Trouble>,
    refuse: fn(&Refusal) -> Response,
) -> Response {
    made.unwrap_or_else(|trouble| refuse(&trouble.explained(asked.app.explain)))
}

/// A request, as the router takes it apart.
type AskedParts = (
    State<Shared>,
    Result<RawPathParams, RawPathParamsRejection>,
    RawQuery,
    HeaderMap,
    Extension<Visitor>,
    Extension<Peer>,
);

fn asked(
    (State(app), path, RawQuery(query), headers, Extension(visitor), Extension(peer)): AskedParts,
) -> Asked {
    let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    Asked {
        // Nothing is at an address that is no text.
        path: path.map_or_else(|_| Vec::new(), |path| path.iter().map(owned).collect()),
        query: Fields::parse(query.as_deref().unwrap_or_default()),
        app,
        visitor,
        headers,
        peer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_keeps_its_other_fields() {
        let query = Fields::parse("status=idle&q=a%20b&status=failed&workflow=");
        assert_eq!(query.get("q"), Some("a b"));
        assert_eq!(query.get("workflow"), None);
        assert_eq!(query.all("status").collect::<Vec<_>>(), ["idle", "failed"]);
        let next = query.with("before", Some("01&"));
        assert_eq!(next, "status=idle&q=a+b&status=failed&before=01%26");
        assert_eq!(query.with("status", None), "q=a+b");
    }
}
