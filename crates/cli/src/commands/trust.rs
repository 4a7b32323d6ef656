//! `uwf trust`: which configs of projects are used.

use std::io::IsTerminal;
use std::path::Path;

use uwf_config::{ProjectConfig, Standing, Trust, revoke, trust};
use uwf_protocol::exit::Exit;
use uwf_util::shell_words;

use crate::args::TrustArgs;
use crate::ask::{can_ask, confirm};
use crate::commands::Context;
use crate::failure::{Failure, note};
use crate::output::{Format, as_page, print};
use crate::stderr;
use crate::text::{ProjectView, RevokedView, TrustItem, TrustList};

pub(crate) fn run(context: &Context, args: &TrustArgs) -> Result<Exit, Failure> {
    let env = &context.site().env;
    let dir = args.dir.as_ref().map(|dir| env.cwd().join(dir));
    let dir = dir.as_deref().unwrap_or(env.cwd());
    if args.list {
        return list(context);
    }
    if args.revoke {
        return revoke_at(context, dir);
    }
    let project = find(context, dir)?;
    if args.show {
        let standing = project.standing(&Trust::read(&context.site().root)?);
        let view = view(context, &project, standing == Standing::Trusted)?;
        print(&view, context.format)?;
        return Ok(Exit::Done);
    }
    trust_it(context, &project, args)
}

/// Trusts a project, and shows what it sets: this is what the user agrees to. A person is asked before, wherever stdout goes:
/// what it sets is shown beside the question.
fn trust_it(context: &Context, project: &ProjectConfig, args: &TrustArgs) -> Result<Exit, Failure> {
    let asks = !args.yes && can_ask();
    if asks {
        stderr::write(&as_page(&view(context, project, false)?));
        if !confirm("Trust it?", false)? {
            return Err(refused(project, args.dir.as_deref()));
        }
    }
    let view = view(context, project, true)?;
    let root = &context.site().root;
    root.create()?;
    trust(root, &project.folder, &project.text)?;
    let was_seen = asks && context.format == Format::Text && std::io::stdout().is_terminal();
    match was_seen {
        true => note("it is trusted as it is now"),
        false => print(&view, context.format)?,
    }
    Ok(Exit::Done)
}

/// Returns what a project sets, without the user's own secrets.
fn view(context: &Context, project: &ProjectConfig, trusted: bool) -> Result<ProjectView, Failure> {
    let site = context.site();
    let own = uwf_config::secrets_in_output(&site.root, &site.env);
    Ok(ProjectView::new(project, &own, trusted)?)
}

/// Returns the failure after the answer *no*. The command in its hint is for the same folder.
fn refused(project: &ProjectConfig, dir: Option<&Path>) -> Failure {
    let dir = dir.map(|dir| dir.display().to_string());
    let words = ["uwf", "trust", "--yes"].into_iter().chain(dir.as_deref());
    let command = shell_words::join(words);
    Failure::request(format!("`{}` is not trusted", project.file.display())).hint(format!(
        "nothing was changed; `{command}` trusts it without a question"
    ))
}

fn find(context: &Context, dir: &Path) -> Result<ProjectConfig, Failure> {
    if !dir.is_dir() {
        return Err(Failure::request(format!(
            "`{}` is not a folder",
            dir.display()
        )));
    }
    let found = ProjectConfig::find(&context.site().root, dir)?;
    found.ok_or_else(|| {
        Failure::request(format!(
            "there is no `.uwf/config.yaml` in `{}` or above it in its repository",
            dir.display()
        ))
        .hint("`uwf trust --list` shows the projects that were trusted")
    })
}

/// Revokes the trust in the project around a folder, or in a folder whose config is gone.
fn revoke_at(context: &Context, dir: &Path) -> Result<Exit, Failure> {
    let root = &context.site().root;
    // The folder itself comes first: its config may be gone, and that of a project around it is another one.
    let own = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let around = || ProjectConfig::find(root, dir).ok().flatten();
    let (folder, was_trusted) = match revoke(root, &own)? {
        true => (own, true),
        false => {
            let folder = around().map_or(own, |project| project.folder);
            let was_trusted = revoke(root, &folder)?;
            (folder, was_trusted)
        }
    };
    if !was_trusted {
        let what = format!("`{}` was not trusted", folder.display());
        return Err(Failure::request(what).hint("`uwf trust --list` shows those that were"));
    }
    let view = RevokedView {
        folder,
        trusted: false,
    };
    print(&view, context.format)?;
    Ok(Exit::Done)
}

fn list(context: &Context) -> Result<Exit, Failure> {
    let root = &context.site().root;
    let known = Trust::read(root)?;
    let item = |folder: &Path| {
        let project = ProjectConfig::find(root, folder).ok().flatten();
        let project = project.filter(|project| project.folder == folder);
        TrustItem {
            folder: folder.to_owned(),
            status: project.map(|project| project.standing(&known)),
        }
    };
    print(
        &TrustList(known.folders().map(item).collect()),
        context.format,
    )?;
    Ok(Exit::Done)
}
