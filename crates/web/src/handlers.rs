//! How handlers are called: on a thread that may block, because functions on a site read files, and when there is a place for that.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

use crate::answer::{Data, File, refused_data, refused_page, see_other};
use crate::app::Shared;
use crate::asked::{Asked, AskedParts, asked};
use crate::fields::Fields;
use crate::once::{self, Outcome, Turn};
use crate::pages::frame::Page;
use crate::posted::{self, KEY_FIELD};
use crate::trouble::{Refusal, Trouble};

/// What a handler of pages is.
pub(crate) type PageOf = fn(&Asked) -> Result<Page, Trouble>;
/// What a handler of data is.
pub(crate) type DataOf = fn(&Asked) -> Result<Data, Trouble>;

/// What a handler of files is.
pub(crate) type FileOf = fn(&Asked) -> Result<File, Trouble>;

/// Returns the route of a page.
pub(crate) fn page(work: Work, make: PageOf) -> MethodRouter<Shared> {
    let make = move |asked: &Asked| Ok(make(asked)?.in_frame(asked).into_response());
    read(make, refused_page, work)
}

/// Returns the route of data.
pub(crate) fn data(work: Work, make: DataOf) -> MethodRouter<Shared> {
    let make = move |asked: &Asked| Ok(make(asked)?.answer(&asked.headers));
    read(make, refused_data, work)
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
pub(crate) enum Work {
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
pub(crate) type FormOf = fn(&Asked, &Fields) -> Outcome;
/// What a handler of what programs send is.
pub(crate) type ActOf = fn(&Asked, &Fields) -> Result<Response, Trouble>;
/// What tells which fields a form may have.
pub(crate) type KnownOf = fn(&Asked) -> Result<&'static [&'static str], Refusal>;

/// Returns the route of a form of a page.
pub(crate) fn form(known: KnownOf, make: FormOf) -> MethodRouter<Shared> {
    posted_to(known, make, refused_page, &[KEY_FIELD, once::FIELD])
}

/// Returns the route of what programs send.
pub(crate) fn act(known: KnownOf, make: ActOf) -> MethodRouter<Shared> {
    let make = move |asked: &Asked, fields: &Fields| {
        Outcome::passing(answered(asked, make(asked, fields), refused_data))
    };
    posted_to(known, make, refused_data, &[KEY_FIELD])
}

fn posted_to(
    known: KnownOf,
    make: impl Fn(&Asked, &Fields) -> Outcome + Copy + Send + Sync + 'static,
    refuse: fn(&Refusal) -> Response,
    ours: &'static [&'static str],
) -> MethodRouter<Shared> {
    post(move |parts: AskedParts, body: Body| async move {
        let asked = asked(parts);
        let answer = async {
            let fields = posted::fields_of(&asked.headers, body, known(&asked)?, ours).await?;
            posted::check_key(&asked.visitor, &fields)?;
            // The form is claimed before a desk is taken: however often it is sent, it takes one.
            let claim = match once::claim(&asked, &fields).await {
                Turn::Own(claim) => claim,
                Turn::Done(address) => return Ok(see_other(&address)),
            };
            let desk = asked.app.desks.command().await?;
            let work = move || make(&asked, &fields).settled(claim);
            Ok(desk.work(work, refuse).await)
        };
        answer.await.unwrap_or_else(|refusal| refuse(&refusal))
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
