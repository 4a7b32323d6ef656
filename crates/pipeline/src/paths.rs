//! Which paths can lie in the workspace, as far as their text tells.
//!
//! Links are not followed here. The code that opens a path follows them.

/// Returns why a path cannot lie in the workspace.
#[must_use]
pub fn path_problem(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.contains('\0') {
        return Some("it has a zero byte");
    }
    if path.starts_with('/') {
        return Some("it is absolute");
    }
    if has_drive(path) {
        return Some("it begins with a drive");
    }
    if path.split('/').any(|segment| segment == "..") {
        return Some("it has a segment `..`");
    }
    None
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Returns the segments of a path that is in the workspace, without those that mean nothing.
pub(crate) fn segments(path: &str) -> Vec<&str> {
    let segments = path.split('/');
    segments
        .filter(|segment| !matches!(*segment, "" | "."))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_could_leave_the_workspace_is_refused() {
        for path in ["", "/a", "..", "a/../b", "a/..", "C:/x", "c:x", "a\0b"] {
            assert!(path_problem(path).is_some(), "{path:?}");
        }
        for path in [
            "a", "./a", "a..b/c", "...", "a b/ü", "a/b:c", ".hidden", "1:2",
        ] {
            assert_eq!(path_problem(path), None, "{path:?}");
        }
    }

    #[test]
    fn segments_that_mean_nothing_do_not_count() {
        assert_eq!(segments("./a//b/."), ["a", "b"]);
        assert!(segments("./.").is_empty());
    }
}
