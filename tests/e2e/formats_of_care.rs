//! Every format of what keeps threads and the store in order, byte for byte.

use crate::formats::{SCRIPT, demo, start, text};
use crate::golden::Transcript;

#[test]
fn threads_that_are_paused_and_removed() {
    let world = demo(SCRIPT);
    let threads = [start(&world), start(&world), start(&world)];
    let [a, b, c] = threads.each_ref().map(String::as_str);
    let mut transcript = Transcript::of(&world);
    transcript.show_each([
        &["thread", "pause", a, "-m", "wait for the release"],
        &["thread", "pause", b, "-m", "wait for the release"],
        &["thread", "pause", c, "-m", "wait for the release"],
    ]);
    transcript.say(&["thread", "step", a]);
    transcript.show(&["thread", "show", a]);
    transcript.show(&["thread", "list", "--status", "paused"]);
    transcript.show_each([
        &["thread", "unpause", a],
        &["thread", "unpause", b],
        &["thread", "unpause", c],
    ]);
    transcript.say(&["thread", "kill", a, b, a]);
    transcript.say(&["thread", "rm", c]);
    transcript.show(&["thread", "prune", "--ended", "--dry-run"]);
    transcript.show_each([
        &["thread", "rm", a],
        &["thread", "rm", b],
        &["thread", "rm", c, "--force"],
    ]);
    transcript.say(&["thread", "show", a]);
    transcript.say(&["thread", "prune", "--ended"]);
    transcript.matches("threads-that-are-paused-and-removed");
}

#[test]
fn care_of_the_store() {
    let world = demo(SCRIPT);
    let hello = world.uwf(&["cas", "put-text", "hello"]).exits(0).json();
    let hello = text(&hello["hash"]);
    let mut transcript = Transcript::of(&world);
    transcript.say(&["cas", "cat", hello]);
    transcript.show(&["cas", "get", hello, "7VQ43ZSJTEWA7"]);
    transcript.show(&["cas", "stats"]);
    transcript.show(&["cas", "repair"]);
    let file = |hash: &str| world.root().join("cas").join(format!("{hash}.bin"));
    std::fs::write(file(hello), "nonsense").unwrap();
    let registry = std::fs::read_to_string(world.root().join("registry.yaml")).unwrap();
    let workflow = registry.trim_end().rsplit(' ').next().unwrap();
    std::fs::remove_file(file(workflow)).unwrap();
    transcript.show(&["cas", "repair", "--dry-run"]);
    transcript.say(&["cas", "repair"]);
    transcript.matches("care-of-the-store");
}

#[test]
fn travelling_threads() {
    let world = demo(SCRIPT);
    let mut transcript = Transcript::of(&world);
    let thread = world.start("demo");
    transcript.show(&["thread", "export", &thread, "-o", "bundle.tar"]);
    let other = world.dir().join("other");
    let import = [
        "thread",
        "import",
        "bundle.tar",
        "--root",
        other.to_str().unwrap(),
    ];
    transcript.show_each([&import; 3]);
    transcript.say(&["thread", "import", "script.yaml"]);
    transcript.matches("travelling-threads");
}
