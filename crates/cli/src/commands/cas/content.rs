//! `uwf cas cat`: what a node holds, without JSON around it.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use uwf_cas_fs::{BytesError, Store};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;
use uwf_util::printable::printable;

use crate::commands::Context;
use crate::failure::Failure;
use crate::output::Format;

pub(super) fn cat(context: &Context, hashes: &[String]) -> Result<(), Failure> {
    if matches!(context.asked, Some(Format::Json | Format::Yaml)) {
        return Err(
            Failure::usage("`cas cat` prints the content itself, in no other format")
                .hint("`uwf cas get <hash>` prints a node as JSON or YAML"),
        );
    }
    let hashes: Vec<CasRef> = hashes
        .iter()
        .map(|hash| context.hash(hash))
        .collect::<Result<_, _>>()?;
    let store = &context.site().store;
    let mut out = BufWriter::new(io::stdout().lock());
    for hash in hashes {
        let written = if io::stdout().is_terminal() {
            write_printable(store, hash, &mut out)?
        } else {
            write(store, hash, &mut out)?
        };
        if written == Written::Closed {
            return Ok(());
        }
    }
    match out.flush() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritten(&error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether the reader of the output is still there.
#[derive(PartialEq, Eq)]
enum Written {
    All,
    Closed,
}

/// Writes the content unchanged.
fn write(store: &Store, hash: CasRef, out: &mut dyn Write) -> Result<Written, Failure> {
    let node = store.get(hash)?;
    let written = match node.payload.as_str() {
        Some(text) => out.write_all(text.as_bytes()).map_err(BytesError::Io),
        None if node.type_hash == schemas::BYTES => store.write_bytes(hash, out).map(drop),
        None => {
            return Err(
                Failure::request(format!("node `{hash}` holds data, not a text or bytes"))
                    .hint(format!("`uwf cas get {hash}` shows it")),
            );
        }
    };
    match written {
        Ok(()) => Ok(Written::All),
        Err(BytesError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Written::Closed),
        Err(BytesError::Io(error)) => Err(unwritten(&error)),
        Err(BytesError::Store(error)) => Err(error.into()),
        Err(error @ BytesError::NotBytes { .. }) => Err(Failure::request(error.to_string())),
    }
}

/// Writes the content for a terminal, which shows it and obeys none of it.
fn write_printable(store: &Store, hash: CasRef, out: &mut dyn Write) -> Result<Written, Failure> {
    let mut content = Vec::new();
    write(store, hash, &mut content)?;
    let text = String::from_utf8_lossy(&content);
    let shown = printable(&text);
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{shown}{end}") {
        Ok(()) => Ok(Written::All),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Written::Closed),
        Err(error) => Err(unwritten(&error)),
    }
}

fn unwritten(error: &io::Error) -> Failure {
    Failure::request("cannot write the content to stdout").cause(error)
}
