//! The files of pages: style sheet, script and icon. The name of each has a digest of its content, so a browser may keep it for
//! ever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::Response;

use crate::answer::{file as of_file, refused_page};
use crate::routes::ASSETS;
use crate::trouble::Refusal;

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

/// Answers with the file that has a name.
pub(crate) async fn file(Path(name): Path<String>) -> Response {
    match ALL.iter().find(|asset| asset.name() == name) {
        Some(asset) => of_file(asset.kind, asset.content),
        None => refused_page(&Refusal::not_found("no file is at this address")),
    }
}

/// Returns a digest of a text (FNV-1a). Two texts hardly ever have the same one, except by intent.
pub(crate) fn digest(content: &str) -> u64 {
    content.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
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
