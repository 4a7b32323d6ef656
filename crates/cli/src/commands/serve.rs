//! `uwf serve`: pages and data for a browser and for programs, until a signal ends it.

mod acting;
mod checking;
mod failed_call;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use uwf_engine::{EngineError, Site};
use uwf_protocol::exit::Exit;
use uwf_util::causes::causes;
use uwf_web::{Access, Explained, Front, Place, PlaceError, Server, Settings, Token};

use crate::args::ServeArgs;
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::hints;
use crate::output::print;
use crate::text::ServedView;

/// The bit of a file's mode by which others than its owner and its group may read it.
const READ_BY_OTHERS: u32 = 0o004;
/// How much of a file with a token is read.
const TOKEN_FILE: u64 = 4096;

/// How many files a server may have open.
const FILES: u64 = 4096;

pub(crate) fn run(context: &Context, args: &ServeArgs) -> Result<Exit, Failure> {
    let site = context.site();
    let front = match args.behind_proxy {
        true => Front::Proxy,
        false => Front::Nothing,
    };
    let place = Place::new(args.listen, args.public_url.as_deref(), front)
        .map_err(|error| misplaced(&error))?;
    let token = match &args.token_file {
        Some(file) => token_of(file)?,
        None => new_token(site)?,
    };
    let access = match args.read_only {
        true => Access::ReadOnly,
        false => Access::Full,
    };
    let server = Server::open(Settings {
        place,
        allowed_hosts: args.allowed_hosts.clone(),
        token: token.clone(),
        access,
        explain,
        check: checking::check,
        carry: acting::carry,
        failed_call: failed_call::failed_call,
        here: |command| hints::here(command).into_owned(),
        hint: hints::thread::hint_here,
    });
    let server = server.map_err(|error| failed(&error))?;
    allow_files();
    // A token from a file is not printed: the output may go into a log.
    let shown = args.token_file.is_none().then_some(&token);
    let page = format!("{}/login", server.url());
    let url = shown.map_or_else(
        || page.clone(),
        |token| format!("{page}#{}", token.reveal()),
    );
    let view = ServedView {
        url,
        listen: server.listen(),
        read_only: args.read_only,
    };
    print(&view, context.format)?;
    note("everybody with the token can see everything under the root; Ctrl-C ends the server");
    let (env, root, store) = (site.env.clone(), site.root.clone(), site.store.clone());
    server
        .run(Site { env, root, store })
        .map_err(|error| failed(&error))?;
    Ok(Exit::Done)
}

/// Lets this process have as many files open as it takes connections. If it may not, more of them wait.
fn allow_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES, |most| most.min(FILES));
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            ..limit
        };
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

fn misplaced(error: &PlaceError) -> Failure {
    let failure = Failure::request(error.to_string());
    match error {
        PlaceError::Open(listen) => {
            let port = listen.port();
            failure.hint(format!(
                "either put a reverse proxy with TLS before it: `uwf serve --listen {listen} --behind-proxy --public-url https://HOST`; \
                 or stay at 127.0.0.1, and come from elsewhere by `ssh -L {port}:127.0.0.1:{port} THIS-HOST`"
            ))
        }
        PlaceError::NoPublicUrl => failure.hint("add `--public-url https://HOST`"),
        PlaceError::PublicUrl { .. } => {
            failure.hint("write it as browsers open it: `--public-url https://HOST`")
        }
    }
}

fn failed(error: &uwf_web::ServeError) -> Failure {
    let failure = Failure {
        exit: Exit::Busy,
        ..Failure::request(error.to_string())
    };
    let failure = causes(error).iter().fold(failure, Failure::cause);
    match error {
        uwf_web::ServeError::Listen { .. } => failure
            .hint("`--listen 127.0.0.1:0` takes a free port; another `uwf serve` may be there"),
        uwf_web::ServeError::Machine(_) => failure,
    }
}

fn new_token(site: &Site) -> Result<Token, Failure> {
    let random = || {
        let bits = site.env.random();
        bits.map_err(|error| {
            Failure::request("the kernel gives no random bits for a token").cause(&error)
        })
    };
    Ok(Token::of_random([random()?, random()?]))
}

/// Reads a token from a file. White space around it does not count.
fn token_of(file: &Path) -> Result<Token, Failure> {
    let shown = file.display();
    let mut text = String::new();
    let unread = |error: std::io::Error| {
        Failure::request(format!("cannot read the token from `{shown}`")).cause(&error)
    };
    let file = File::open(file).map_err(unread)?;
    let about = file.metadata().map_err(unread)?;
    if about.is_file() && about.permissions().mode() & READ_BY_OTHERS != 0 {
        warn(&format!(
            "every user of this machine can read the token in `{shown}`; `chmod o-r` changes that"
        ));
    }
    file.take(TOKEN_FILE)
        .read_to_string(&mut text)
        .map_err(unread)?;
    Token::parse(text.trim()).map_err(|error| {
        Failure::request(format!("`{shown}` has no token that can be used"))
            .cause(&error)
            .hint("`openssl rand -hex 32` prints one")
    })
}

/// Tells a visitor what an error means, as the commands do.
fn explain(error: EngineError) -> Explained {
    explain_failure(Failure::from(error))
}

fn explain_failure(failure: Failure) -> Explained {
    let message = std::iter::once(failure.what).chain(failure.causes);
    Explained {
        exit: failure.exit,
        message: message.collect::<Vec<_>>().join(": "),
        hint: failure.hint.map(|hint| hints::here(&hint).into_owned()),
    }
}
