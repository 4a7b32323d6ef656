//! The keys of the file itself. V11 for the folders of queues, and V20, are here.

use serde_json::{Map, Value};
use uwf_util::suggest;
use uwf_yaml::Node;

use super::fields::{Fields, entries};
use super::names::secrets;
use super::providers;
use super::reader::Reader;
use super::step::steps;
use super::values::{boolean, check_path, entry, plain, text, whole};
use crate::paths::segments;
use crate::problem::Finding;
use crate::{Code, OWN_FOLDER, Pipeline, Queues};

pub(super) const FILE_KEYS: [&str; 13] = [
    "version",
    "name",
    "description",
    "strict_flow",
    "context",
    "providers",
    "secrets",
    "inbox_dir",
    "processed_dir",
    "failed_dir",
    "task_extension",
    "max_transitions",
    "steps",
];

/// The versions of the format, the oldest first.
const VERSIONS: [&str; 3] = ["1.0", "1.1", "1.1.1"];

/// Reads the file.
pub(super) fn pipeline(root: &Node, file_name: &str, reader: &mut Reader) -> Option<Pipeline> {
    let fields = Fields::of(root, root.at, "the workflow", &FILE_KEYS, reader)?;
    version(&fields, reader);
    let name = entry(&fields, "name", reader, text);
    let description = entry(&fields, "description", reader, text);
    let strict_flow = entry(&fields, "strict_flow", reader, boolean);
    let context = entry(&fields, "context", reader, context);
    let providers = entry(&fields, "providers", reader, providers::declared);
    let secrets = entry(&fields, "secrets", reader, secrets).unwrap_or_default();
    reader.secrets.clone_from(&secrets);
    let queues = queues(&fields, reader);
    let max_transitions = entry(&fields, "max_transitions", reader, |node, what, reader| {
        whole(node, what, 1, u64::MAX, reader)
    });
    let list = fields.get("steps").map(|(_, node)| node);
    let steps = steps(list, root.at, "the workflow", reader);
    let mut providers = providers.unwrap_or_default();
    providers::check_calls(&mut providers, reader);
    Some(Pipeline {
        name: name.unwrap_or_else(|| stem(file_name).to_owned()),
        description,
        strict_flow: strict_flow.unwrap_or(true),
        context: context.unwrap_or_default(),
        providers,
        secrets,
        queues,
        max_transitions: max_transitions.unwrap_or(1000),
        steps: steps?,
    })
}

/// V20: the version of the format.
fn version(fields: &Fields<'_>, reader: &mut Reader) {
    let Some((_, node)) = fields.get("version") else {
        return;
    };
    let Some(version) = text(node, "`version`", reader) else {
        return;
    };
    reader.is_newest = VERSIONS.last() == Some(&version.as_str());
    if !VERSIONS.contains(&version.as_str()) {
        let message = format!("this program does not know version `{version}` of the format");
        let near = suggest::nearest(&version, VERSIONS);
        let hint = format!("the versions are `{}`", VERSIONS.join("`, `"));
        let hint = near.map_or(hint, |near| format!("did you mean `{near}`?"));
        reader.report(Finding::new(node.at, Code::LaterVersion, message).hint(hint));
    }
}

/// Reads the context. Nothing in it is a variable.
fn context(node: &Node, what: &str, reader: &mut Reader) -> Option<Map<String, Value>> {
    entries(node, what, reader)?;
    match plain(node, reader) {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

/// Reads the folders of queues. Each must be in the workspace, and none in another.
fn queues(fields: &Fields<'_>, reader: &mut Reader) -> Queues {
    let unset = Queues::default();
    let keys = ["inbox_dir", "processed_dir", "failed_dir"];
    let [inbox_dir, processed_dir, failed_dir] = keys.map(|key| entry(fields, key, reader, folder));
    let inbox_dir = inbox_dir.unwrap_or(unset.inbox_dir);
    let processed_dir = processed_dir.unwrap_or(unset.processed_dir);
    let failed_dir = failed_dir.unwrap_or(unset.failed_dir);
    let folders = [&inbox_dir, &processed_dir, &failed_dir];
    for (index, (key, folder)) in keys.iter().zip(folders).enumerate() {
        let Some((_, node)) = fields.get(key) else {
            continue;
        };
        let others = folders
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        let clash = others
            .map(|(_, other)| other)
            .find(|other| overlap(folder, other));
        if let Some(other) = clash {
            let message = format!("`{key}` and the folder `{other}` lie within each other");
            reader.problem(node.at, Code::BadPath, message);
        }
    }
    let task_extension = entry(fields, "task_extension", reader, extension);
    Queues {
        inbox_dir,
        processed_dir,
        failed_dir,
        task_extension: task_extension.unwrap_or(unset.task_extension),
    }
}

fn folder(node: &Node, what: &str, reader: &mut Reader) -> Option<String> {
    let path = text(node, what, reader)?;
    check_path(node, what, &path, reader);
    let why = match segments(&path)[..] {
        [] if !path.is_empty() && !path.starts_with('/') => "not the workspace itself",
        [OWN_FOLDER, ..] => "not in `.orchestrate`",
        _ => return Some(path),
    };
    reader.problem(
        node.at,
        Code::BadPath,
        format!("{what} must be a folder, {why}"),
    );
    Some(path)
}

/// Tells whether one folder is the other, or lies in it.
fn overlap(first: &str, second: &str) -> bool {
    let (first, second) = (segments(first), segments(second));
    let is_path = !first.is_empty() && !second.is_empty();
    is_path && (first.starts_with(&second) || second.starts_with(&first))
}

fn extension(node: &Node, what: &str, reader: &mut Reader) -> Option<String> {
    let extension = text(node, what, reader)?;
    let fits = extension.len() > 1 && extension.starts_with('.') && !extension.contains('/');
    if !fits || extension == ".tmp" {
        let message = format!("{what} begins with a dot, has no `/`, and is not `.tmp`");
        reader.problem(node.at, Code::WrongType, message);
    }
    Some(extension)
}

/// Returns the name of a file without its folder and its extension.
fn stem(file_name: &str) -> &str {
    let name = file_name.rsplit('/').next().unwrap_or(file_name);
    let stem = name
        .strip_suffix(".yaml")
        .or_else(|| name.strip_suffix(".yml"));
    stem.filter(|stem| !stem.is_empty()).unwrap_or(name)
}
