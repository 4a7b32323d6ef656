//! What a folder says of itself after copies, restores and changes.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;
use crate::{NextMark, Root, SharedRecord};

const PLACE: &str = "postgres://uwf@host/uwf uwf";

fn complete(folder: &SharedFolder) {
    let search = folder.lock().unwrap().begin().unwrap();
    folder.lock().unwrap().settle(&search, PLACE).unwrap();
    assert!(folder.is_complete(PLACE).unwrap());
}

fn is_copy(folder: &SharedFolder) -> bool {
    folder.said().unwrap() == Said::OfAnother
}

/// A root whose folder of records says that it is complete.
fn complete_root() -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::at(folder.path().to_path_buf());
    complete(&root.shared_folder());
    (folder, root)
}

/// Sets the time of the content of a folder, as tools do that restore files.
fn set_time(root: &Root, time: SystemTime) {
    let folder = File::open(root.shared_dir()).unwrap();
    folder.set_modified(time).unwrap();
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_copy_of_the_folder_does_not_say_that_it_is_complete() {
    let (temp, root) = complete_root();
    let own = root.shared_folder();
    let lock = temp.path().join("lock");
    let copy = SharedFolder::at(temp.path().join("copy"), lock);
    let copied = || {
        fs::copy(own.file(), copy.file()).unwrap();
        assert!(is_copy(&copy) && !copy.is_complete(PLACE).unwrap());
    };
    fs::create_dir(&copy.path).unwrap();
    assert!(
        copy.lock().unwrap().may_be_copy().unwrap() && !own.lock().unwrap().may_be_copy().unwrap()
    );
    assert!(!is_copy(&own) && !is_copy(&copy) && !copy.is_complete(PLACE).unwrap());
    copied();
    copy.lock().unwrap().doubt().unwrap();
    assert!(is_copy(&copy));
    own.lock().unwrap().doubt().unwrap();
    assert!(!own.is_complete(PLACE).unwrap() && !is_copy(&own));
    copied();
    complete(&copy);
    assert!(!is_copy(&copy));
}

#[test]
fn a_doubt_that_comes_while_records_are_looked_for_stays() {
    let (_temp, root) = complete_root();
    let folder = root.shared_folder();
    let first = folder.lock().unwrap().begin().unwrap();
    let second = folder.lock().unwrap().begin().unwrap();
    folder.lock().unwrap().doubt().unwrap();
    folder.lock().unwrap().settle(&first, PLACE).unwrap();
    assert!(!folder.is_complete(PLACE).unwrap());
    complete(&folder);
    folder.lock().unwrap().settle(&second, PLACE).unwrap();
    assert!(
        folder.is_complete(PLACE).unwrap(),
        "the other call was right"
    );
}

#[test]
fn a_folder_that_says_nothing_is_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::at(temp.path().to_path_buf());
    let folder = root.shared_folder();
    folder.lock().unwrap().doubt().unwrap();
    folder.before_change().unwrap();
    assert!(!root.shared_dir().exists() && !folder.is_complete(PLACE).unwrap());
}

#[test]
fn a_folder_that_was_set_back_is_not_complete_whatever_is_changed_next() {
    let record = SharedRecord::certain("r".to_owned(), "1".to_owned());
    let thread = ThreadId::new(1, 0);
    type Change<'a> = &'a dyn Fn(&Root);
    let left = |root: &Root| root.shared_dir().join(".uwf-temp-1");
    let changes: [Change<'_>; 10] = [
        &|_| {},
        &|root| drop(root.shared(thread).create(&record).unwrap()),
        &|root| root.shared(thread).replace(&record).unwrap(),
        &|root| root.shared(thread).owe_end(None).unwrap(),
        &|root| root.shared(thread).settle_end().unwrap(),
        &|root| root.shared(thread).remove().unwrap(),
        &|root| drop(NextMark::create(root, "2").unwrap().unwrap()),
        &|root| NextMark::remove_all(root).unwrap(),
        &|root| crate::references::remove_all(root, &[left(root)]).unwrap(),
        &|root| root.shared_folder().lock().unwrap().doubt().unwrap(),
    ];
    let now = SystemTime::now();
    for (change, time) in changes
        .into_iter()
        .flat_map(|change| [(change, now - HOUR), (change, now + HOUR)])
    {
        let (_temp, root) = complete_root();
        root.shared(thread).owe_end(None).unwrap();
        fs::write(left(&root), "").unwrap();
        drop(NextMark::create(&root, "1").unwrap().unwrap());
        assert!(root.shared_folder().is_complete(PLACE).unwrap());
        set_time(&root, time);
        change(&root);
        let folder = root.shared_folder();
        assert!(!folder.is_complete(PLACE).unwrap() && !is_copy(&folder));
        complete(&folder);
    }
    let (_temp, root) = complete_root();
    let mark = NextMark::create(&root, "2").unwrap().unwrap();
    set_time(&root, now - HOUR);
    mark.remove().unwrap();
    assert!(!root.shared_folder().is_complete(PLACE).unwrap());
}

