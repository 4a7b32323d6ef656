//! `uwf thread read`: the story of a thread as a Markdown document, as data, or as a page.

use std::path::Path;

use uwf_engine::ReadOptions;
use uwf_protocol::exit::Exit;

use crate::args::{ReadArgs, WHOLE};
use crate::commands::Context;
use crate::failure::{Failure, note};
use crate::html::thread_page;
use crate::named_file;
use crate::output::{print_document, write};

pub(super) fn read(context: &Context, args: &ReadArgs) -> Result<Exit, Failure> {
    let before = args.before.as_deref().map(|step| context.hash(step));
    let options = ReadOptions {
        quota: if args.html { WHOLE } else { args.quota },
        before: before.transpose()?,
        start: args.start,
    };
    let story = uwf_engine::read_thread(context.site(), context.thread(&args.thread)?, &options)?;
    if args.html {
        write_page(context, &thread_page(&story), args.output.as_deref())?;
    } else {
        print_document(&story, &story.document, context.asked, &context.pager)?;
    }
    Ok(Exit::Done)
}

/// Writes a page to the file that was asked for, or to stdout.
fn write_page(context: &Context, page: &str, file: Option<&Path>) -> Result<(), Failure> {
    match file {
        Some(file) if file.as_os_str() != "-" => {
            named_file::write_private_text(context.site(), file, page)?;
            note(&format!("the page is in {}", file.display()));
            Ok(())
        }
        Some(_) | None => write(page.trim_end()),
    }
}
