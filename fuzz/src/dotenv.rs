//! The `.env` file: any text is read, and setting one variable leaves the others as they were.

use uwf_config::{change, load_dotenv};
use uwf_storage::Root;

const NAME: &str = "UWF_FUZZ";

/// Takes the bytes as the file.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    thread_local! {
        static FOLDER: tempfile::TempDir = crate::folder();
    }
    FOLDER.with(|folder| {
        let root = Root::at(folder.path().join("root"));
        root.create().expect("the folder is ours");
        std::fs::write(root.env_file(), data).expect("the folder is ours");
        let mut before = load_dotenv(&root).expect("any file can be read");
        let set = [(NAME.to_owned(), "it's $a \"value\"".to_owned())];
        if change(&root, &[], &set).is_err() {
            assert!(std::str::from_utf8(data).is_err(), "a text can be changed");
            return;
        }
        let mut after = load_dotenv(&root).expect("any file can be read");
        assert!(after.contains(&set[0]), "{after:?}");
        for variables in [&mut before, &mut after] {
            variables.retain(|(name, _)| name != NAME);
        }
        assert_eq!(before, after);
    });
}
