//! Pages for a browser, each in one file without scripts and without references to other files. Pure: data in, text out.

mod element;
mod step_article;
mod thread_page;

pub(crate) use thread_page::thread_page;
