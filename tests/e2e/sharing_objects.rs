//! Threads that two machines share by an object storage: what is said where there is none, and the same work as by a database.

use serde_json::json;

use crate::azurite::{Azurite, KEY};
use crate::gates::{at_work, gated_agent, open_gate};
use crate::sharing::{MORE, agree, at_remote, shared};
use crate::world::{AGAIN, World};

#[test]
fn an_address_that_cannot_be_used_is_refused_and_no_key_is_repeated() {
    let world = World::new();
    let refused = |url: &str, why: &str| {
        let run = world.uwf(&["remote", "add", url]);
        for wrong in ["hidden", "refuses this user"] {
            assert!(!run.stderr.contains(wrong), "{}", run.stderr);
        }
        run.exits(1).says(why);
    };
    refused("s3://id:hidden@bucket/x?region=r", "a password in it");
    refused("s3://bucket/x?secret=hidden", "is no parameter");
    refused(
        "s3://bucket?endpoint=http://192.0.2.1",
        "without encryption",
    );
    refused("az://container/x", "account");
    refused(
        "s3://bucket",
        "this machine cannot ask the remote: the region",
    );
    refused("s3://bucket?region=r", "AWS_ACCESS_KEY_ID");
    refused("az://container?account=a", "AZURE_STORAGE_ACCOUNT_KEY");
    std::fs::write(
        world.root().join(".env"),
        "AZURE_STORAGE_ACCOUNT_KEY=hidden\n",
    )
    .unwrap();
    refused("az://container?account=a", "the key or the address");
    world
        .uwf(&["remote", "add", "s3://bucket?region=r", "--schema", "a"])
        .exits(2)
        .says("has no schemas");
}

#[test]
fn two_machines_share_a_thread_by_an_object_storage() {
    let Some(server) = Azurite::start_or_skip() else {
        return;
    };
    let machines = [(); 2].map(|()| {
        let world = World::new();
        world.put(&AGAIN.replace('@', ""));
        let key = format!("AZURE_STORAGE_ACCOUNT_KEY={KEY}\n");
        std::fs::write(world.root().join(".env"), key).unwrap();
        world.uwf(&["remote", "add", &server.url()]).exits(0);
        gated_agent(&world, MORE);
        world
    });
    let [one, other] = &machines;
    let thread = shared(&machines, "again");
    for _ in 0..2 {
        for world in &machines {
            world.step(&thread).exits(0);
        }
    }
    agree(&machines, &thread, 4);
    let mut busy = at_work(one, &["thread", "step", &thread]);
    other
        .step(&thread)
        .exits(5)
        .says(&format!("`uwf remote release {thread}`"));
    assert!(at_remote(other, &thread)["leftMs"].is_u64());
    open_gate(one);
    assert!(busy.wait().unwrap().success());
    agree(&machines, &thread, 5);
    what_it_cannot_do_is_said(one, &thread);
}

fn no_care_is_taken_of_it(world: &World) {
    let refused = |args: &[&str], why: &str| {
        let run = world.uwf(&[&["remote"], args].concat()).exits(1);
        run.says("cannot do that").says(why);
    };
    let stays = "what nothing needs stays there";
    refused(&["gc"], stays);
    refused(&["gc", "--dry-run"], stays);
    refused(&["verify"], "each node is checked whenever it is read");
    refused(&["verify"], "`uwf --root <new folder> remote add <url>`");
    refused(&["migrate"], "no tables");
    let roles = world.uwf(&["remote", "roles"]).exits(0).stdout;
    assert!(roles.contains("the policies of the bucket"), "{roles}");
}

#[test]
fn a_store_of_objects_says_why_no_care_is_taken_of_it() {
    let world = World::new();
    // Nothing is asked of a server for that.
    world.configure("remote.url", "az://container/x?account=someone");
    let key = format!("AZURE_STORAGE_ACCOUNT_KEY={KEY}\n");
    std::fs::write(world.root().join(".env"), key).unwrap();
    no_care_is_taken_of_it(&world);
}

#[test]
fn a_container_that_is_not_there_and_a_key_that_is_wrong_are_told_with_what_helps() {
    let Some(server) = Azurite::start_or_skip() else {
        return;
    };
    let world = World::new();
    std::fs::create_dir_all(world.root()).unwrap();
    let add = |key: &str, url: &str| {
        let key = format!("AZURE_STORAGE_ACCOUNT_KEY={key}\n");
        std::fs::write(world.root().join(".env"), key).unwrap();
        world.uwf(&["remote", "add", url]).exits(1)
    };
    let url = server.url();
    let (_, account) = url.split_once('?').unwrap();
    add(KEY, &format!("az://nowhere?{account}"))
        .says("there is no such bucket or container")
        .says("az storage container create");
    add(KEY, &format!("az://A_B?{account}"))
        .says("refuses the request: 400 ")
        .says("check the names in the address");
    let wrong = add("d3Jvbmc=", &server.url()).says("refuses the key");
    assert!(!wrong.stderr.contains("remote roles"), "{}", wrong.stderr);
}

fn what_it_cannot_do_is_said(world: &World, thread: &str) {
    no_care_is_taken_of_it(world);
    let next = world.uwf(&["thread", "step", "--next"]);
    next.exits(1).says("no line of ready threads");
    let worker = world.uwf(&["work", "--idle", "1m"]);
    worker.exits(1).says("no line of ready threads");
    let status = world.uwf(&["remote", "status"]).exits(0).json();
    assert_eq!(status["kept"], json!(null));
    assert_eq!(status["schema"], json!(null));
    let text = world.uwf(&["remote", "status", "--format", "text"]);
    assert!(text.exits(0).stdout.contains("1 thread"), "{thread}");
    let released = world.uwf(&["remote", "release", thread]).exits(0).json();
    assert_eq!(released["released"], json!(false));
}
