//! The answers of handlers: markup, data, files, and refusals as data; `pages::missing` has refusals as pages. Their headers allow
//! a browser only what our pages need.

use axum::body::Bytes;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::Markup;
use serde::Serialize;
use serde_json::json;
use uwf_protocol::ids::CasRef;
use uwf_util::printable::printable;

use crate::permits::Permit;
use crate::trouble::{Refusal, Refused};

/// What a page may do: use our own files, and send forms and requests to this server. Scripts cannot make markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'";

/// The headers of every answer.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    // With `no-referrer`, a browser would not tell us the origin of our own forms.
    (header::REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=()",
    ),
];

/// A browser may keep the answer, and must ask each time whether it is still the same. A node never changes, but what is said
/// about it may: another version of the program says more.
const ASK_AGAIN: &str = "private, no-cache";

/// Adds the headers of every answer. A browser does not keep an answer that has no other rule.
pub(crate) fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Data for programs.
pub(crate) struct Data {
    body: Result<String, serde_json::Error>,
    /// The hash of the node that the data is about, if it is about one.
    hash: Option<CasRef>,
}

impl Data {
    /// Returns data that may be different the next time.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        Self {
            body: serde_json::to_string(value),
            hash: None,
        }
    }

    /// Returns data about a node. It has an `ETag`.
    pub(crate) fn named(hash: CasRef, value: &impl Serialize) -> Self {
        Self {
            hash: Some(hash),
            ..Self::of(value)
        }
    }

    /// Returns the answer to a request with these headers: 304 if the client has the same data.
    pub(crate) fn answer(self, asked: &HeaderMap) -> Response {
        let Ok(body) = self.body else {
            return refused_data(&Refusal::bug());
        };
        let Some(hash) = self.hash else {
            return json(StatusCode::OK, body);
        };
        let tag = format!("\"{hash}-{:016x}\"", digest(&body));
        let mut response = match is_known(&tag, asked) {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => json(StatusCode::OK, body),
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(ASK_AGAIN));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// Returns a digest of a text (FNV-1a). Two texts hardly ever have the same one, except by intent.
pub(crate) fn digest(content: &str) -> u64 {
    content.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Tells whether a client has what a tag names. The comparison is weak (RFC 9110, 13.1.2): a proxy that compresses an answer puts
/// `W/` before its tag.
fn is_known(tag: &str, asked: &HeaderMap) -> bool {
    let known = asked.get_all(header::IF_NONE_MATCH).iter();
    let known = known.filter_map(|known| known.to_str().ok());
    let mut known = known.flat_map(|known| known.split(',')).map(str::trim);
    known.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// What a browser may do with a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Disposition {
    /// It saves the file, and never shows it.
    Download,
    /// It shows the file as a text, and never as anything else.
    PlainText,
}

/// A file whose content an agent or a person wrote.
pub(crate) struct File {
    /// What a browser may do with it.
    pub(crate) disposition: Disposition,
    /// Its name, without folders.
    pub(crate) name: String,
    /// Its bytes.
    pub(crate) content: Vec<u8>,
}

impl File {
    /// Returns the answer, which keeps the permit until the client has read it.
    pub(crate) fn answer(self, permit: Permit) -> Response {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-._ ".contains(*c);
        let plain: String = self.name.chars().filter(is_plain).collect();
        let plain = plain.trim_start_matches('.');
        let whole = printable(&self.name);
        let (kind, disposition) = match self.disposition {
            Disposition::Download => ("application/octet-stream", "attachment"),
            Disposition::PlainText => ("text/plain; charset=utf-8", "inline"),
        };
        let mut attached = format!("{disposition}; filename=\"{plain}\"");
        if plain != self.name {
            attached.push_str("; filename*=UTF-8''");
            attached.extend(whole.bytes().map(percent));
        }
        let headers = [
            (header::CONTENT_TYPE, kind.to_owned()),
            (header::CONTENT_DISPOSITION, attached),
        ];
        let content = Bytes::from_owner(HeldBytes {
            content: self.content,
            _permit: permit,
        });
        (headers, content).into_response()
    }
}

/// The bytes of a file, with its permit.
struct HeldBytes {
    content: Vec<u8>,
    _permit: Permit,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

/// Returns a byte of a name as RFC 8187 writes it in a header.
fn percent(byte: u8) -> String {
    match byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    }
}

/// Returns the result of an act, as data.
pub(crate) fn json_answer(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(body) => json(status, body),
        Err(_) => refused_data(&Refusal::bug()),
    }
}

fn json(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Returns markup as a page.
pub(crate) fn html(status: StatusCode, markup: Markup) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (status, kind, markup.into_string()).into_response()
}

/// Returns a file of ours. Its name changes with its content.
pub(crate) fn file(kind: &'static str, content: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, content).into_response()
}

/// Sends the browser to another page of ours.
pub(crate) fn see_other(address: &str) -> Response {
    // Only an address with a character that no header may have fails here. Ours have none.
    match HeaderValue::from_str(address) {
        Ok(address) => (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response(),
        Err(_) => refused_data(&Refusal::bug()),
    }
}

/// Returns a refusal for programs.
pub(crate) fn refused_data(refusal: &Refusal) -> Response {
    let body = json!({ "error": refusal }).to_string();
    because(refusal.into(), json(refusal.status, body))
}

/// Adds the reason of a refusal to its answer, for the log.
pub(crate) fn because(refused: Refused, mut response: Response) -> Response {
    response.extensions_mut().insert(refused);
    response
}

/// Says that the server answers.
pub(crate) async fn healthy() -> &'static str {
    "ok\n"
}

/// Answers at addresses without data.
pub(crate) async fn data_not_found() -> Response {
    refused_data(&Refusal::not_found("no data is at this address"))
}

/// Answers requests with a method that data does not have.
pub(crate) async fn data_without_method() -> Response {
    refused_data(&Refusal::method_not_allowed())
}
