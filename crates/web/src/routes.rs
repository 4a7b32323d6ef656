//! The table of addresses.
//!
//! Each page is a function in `pages`, each kind of data a function in `api`, and each has a line here. Actions are in `acts`;
//! `posted` reads their forms. The stream of events is in `live`.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};

use crate::addresses::API;
use crate::app::Shared;
use crate::handlers::Work::{Command, Reads};
use crate::handlers::{act, asset, data, file, form, page};
use crate::{acts, answer, api, guard, live, pages};

/// Returns the table. Every request goes through the guard first.
pub(crate) fn router(app: &Shared) -> Router {
    Router::new()
        .route("/healthz", get(answer::healthy))
        .route("/assets/{file}", get(asset))
        .route("/login", get(pages::login::form).post(pages::login::submit))
        .route("/logout", post(pages::login::leave))
        .merge(of_pages())
        .fallback(pages::missing::page_not_found)
        .method_not_allowed_fallback(pages::missing::page_without_method)
        .nest(API, of_data())
        .nest("/api", no_data())
        // A nested router does not have the address with a slash and nothing after it.
        .route("/api/", any(answer::data_not_found))
        .layer(from_fn_with_state(app.clone(), guard::admit))
        .with_state(app.clone())
}

fn of_pages() -> Router<Shared> {
    Router::new()
        .route("/", page(Reads, pages::overview::page))
        .route("/threads/{thread}", page(Reads, pages::thread::page))
        .route("/threads/{thread}/live", page(Reads, pages::live::page))
        .route(
            "/threads/{thread}/background",
            file(pages::background::file),
        )
        .route(
            "/threads/{thread}/do/{action}",
            page(Reads, acts::page).merge(form(acts::fields, acts::submit)),
        )
        .route(
            "/new",
            page(Reads, acts::start_page).merge(form(acts::start_fields, acts::start_submit)),
        )
        .route("/steps/{hash}", page(Reads, pages::step::page))
        .route("/steps/{hash}/artifact", file(pages::step::download))
        .route("/steps/{hash}/text/{text}", file(pages::step::text))
        .route("/diff", page(Reads, pages::diff::page))
        .route("/workflows", page(Reads, pages::workflows::list))
        .route("/workflows/{hash}", page(Reads, pages::workflows::one))
        .route(
            "/workflows/{hash}/since/{old}",
            page(Reads, pages::diff::of_workflows),
        )
        .route("/cas/{hash}", page(Reads, pages::node::page))
        .route("/costs", page(Reads, pages::costs::page))
        .route("/threads/{thread}/costs", page(Reads, pages::costs::page))
        .route("/machine", page(Reads, pages::machine::page))
        .route(
            pages::machine::REMOTE,
            page(Command, pages::machine::remote),
        )
        .route(
            pages::machine::CHECKS,
            page(Command, pages::machine::checks),
        )
        .route("/help", page(Reads, pages::help::page))
}

/// Returns the routes below `/api` outside of [`API`]: there is no data.
fn no_data() -> Router<Shared> {
    Router::new().fallback(answer::data_not_found)
}

fn of_data() -> Router<Shared> {
    Router::new()
        .route(
            "/threads",
            data(Reads, api::threads::list).merge(act(acts::start_data_fields, acts::start_data)),
        )
        .route("/threads/{thread}", data(Reads, api::threads::show))
        .route("/threads/{thread}/steps", data(Reads, api::threads::steps))
        .route("/threads/{thread}/graph", data(Reads, api::threads::graph))
        .route(
            "/threads/{thread}/family",
            data(Reads, api::threads::family),
        )
        .route("/threads/{thread}/forks", data(Reads, api::threads::forks))
        .route("/events", get(live::events))
        .route("/threads/{thread}/costs", data(Reads, api::costs::costs))
        .route("/costs", data(Reads, api::costs::costs))
        .route("/threads/{thread}/actions", data(Reads, acts::possible))
        .route("/threads/{thread}/{action}", act(acts::fields, acts::data))
        .route("/steps/{hash}", data(Reads, api::nodes::step))
        .route("/steps/{hash}/prompt", data(Reads, api::nodes::prompt))
        .route("/diff/{hash}/{other}", data(Reads, api::nodes::diff))
        .route(
            "/thread-diff/{thread}/{other}",
            data(Reads, api::threads::diff),
        )
        .route(
            "/workflow-diff/{hash}/{other}",
            data(Reads, api::workflows::diff),
        )
        .route("/workflows", data(Reads, api::workflows::list))
        .route("/workflows/{hash}", data(Reads, api::workflows::one))
        .route(
            "/workflow-history/{name}",
            data(Reads, api::workflows::history),
        )
        .route("/cas/{hash}", data(Reads, api::nodes::node))
        .route("/cas/{hash}/uses", data(Reads, api::nodes::uses))
        .route("/machine", data(Reads, api::machine::machine))
        .route("/machine/remote", data(Command, api::machine::remote))
        .route("/machine/checks", data(Command, api::machine::checks))
        .fallback(answer::data_not_found)
        .method_not_allowed_fallback(answer::data_without_method)
}
