//! `uwf cas …` and `ocas …`.

mod care;
mod content;

use serde_json::Value;
use uwf_cas_fs::{Collect, StoreError, hash_of};
use uwf_engine::{GcOptions, NodeState, VerifiedStore};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;

use crate::args::{CasCommand, GcArgs, SchemaCommand};
use crate::commands::Context;
use crate::failure::Failure;
use crate::input::read_stdin;
use crate::output::print;
use crate::text::{
    CollectedView, ExistsView, HashView, HashesView, NodeView, NodesView, RefsView, ReindexedView,
    SchemaItem, SchemaView, VerifiedView,
};

pub(crate) fn run(context: &Context, command: CasCommand) -> Result<Exit, Failure> {
    let store = &context.site().store;
    let format = context.format;
    match command {
        CasCommand::Get { hashes, timestamp } => get(context, &hashes, timestamp)?,
        CasCommand::Cat { hashes } => content::cat(context, &hashes)?,
        CasCommand::Put {
            r#type,
            data,
            no_validate,
        } => {
            put(context, &r#type, &data, no_validate)?;
        }
        CasCommand::PutText { text } => {
            let text = if text == "-" { read_stdin()? } else { text };
            context.site().create()?;
            let _hold = store.hold()?;
            let now = context.site().env.now_ms();
            let hash = store.put(schemas::TEXT, &Value::String(text), now)?;
            print(&HashView { hash }, format)?;
        }
        CasCommand::Hash { r#type, data } => hash(context, &r#type, &data)?,
        CasCommand::Has { hash } => return has(context, &hash),
        CasCommand::Refs { hash } => {
            let refs = store.refs(context.hash(&hash)?)?;
            print(&RefsView { refs }, format)?;
        }
        CasCommand::Walk { hash } => {
            let root = context.hash(&hash)?;
            if !store.has(root)? {
                return Err(StoreError::NotFound { hash: root }.into());
            }
            let hashes = store.walk(root)?;
            print(&HashesView { hashes }, format)?;
        }
        CasCommand::Which { hash } => return which(context, &hash),
        CasCommand::List { r#type } => {
            let hashes = match r#type {
                Some(hash) => store.of_type(context.hash(&hash)?)?,
                None => store.all()?,
            };
            print(&HashesView { hashes }, format)?;
        }
        CasCommand::Verify { hashes } => return verify(context, &hashes),
        CasCommand::Stats => care::stats(context)?,
        CasCommand::Repair(args) => return care::repair(context, args),
        CasCommand::Reindex => {
            let nodes = store.reindex()?;
            print(
                &ReindexedView {
                    status: "reindexed",
                    nodes,
                },
                format,
            )?;
        }
        CasCommand::Gc(args) => gc(context, args)?,
        CasCommand::Schema { command } => schema(context, command)?,
    }
    Ok(Exit::Done)
}

fn get(context: &Context, hashes: &[String], timestamp: bool) -> Result<(), Failure> {
    let mut nodes = Vec::with_capacity(hashes.len());
    for hash in hashes {
        let hash = context.hash(hash)?;
        nodes.push((
            hash,
            NodeView::new(context.site().store.get(hash)?, timestamp),
        ));
    }
    match <[_; 1]>::try_from(nodes) {
        Ok([(_, node)]) => print(&node, context.format),
        Err(nodes) => print(&NodesView::from(nodes), context.format),
    }
}

fn put(context: &Context, type_hash: &str, data: &str, no_validate: bool) -> Result<(), Failure> {
    let type_hash = context.hash(type_hash)?;
    let payload = read_json(data)?;
    context.site().create()?;
    // Perhaps nothing else refers to its schema and its children, so the collector must not run now.
    let _hold = context.site().store.hold()?;
    let (store, now) = (&context.site().store, context.site().env.now_ms());
    let hash = if no_validate {
        store.put(type_hash, &payload, now)?
    } else if type_hash == schemas::META {
        store.put_schema(&payload, now)?
    } else {
        store.put_checked(type_hash, &payload, now)?
    };
    print(&HashView { hash }, context.format)
}

fn hash(context: &Context, type_hash: &str, data: &str) -> Result<(), Failure> {
    let type_hash = match type_hash {
        "-" => None,
        text => Some(context.hash(text)?),
    };
    let payload = read_json(data)?;
    let hash = hash_of(type_hash, &payload)
        .map_err(|error| Failure::request("the data cannot be a node").cause(&error))?;
    print(&HashView { hash }, context.format)
}

fn has(context: &Context, hash: &str) -> Result<Exit, Failure> {
    let exists = context.site().store.has(context.hash(hash)?)?;
    print(&ExistsView { exists }, context.format)?;
    Ok(if exists { Exit::Done } else { Exit::Request })
}

fn which(context: &Context, hash: &str) -> Result<Exit, Failure> {
    let uses = uwf_engine::which(context.site(), context.hash(hash)?)?;
    print(&uses, context.format)?;
    Ok(match uses.state {
        NodeState::Sound => Exit::Done,
        NodeState::Corrupt | NodeState::Missing => Exit::Store,
    })
}

fn verify(context: &Context, hashes: &[String]) -> Result<Exit, Failure> {
    context.note_empty_root();
    let verified = match hashes {
        [] => uwf_engine::verify(context.site())?,
        given => {
            let given = given.iter().map(|hash| hash.parse());
            VerifiedStore {
                nodes: context
                    .site()
                    .store
                    .verify(&given.collect::<Result<Vec<CasRef>, _>>()?)?,
                broken: Vec::new(),
            }
        }
    };
    let view = VerifiedView::from(verified);
    let sound = view.is_sound();
    print(&view, context.format)?;
    Ok(if sound { Exit::Done } else { Exit::Store })
}

fn gc(context: &Context, args: GcArgs) -> Result<(), Failure> {
    context.note_empty_root();
    let lost = args.lost.iter().map(|hash| hash.parse());
    let options = GcOptions {
        older_than_ms: args.older_than,
        mode: if args.dry_run {
            Collect::Look
        } else {
            Collect::Remove
        },
        lost: lost.collect::<Result<_, _>>()?,
        used_by: args.used_by,
    };
    let collected = uwf_engine::gc(context.site(), &options)?;
    print(
        &CollectedView::new(&collected, options.mode),
        context.format,
    )
}

fn schema(context: &Context, command: SchemaCommand) -> Result<(), Failure> {
    let store = &context.site().store;
    match command {
        SchemaCommand::List => {
            let mut items = Vec::new();
            for hash in store.of_type(schemas::META)? {
                items.push(SchemaItem::new(hash, &store.get(hash)?.payload));
            }
            items.sort_by_key(|item| (item.hash != schemas::META, item.hash));
            print(&items, context.format)
        }
        SchemaCommand::Get { hash } => {
            let node = store.get(context.hash(&hash)?)?;
            if node.type_hash != schemas::META {
                return Err(Failure::request(format!("node `{hash}` is not a schema"))
                    .hint("`uwf cas schema list` shows the schemas"));
            }
            print(&SchemaView(node.payload), context.format)
        }
    }
}

/// Reads JSON: the argument itself, standard input for `-`, or the file that the argument names.
fn read_json(data: &str) -> Result<Value, Failure> {
    let text = match data {
        "-" => read_stdin()?,
        inline if serde_json::from_str::<Value>(inline).is_ok() => inline.to_owned(),
        path => std::fs::read_to_string(path).map_err(|error| {
            Failure::request(format!(
                "`{path}` is neither JSON nor a file that can be read"
            ))
            .cause(&error)
        })?,
    };
    serde_json::from_str(&text)
        .map_err(|error| Failure::request("the data is not JSON").cause(&error))
}