#[test]
fn a_record_that_a_search_adds_does_not_disturb_it() {
    let (_temp, root) = complete_root();
    let folder = root.shared_folder();
    set_time(&root, SystemTime::now() - HOUR);
    let search = folder.lock().unwrap().begin().unwrap();
    let record = SharedRecord::certain("r".to_owned(), "1".to_owned());
    root.shared(ThreadId::new(1, 0)).create(&record).unwrap();
    folder.lock().unwrap().settle(&search, PLACE).unwrap();
    assert!(folder.is_complete(PLACE).unwrap());
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let (_temp, root) = complete_root();
    let folder = root.shared_folder();
    fs::remove_file(folder.file()).unwrap();
    fs::create_dir(folder.file()).unwrap();
    assert!(folder.is_complete(PLACE).is_err());
    assert!(folder.lock().unwrap().doubt().is_err());
    assert!(folder.lock().unwrap().may_be_copy().is_err());
    assert!(folder.lock().unwrap().begin().is_err());
}

#[test]
fn a_file_that_was_put_back_does_not_say_that_the_folder_is_complete() {
    let (_temp, root) = complete_root();
    let (folder, kept) = (root.shared_folder(), root.path().join("kept"));
    fs::copy(folder.file(), &kept).unwrap();
    fs::rename(&kept, folder.file()).unwrap();
    assert!(!folder.is_complete(PLACE).unwrap() && !is_copy(&folder));
    complete(&folder);
}

#[test]
fn each_remote_is_asked_after_a_doubt() {
    let (_temp, root) = complete_root();
    let folder = root.shared_folder();
    let other = "s3://bucket uwf";
    assert!(!folder.is_complete(other).unwrap());
    let search = folder.lock().unwrap().begin().unwrap();
    assert!(folder.is_complete(PLACE).unwrap(), "it is asked already");
    folder.lock().unwrap().settle(&search, other).unwrap();
    assert!(folder.is_complete(PLACE).unwrap() && folder.is_complete(other).unwrap());
    folder.lock().unwrap().doubt().unwrap();
    assert!(!folder.is_complete(PLACE).unwrap() && !folder.is_complete(other).unwrap());
    let search = folder.lock().unwrap().begin().unwrap();
    folder.lock().unwrap().settle(&search, other).unwrap();
    assert!(!folder.is_complete(PLACE).unwrap() && folder.is_complete(other).unwrap());
}

#[test]
fn a_line_that_was_cut_is_a_doubt() {
    for cut in ["rec", "records may be missing\nlook", "asked"] {
        let (_temp, root) = complete_root();
        let folder = root.shared_folder();
        let mut content = fs::read_to_string(folder.file()).unwrap();
        content.push_str(cut);
        let file = File::options().write(true).open(folder.file());
        std::io::Write::write_all(&mut file.unwrap(), content.as_bytes()).unwrap();
        assert!(!folder.is_complete(PLACE).unwrap(), "{cut}");
        complete(&folder);
    }
}

/// Returns the time of the content of the file, some time after it was written.
fn time_of(folder: &SharedFolder) -> SystemTime {
    std::thread::sleep(Duration::from_millis(20));
    fs::metadata(folder.file()).unwrap().modified().unwrap()
}

#[test]
fn a_new_record_makes_the_time_of_the_file_new() {
    let (_temp, root) = complete_root();
    let folder = root.shared_folder();
    let before = time_of(&folder);
    let record = SharedRecord::certain("r".to_owned(), "1".to_owned());
    root.shared(ThreadId::new(1, 0)).create(&record).unwrap();
    assert!(time_of(&folder) > before);
    assert!(folder.is_complete(PLACE).unwrap());
}

#[test]
fn a_folder_that_is_set_back_while_records_are_looked_for_is_not_complete() {
    let (_temp, root) = complete_root();
    let folder = root.shared_folder();
    folder.lock().unwrap().doubt().unwrap();
    let search = folder.lock().unwrap().begin().unwrap();
    set_time(&root, SystemTime::now() - HOUR);
    folder.lock().unwrap().settle(&search, PLACE).unwrap();
    assert!(!folder.is_complete(PLACE).unwrap());
    complete(&folder);
}

#[test]
fn the_time_of_the_file_is_new_before_a_record_is_there() {
    let (_temp, root) = complete_root();
    let folder = root.shared_folder();
    let before = time_of(&folder);
    folder.before_new_record().unwrap();
    assert!(time_of(&folder) > before);
}

#[test]
fn a_file_that_is_set_back_in_place_does_not_say_that_the_folder_is_complete() {
    let (_temp, root) = complete_root();
    let folder = root.shared_folder();
    let file = File::options().write(true).open(folder.file());
    file.unwrap()
        .set_modified(SystemTime::now() - HOUR)
        .unwrap();
    assert!(!folder.is_complete(PLACE).unwrap() && !is_copy(&folder));
    folder.before_change().unwrap();
    assert!(
        !folder.is_complete(PLACE).unwrap(),
        "the doubt is on record"
    );
    complete(&folder);
}
