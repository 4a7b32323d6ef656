//! A user whom the server refuses, or who may do too little, is told what helps. `doctor` and `config set` check the remote beforehand.

use serde_json::{Value, json};

use crate::gates::{at_work, close_gate, open_gate, runs, with_messages};
use crate::postgres::{USER, new_schema, own_server};
use crate::postgres_admin::Admin;
use crate::sharing::{agree, as_worker, machine, machines_in, shared, with_server};
use crate::world::{AGAIN, World, wait_until};

#[test]
fn a_user_who_is_refused_is_told_what_helps_in_that_case() {
    with_server(|server| {
        let schema = new_schema();
        let world = machine(server, &schema, &AGAIN.replace('@', ""));
        let admin = Admin::new(&server.url());
        admin.run(&format!("CREATE ROLE {schema}_guest LOGIN"));
        let address_of = |name: &str| {
            let other = format!("//{schema}_{name}@");
            server.url().replace(&format!("//{USER}@"), &other)
        };
        let as_user = |name: &str| {
            world.configure("remote.url", &address_of(name));
            world.uwf(&["remote", "status"]).exits(1)
        };
        let said = as_user("nobody");
        said.says("refuses this user").says("createuser");
        let said = as_user("guest");
        let said = said
            .says("refuses this user")
            .says("uwf remote roles")
            .says(&format!("`GRANT {schema}_worker TO <user>`"));
        assert!(!said.stderr.contains("may only read"), "{}", said.stderr);
        let url = address_of("guest");
        let add = ["remote", "add", &url, "--schema", &new_schema()];
        let said = world.uwf(&add).exits(1).says("refuses this user");
        said.says("`GRANT CREATE ON DATABASE <database> TO <user>`");
        // Another program has a table in the schema that is called like one of a remote.
        let taken = new_schema();
        admin.run(&format!(
            "CREATE SCHEMA {taken}; CREATE TABLE {taken}.nodes (a int)"
        ));
        let add = ["remote", "add", &server.url(), "--schema", &taken];
        let said = world.uwf(&add).exits(1);
        said.says("its tables cannot be made in the schema")
            .says("`--schema`");
    });
}

#[test]
fn a_server_on_this_machine_that_wants_encryption_is_asked_for_it_by_the_address() {
    let Some(server) = own_server() else {
        return;
    };
    let admin = Admin::new(&server.url());
    let rules = "local all all trust\nhostssl all all all trust\n";
    std::fs::write(admin.row("SHOW hba_file"), rules).unwrap();
    admin.run("SELECT pg_reload_conf()");
    let world = World::new();
    let add = || world.uwf(&["remote", "add", &server.url()]);
    wait_until("the rules count", || add().stderr.contains("pg_hba.conf"));
    add()
        .exits(1)
        .says("no encryption")
        .says("?sslmode=verify-full");
}

#[test]
fn a_password_that_is_missing_is_asked_for_though_the_config_names_no_address() {
    let Some(server) = own_server() else {
        return;
    };
    let admin = Admin::new(&server.url());
    let rules = "local all all trust\nhost all all all scram-sha-256\n";
    std::fs::write(admin.row("SHOW hba_file"), rules).unwrap();
    admin.run("SELECT pg_reload_conf()");
    let world = World::new();
    let add = || world.uwf(&["remote", "add", &server.url()]).exits(1);
    wait_until("the rules count", || {
        add().stderr.contains("UWF_REMOTE_PASSWORD")
    });
    let said = add().says("`uwf remote add <url>` names another");
    assert!(!said.stderr.contains("config.yaml"), "{}", said.stderr);
}

#[test]
fn a_user_who_would_have_to_be_one_of_the_system_is_told_what_the_server_can_ask_for() {
    let Some(server) = own_server() else {
        return;
    };
    let admin = Admin::new(&server.url());
    let rules = "local all all peer\nhost all all all trust\n";
    std::fs::write(admin.row("SHOW hba_file"), rules).unwrap();
    admin.run("SELECT pg_reload_conf()");
    let world = World::new();
    let add = || world.uwf(&["remote", "add", &server.socket_url()]);
    wait_until("the rules count", || {
        add().stderr.contains("Peer authentication failed")
    });
    let said = add()
        .exits(1)
        .says("`local <database> <user> scram-sha-256`")
        .says("UWF_REMOTE_PASSWORD")
        .says("`uwf remote add postgres://<user>@127.0.0.1/<database>`");
    assert!(!said.stderr.contains("createuser"), "{}", said.stderr);
}

