//! `uwf trust`: which configs of projects are used.

use std::path::Path;

use uwf_config::{ProjectConfig, Trust, revoke, trust};
use uwf_protocol::exit::Exit;

use crate::args::TrustArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::print;
use crate::text::{RevokedView, TrustItem, TrustList, TrustedView};

pub(crate) fn run(context: &Context, args: &TrustArgs) -> Result<Exit, Failure> {
    let env = &context.site().env;
    let dir = args.dir.as_ref().map(|dir| env.cwd().join(dir));
    let dir = dir.as_deref().unwrap_or(env.cwd());
    match (args.list, args.revoke) {
        (true, _) => list(context),
        (false, true) => revoke_at(context, dir),
        (false, false) => trust_at(context, dir),
    }
}

/// Trusts the project around a folder, and shows what it sets: this is what the user agrees to.
fn trust_at(context: &Context, dir: &Path) -> Result<Exit, Failure> {
    let root = &context.site().root;
    let project = find(context, dir)?;
    let config = project.data()?;
    root.create()?;
    trust(root, &project)?;
    let view = TrustedView {
        folder: project.folder,
        file: project.file,
        trusted: true,
        config,
    };
    print(&view, context.format)?;
    Ok(Exit::Done)
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
            status: project.map(|project| known.standing(&project)),
        }
    };
    print(
        &TrustList(known.folders().map(item).collect()),
        context.format,
    )?;
    Ok(Exit::Done)
}
