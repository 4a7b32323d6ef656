//! The files of pages: style sheet, script and icon. The name of each has a digest of its content, so a browser may keep it for
//! ever.

use std::sync::LazyLock;

use axum::response::Response;

use crate::addresses::ASSETS;
use crate::answer::{digest, file as of_file};

/// A file of pages.
struct Asset {
    stem: &'static str,
    ending: &'static str,
    kind: &'static str,
    content: &'static str,
}

impl Asset {
    /// Returns the name of the file, which has a digest of its content.
    fn name(&self) -> String {
        format!(
            "{}-{:016x}.{}",
            self.stem,
            digest(self.content),
            self.ending
        )
    }
}

static STYLE: LazyLock<String> = LazyLock::new(|| {
    let drawings = uwf_words::graph::STYLE_SHEET;
    format!("{}\n{drawings}", include_str!("assets/app.css"))
});

static ALL: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        Asset {
            stem: "app",
            ending: "css",
            kind: "text/css; charset=utf-8",
            content: &STYLE,
        },
        Asset {
            stem: "app",
            ending: "js",
            kind: "text/javascript; charset=utf-8",
            content: include_str!("assets/app.js"),
        },
        Asset {
            stem: "icon",
            ending: "svg",
            kind: "image/svg+xml",
            content: include_str!("assets/icon.svg"),
        },
    ]
});

/// The addresses of all files.
pub(crate) struct Addresses {
    pub(crate) style: String,
    pub(crate) script: String,
    pub(crate) icon: String,
}

/// The addresses of the files.
pub(crate) static ADDRESSES: LazyLock<Addresses> = LazyLock::new(|| {
    let [style, script, icon] = &*ALL;
    let address = |asset: &Asset| format!("{ASSETS}{}", asset.name());
    Addresses {
        style: address(style),
        script: address(script),
        icon: address(icon),
    }
});

/// Returns the answer with the file that has a name; `None` if no file has it.
pub(crate) fn file(name: &str) -> Option<Response> {
    let found = ALL.iter().find(|asset| asset.name() == name)?;
    Some(of_file(found.kind, found.content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_its_content() {
        let names: Vec<String> = ALL.iter().map(Asset::name).collect();
        assert!(ADDRESSES.style.ends_with(&names[0]));
        assert!(names[1].starts_with("app-") && names[1].ends_with(".js"));
        assert_ne!(digest("a"), digest("b"));
    }

    #[test]
    fn files_refer_to_nothing_elsewhere() {
        for asset in &*ALL {
            let content = asset.content.replace("http://www.w3.org/2000/svg", "");
            for word in ["http:", "https:", "@import", "url("] {
                assert!(!content.contains(word), "{} has {word}", asset.name());
            }
        }
    }
}