#[test]
fn a_socket_that_is_not_there_is_named() {
    let world = World::new();
    let folder = world.dir().display().to_string();
    for (port, file) in [("&port=6543", ".s.PGSQL.6543"), ("", ".s.PGSQL.5432")] {
        let url = format!("postgres:///d?host={folder}{port}&user=u");
        let said = world.uwf(&["remote", "add", &url]).exits(5);
        said.says(&format!("{folder}/{file}"));
    }
}

#[test]
fn an_address_that_cannot_be_used_is_not_put_into_the_config() {
    let world = World::new();
    for (url, said) in [
        ("postgres://u:secret-9@127.0.0.1/d", "has a password in it"),
        (
            "mysql://u@127.0.0.1/d",
            "no remote has an address with `mysql:`",
        ),
        ("s3://key:secret-9@bucket/p", "key"),
        (
            "postgres://u@h/d?sslrootcert=ca.pem",
            "is not an absolute path",
        ),
    ] {
        for set in [&["config", "set", "remote.url"][..], &["remote", "add"]] {
            let refused = world.uwf(&[set, &[url]].concat()).exits(1);
            assert!(!refused.stderr.contains("secret-9"), "{}", refused.stderr);
            refused.says(said);
        }
        world.uwf(&["config", "get", "remote.url"]).exits(1);
    }
    let schema = ["config", "set", "remote.schema"];
    for name in ["Bad Name", "1a", "pg_a", ""] {
        let set = world.uwf(&[&schema[..], &[name]].concat()).exits(1);
        set.says("is not the name of a schema");
    }
    world.uwf(&["config", "get", "remote.schema"]).exits(1);
    world.uwf(&[&schema[..], &["team_a"]].concat()).exits(0);
    world.uwf(&["config", "unset", "remote.schema"]).exits(0);
    let url = "postgres://u@127.0.0.1/d";
    world.uwf(&["config", "set", "remote.url", url]).exits(0);
    let missing = world.dir().join("ca.pem");
    let url = format!("{url}?sslrootcert={}", missing.display());
    let said = world.uwf(&["remote", "add", &url]).exits(1);
    assert!(!said.stderr.contains("refuses"), "{}", said.stderr);
    said.says("this machine cannot ask the remote")
        .says("ca.pem: No such file or directory");
}

#[test]
fn a_schema_may_be_called_like_a_word_of_sql_and_leaves_room_for_its_roles() {
    with_server(|server| {
        let machines = machines_in(server, "user");
        let thread = shared(&machines, "again");
        as_worker(&machines[1], server, "user");
        for world in &machines {
            world.step(&thread).exits(0);
        }
        agree(&machines, &thread, 2);
        machines[0].uwf(&["remote", "migrate"]).exits(0);
        machines[0].uwf(&["remote", "verify"]).exits(0);
        let add = ["remote", "add", &server.url(), "--schema", &"a".repeat(57)];
        machines[0].uwf(&add).exits(1).says("at most 56");
    });
}

/// Returns what the doctor finds out about the remote.
fn looked(world: &World, options: &[&str]) -> Option<Value> {
    let found = world.uwf(&[&["doctor"], options].concat()).json();
    let checks = found["checks"].as_array().unwrap().iter();
    let mut of_remote = checks.filter(|one| one["check"] == json!("remote"));
    of_remote.next().cloned()
}

#[test]
fn the_doctor_looks_at_the_remote() {
    let Some(server) = own_server() else {
        return;
    };
    let world = World::new();
    assert_eq!(looked(&world, &[]), None);
    let schema = new_schema();
    let world = machine(&server, &schema, &AGAIN.replace('@', ""));
    let found = looked(&world, &[]).unwrap();
    assert_eq!(found["status"], json!("ok"), "{found}");
    assert_eq!(looked(&world, &["--offline"]), None);
    let admin = Admin::new(&server.url());
    admin.run(&format!("UPDATE {schema}.remote SET version = 1"));
    let found = looked(&world, &[]).unwrap();
    assert_eq!(found["status"], json!("warning"), "{found}");
    let hint = found["hint"].as_str().unwrap();
    assert!(hint.contains("uwf remote migrate"), "{found}");
    server.pause();
    let found = looked(&world, &[]).unwrap();
    assert_eq!(found["status"], json!("error"), "{found}");
    let said = found["message"].as_str().unwrap();
    assert!(said.contains("cannot be reached"), "{found}");
}

