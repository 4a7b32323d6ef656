//! Checks the machine and the root: clock, PATH, access to the root, disk space, permissions of secrets.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::fs::{Access, access, statvfs};
use uwf_storage::{Env, Root};
use uwf_util::{size, time};

use crate::text::Check;

/// With less free space, in bytes, a step may fail soon.
const LITTLE_SPACE: u64 = 200 * 1024 * 1024;

/// With less free space, in bytes, a step fails.
const NO_SPACE: u64 = 10 * 1024 * 1024;

/// 2026-01-01 in milliseconds since 1970. No version of this program is older, so a clock before this is wrong.
const EARLIEST_MS: i64 = 1_767_225_600_000;

/// How far files may be ahead of the clock, in milliseconds.
const LEAP_MS: i64 = 10 * 60 * 1000;

pub(super) fn clock(root: &Root, env: &Env) -> Check {
    let now = env.now_ms();
    let shown = time::format_iso(now);
    let hint = "set the clock: new threads get their ids, and with them their order, from it";
    if now < EARLIEST_MS {
        return Check::error("clock", format!("{shown} is in the past"), hint);
    }
    let newest = [root.threads_file(), root.history_file(), root.config_file()];
    let newest = newest.iter().filter_map(|path| changed_ms(path)).max();
    match newest {
        Some(newest) if newest > now + LEAP_MS => Check::warning(
            "clock",
            format!(
                "it is {shown}, but files are of {}",
                time::format_iso(newest)
            ),
            hint,
        ),
        _ => Check::ok("clock", shown),
    }
}

fn changed_ms(path: &Path) -> Option<i64> {
    let changed = path.metadata().ok()?.modified().ok()?;
    let since_1970 = changed.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since_1970.as_millis()).ok()
}

pub(super) fn search_path(env: &Env) -> Check {
    if env.search_path().next().is_none() {
        let hint = "set PATH: agents and the tools that they drive are looked for there";
        return Check::error("path", "PATH is not set", hint);
    }
    let found = env.find_program("uwf");
    let this = env.program();
    let Some(found) = &found else {
        let hint = "add its folder to PATH, so that scripts and cron find it";
        return Check::warning("path", "`uwf` is not on PATH", hint);
    };
    if found.canonicalize().ok() == this.canonicalize().ok() {
        return Check::ok("path", format!("`uwf` is {}", found.display()));
    }
    Check::warning(
        "path",
        format!(
            "`uwf` is {}, but this is {}",
            found.display(),
            this.display()
        ),
        "remove one of them, or put the right one first on PATH",
    )
}

/// Checks whether processes can be identified. Returns nothing if they can.
pub(super) fn processes(env: &Env) -> Option<Check> {
    match uwf_process::process_identity(env.process_id()) {
        Some(_) => None,
        None => Some(Check::error(
            "processes",
            "`/proc` is not mounted: agents and what they start cannot be supervised",
            "mount it: `mount -t proc proc /proc`",
        )),
    }
}

pub(super) fn no_root(root: &Root) -> Check {
    let path = root.path().display();
    let other = "name another with `--root` or UWF_STORAGE_ROOT";
    match root.path().metadata() {
        Ok(_) => Check::error("root", format!("`{path}` is not a folder"), other),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let message = format!("`{path}` is not there yet");
            Check::warning("root", message, "`uwf setup` makes it")
        }
        Err(error) => Check::error("root", format!("`{path}` cannot be read: {error}"), other),
    }
}

pub(super) fn root(root: &Root) -> Check {
    let path = root.path();
    match access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Check::ok("root", path.display().to_string()),
        Err(error) => Check::error(
            "root",
            format!("`{}` cannot be read and written: {error}", path.display()),
            "change its owner or mode, or name another root with `--root`",
        ),
    }
}

/// Looks at the process log, which may be elsewhere: a command goes on without it.
pub(super) fn log(root: &Root) -> Option<Check> {
    let folder = root.logs_dir();
    let shown = folder.display();
    // The first line makes the folder.
    folder.symlink_metadata().ok()?;
    let until = "until then nobody can tell later what happened";
    if folder.metadata().is_ok_and(|found| !found.is_dir()) {
        let message = format!("`{shown}` is not a folder");
        let hint = format!("move it away: {until}");
        return Some(Check::warning("log", message, hint));
    }
    if let Err(error) = access(&folder, Access::WRITE_OK | Access::EXEC_OK) {
        let message = format!("`{shown}` cannot be written: {error}");
        let hint = format!("change its owner or mode: {until}");
        return Some(Check::warning("log", message, hint));
    }
    let found = statvfs(&folder).ok()?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let message = || format!("{} free for `{shown}`", size::format(free));
    let hint = || format!("make room: {until}");
    (free < NO_SPACE).then(|| Check::warning("log", message(), hint()))
}

pub(super) fn space(root: &Root) -> Option<Check> {
    // Some file systems do not tell their free space.
    let found = statvfs(root.path()).ok()?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let message = format!("{} free", size::format(free));
    let hint = "make room, or put the root elsewhere with UWF_STORAGE_ROOT";
    Some(match free {
        ..NO_SPACE => Check::error("space", message, hint),
        NO_SPACE..LITTLE_SPACE => Check::warning("space", message, hint),
        LITTLE_SPACE.. => Check::ok("space", message),
    })
}

pub(super) fn permissions(root: &Root) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(mode) = mode_for_others(root.path()) {
        checks.push(Check::warning(
            "permissions",
            format!(
                "other users have access to `{}` (mode {mode:03o})",
                root.path().display()
            ),
            format!("chmod 700 {}", root.path().display()),
        ));
    }
    for path in [root.config_file(), root.env_file()] {
        if let Some(mode) = mode_for_others(&path) {
            checks.push(Check::error(
                "permissions",
                format!(
                    "other users have access to `{}`, which may contain keys (mode {mode:03o})",
                    path.display()
                ),
                format!("chmod 600 {}", path.display()),
            ));
        }
    }
    if checks.is_empty() {
        checks.push(Check::ok(
            "permissions",
            "only the owner has access to the root and its secrets",
        ));
    }
    checks
}

/// Returns the mode of a file or folder if it gives other users any access.
fn mode_for_others(path: &Path) -> Option<u32> {
    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}
