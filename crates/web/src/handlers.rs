//! How handlers are called: with a permit, on a thread of the blocking pool, because functions on a site read files.

use axum::body::Body;
use axum::extract::Path;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

use crate::answer::{Data, File, refused_data, see_other};
use crate::app::Shared;
use crate::asked::{Asked, AskedParts, asked};
use crate::assets;
use crate::fields::{Fields, field};
use crate::once::{self, Outcome};
use crate::pages::frame::Page;
use crate::pages::missing::{refused_form, refused_page};
use crate::permits::Permit;
use crate::posted::{self, KEY_FIELD};
use crate::sent_forms::{Claim, Turn};
use crate::trouble::{Refusal, Trouble};

/// A handler of pages.
pub(crate) type PageOf = fn(&Asked) -> Result<Page, Trouble>;
/// A handler of data.
pub(crate) type DataOf = fn(&Asked) -> Result<Data, Trouble>;

/// A handler of files.
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
        let file_permit = match asked.app.permits.file().await {
            Ok(permit) => permit,
            Err(refusal) => return refused_page(&refusal),
        };
        let permit = asked.app.permits.reader().await;
        let work = move || {
            let made = make(&asked).map(|file| file.answer(file_permit));
            answered(&asked, made, refused_page)
        };
        permit.work(work, refused_page).await
    })
}

/// Answers with the file of our pages that has a name.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let missing = || refused_page(&Refusal::not_found("no file is at this address"));
    assets::file(&name).unwrap_or_else(missing)
}

/// What a request that changes nothing needs: it takes a permit of this kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    /// It reads the site.
    Reads,
    /// It starts a command, which may take long.
    Command,
}

/// Returns the route of a request that changes nothing.
fn read(
    make: impl Fn(&Asked) -> Result<Response, Trouble> + Copy + Send + Sync + 'static,
    refuse: fn(&Refusal) -> Response,
    work: Work,
) -> MethodRouter<Shared> {
    get(move |parts: AskedParts| async move {
        let asked = asked(parts);
        let permit = match work {
            Work::Reads => Ok(asked.app.permits.reader().await),
            Work::Command => asked.app.permits.command().await,
        };
        match permit {
            Ok(permit) => {
                let work = move || answered(&asked, make(&asked), refuse);
                permit.work(work, refuse).await
            }
            Err(refusal) => refuse(&refusal),
        }
    })
}

/// A handler of the form of a page. It gets the fields, too.
pub(crate) type FormOf = fn(&Asked, &Fields) -> Outcome;
/// A handler of an act that a program sends.
pub(crate) type ActOf = fn(&Asked, &Fields) -> Result<Response, Trouble>;
/// A function that returns the fields that a form may have.
pub(crate) type KnownOf = fn(&Asked) -> Result<&'static [&'static str], Refusal>;

/// Returns the route of the form of a page.
pub(crate) fn form(known: KnownOf, make: FormOf) -> MethodRouter<Shared> {
    let ours = &[KEY_FIELD, once::FIELD, field::SHOWN];
    posted_to(known, make, ours, (refused_page, refused_form))
}

/// Returns the route of an act that programs send.
pub(crate) fn act(known: KnownOf, make: ActOf) -> MethodRouter<Shared> {
    let make = move |asked: &Asked, fields: &Fields| {
        Outcome::passing(answered(asked, make(asked, fields), refused_data))
    };
    let refuse_sent = |refusal: &Refusal, _: &str, _: &Fields| refused_data(refusal);
    posted_to(known, make, &[KEY_FIELD], (refused_data, refuse_sent))
}

/// A function that refuses a request whose fields were read, with its path and the fields.
type RefuseSent = fn(&Refusal, &str, &Fields) -> Response;

fn posted_to(
    known: KnownOf,
    make: impl Fn(&Asked, &Fields) -> Outcome + Copy + Send + Sync + 'static,
    ours: &'static [&'static str],
    (refuse, refuse_sent): (fn(&Refusal) -> Response, RefuseSent),
) -> MethodRouter<Shared> {
    post(move |parts: AskedParts, uri: Uri, body: Body| async move {
        let asked = asked(parts);
        let read = async { posted::fields_of(&asked.headers, body, known(&asked)?, ours).await };
        let fields = match read.await {
            Ok(fields) => fields,
            Err(refusal) => return refuse(&refusal),
        };
        match turn(&asked, &fields).await {
            Ok(PostedTurn::Now(claim, permit)) => {
                let work = move || make(&asked, &fields).settled(claim);
                permit.work(work, refuse).await
            }
            Ok(PostedTurn::Done(address)) => see_other(&address),
            Err(refusal) => refuse_sent(&refusal, uri.path(), &fields),
        }
    })
}

/// What becomes of a request whose fields were read.
enum PostedTurn {
    /// It is done now.
    Now(Option<Claim>, Permit),
    /// It was done before, and led to this address.
    Done(String),
}

/// Checks the key of a request, and takes what it needs to be done.
///
/// # Errors
/// When the key is wrong, or too many commands are being done.
async fn turn(asked: &Asked, fields: &Fields) -> Result<PostedTurn, Refusal> {
    posted::check_key(&asked.visitor, fields)?;
    // The form is claimed before it takes a permit: a form that is sent many times takes one permit.
    let claim = match once::claim(asked, fields).await {
        Turn::Own(claim) => claim,
        Turn::Done(address) => return Ok(PostedTurn::Done(address)),
    };
    let permit = asked.app.permits.command().await?;
    Ok(PostedTurn::Now(claim, permit))
}

/// Returns the answer of a handler, or the refusal that its error means.
fn answered(
    asked: &Asked,
    made: Result<Response, Trouble>,
    refuse: fn(&Refusal) -> Response,
) -> Response {
    made.unwrap_or_else(|trouble| refuse(&trouble.explained(asked.app.explain)))
}