#[test]
fn the_list_of_the_remote_chooses_by_the_words_that_it_shows() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let (busy, free) = (shared(&machines, "again"), shared(&machines, "again"));
        let mut working = at_work(one, &["thread", "step", &busy]);
        let listed = |status: &str| {
            let list = ["thread", "list", "--remote", "--status", status];
            let listed = other.uwf(&list).exits(0).json();
            let threads = listed.as_array().unwrap().iter();
            let mut ids: Vec<Value> = threads.map(|one| one["thread"].clone()).collect();
            ids.reverse();
            ids
        };
        assert_eq!(listed("leased"), [json!(busy)]);
        assert_eq!(listed("ready"), [json!(busy), json!(free)]);
        assert_eq!(listed("leased,blocked"), [json!(busy)]);
        assert!(listed("ended").is_empty());
        open_gate(one);
        assert!(working.wait().unwrap().success());
    });
}

#[test]
fn a_call_that_others_keep_waiting_too_long_says_so() {
    with_server(|server| {
        let schema = new_schema();
        let world = machine(server, &schema, &AGAIN.replace('@', ""));
        let admin = Admin::new(&server.url());
        admin.run(&format!(
            "BEGIN; LOCK TABLE {schema}.threads IN ACCESS EXCLUSIVE MODE"
        ));
        for (limit, problem, hint) in [
            (
                "lock_timeout",
                "other calls were in the way at the remote",
                "run the same command again",
            ),
            (
                "statement_timeout",
                "the server has cancelled the call",
                "SET statement_timeout",
            ),
        ] {
            let url = format!("{}?options=-c{limit}%3D50", server.url());
            world.configure("remote.url", &url);
            let refused = world.uwf(&["thread", "list", "--remote"]).exits(5);
            assert!(!refused.stderr.contains("cannot be reached"));
            refused.says(problem).says(hint);
        }
        admin.run("COMMIT");
    });
}

#[test]
fn a_lease_that_would_end_before_it_is_renewed_is_refused() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        one.uwf(&["config", "set", "remote.lease", "1ms"])
            .exits(1)
            .says("`1ms` is too short: `1s` is the least");
        one.configure("remote.lease", "1s");
        one.step(&thread).exits(0);
        // Somebody else may have written the file.
        let path = one.root().join("config.yaml");
        let config = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, config.replace("lease: 1s", "lease: 1ms")).unwrap();
        one.step(&thread).exits(1).says("too short");
    });
}

/// Checks that a call that works on a thread says at once that the server refuses to renew the lease.
fn a_refused_renewal_is_told(call: fn(thread: &str) -> Vec<&str>) {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, _] = &machines;
        let user = as_worker(one, server, &schema);
        let thread = shared(&machines, "again");
        one.configure("remote.lease", "2s");
        let admin = Admin::new(&server.url());
        close_gate(one);
        let (mut working, said) = with_messages(one, &call(&thread));
        wait_until("the agent works", || runs(one) == 1);
        admin.run(&format!("REVOKE {schema}_worker FROM {user}"));
        wait_until("it is told", || said().contains("cannot be renewed"));
        assert!(said().contains("refuses this user"), "{}", said());
        let shares = format!("`uwf thread step {thread}` shares it later");
        assert!(said().contains(&shares), "{}", said());
        let renewal = format!("UPDATE {schema}.threads SET lease_until =");
        let refused = || server.log().replace('"', "").matches(&renewal).count();
        wait_until("several more renewals are refused", || refused() >= 4);
        open_gate(one);
        assert_eq!(working.wait().unwrap().code(), Some(1));
        let told = said().matches("cannot be renewed").count();
        assert_eq!(told, 1, "{}", said());
        admin.run(&format!("GRANT {schema}_worker TO {user}"));
        one.step(&thread).exits(0);
        agree(&machines, &thread, 1);
        assert_eq!(runs(one), 1, "the step was not paid for twice");
    });
}

#[test]
fn a_lease_that_the_server_refuses_to_renew_is_told_while_the_agent_works() {
    a_refused_renewal_is_told(|thread| vec!["thread", "step", thread]);
}

#[test]
fn a_worker_that_has_enough_work_says_at_once_that_a_lease_is_not_renewed() {
    a_refused_renewal_is_told(|_| vec!["work", "--jobs", "1", "--idle", "1s"]);
}
