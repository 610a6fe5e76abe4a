//! `agentos query`: SQL over all worktrees, which changes nothing.

use agentos_testing::repo::snapshot;
use serde_json::{Value, json};

use super::{Site, text};
use crate::support::{Done, name};

impl Site {
    fn query(&self, arguments: &[&str]) -> Done {
        self.stand.run(&self.root, &[&["query"], arguments].concat())
    }

    fn items(&self, sql: &str) -> Value {
        self.query(&["--json", sql]).exits(0).document()["items"].clone()
    }
}

#[test]
fn one_question_is_answered_from_every_worktree() {
    let site = Site::new();
    let one = site.worktree("one");
    let (here, there) = (site.greet(&site.root), site.greet(&one));
    let count =
        "select worktree, status, count(*) as runs from workflow_runs group by 1, 2 order by 1";
    let row = |worktree: &str| json!({ "worktree": worktree, "status": "COMPLETED", "runs": 1 });
    assert_eq!(site.items(count), json!([row("main"), row("one")]));
    let csv = site.query(&["--csv", count]).exits(0).out;
    assert_eq!(csv, "worktree,status,runs\r\nmain,COMPLETED,1\r\none,COMPLETED,1\r\n");
    let table = site.query(&[count]).exits(0).out;
    assert_eq!(
        table,
        "worktree  status     runs\nmain      COMPLETED     1\none       COMPLETED     1\n"
    );
    // Rows are as in the documents: ids, JSON, moments.
    let sql = format!(
        "select r.id, r.started_at, r.input, s.execution_id, s.name from workflow_runs r \
         join workflow_steps s on s.execution_id = r.id where r.run_id = '{}'",
        name(&there)
    );
    let found = &site.items(&sql)[0];
    assert_eq!((&found["id"], &found["execution_id"]), (&there["id"], &there["id"]));
    assert_eq!(found["started_at"], there["started_at"]);
    let input: Value = serde_json::from_str(text(&found["input"])).expect("JSON");
    assert_eq!((&input, &found["name"]), (&there["input"], &json!("greet")));
    let files = site.items("select distinct database from workflow_runs order by 1");
    assert_eq!(files.as_array().expect("a list").len(), 2);
    assert_eq!(
        site.items("select name from worktrees order by 1"),
        json!([{"name": "main"}, {"name": "one"}])
    );
    assert_ne!(here["id"], there["id"]);
}

#[test]
fn rows_are_counted_wherever_they_are() {
    let site = Site::new();
    site.greet(&site.root);
    let (yes, one) = (json!([{ "yes": 1 }]), json!([{ "runs": 1 }]));
    for _ in 0..2 {
        for table in ["workflow_runs", "workflow_steps", "projects"] {
            let exists = format!("select exists(select 1 from {table}) as yes");
            assert_eq!(site.items(&exists), yes, "{table}");
            site.query(&[&format!("select 1 from {table} limit 1")]).exits(0);
            site.query(&[&format!("select count(*) from {table}")]).exits(0);
        }
        let runs = "select count(*) as runs from workflow_runs where worktree = 'main'";
        assert_eq!(site.items(runs), one);
        // With one database, and with two.
        if !site.root.join("../one").exists() {
            assert_eq!(site.items("select count(*) as runs from workflow_runs"), one);
            site.greet(&site.worktree("one"));
        }
    }
}

#[test]
fn more_databases_than_sqlite_attaches_are_one_table_too() {
    let site = Site::new();
    site.greet(&site.root);
    let count = 13;
    for number in 0..count {
        site.greet(&site.worktree(&format!("tree-{number}")));
    }
    let found = site.items(
        "select count(distinct r.id) as runs, count(distinct r.worktree) as worktrees, count(distinct s.database) as files \
         from workflow_runs r join workflow_steps s on s.execution_id = r.id",
    );
    let all = count + 1;
    assert_eq!(found, json!([{ "runs": all, "worktrees": all, "files": all }]));
}

#[test]
fn nothing_can_be_changed_and_mistakes_are_pointed_at() {
    let site = Site::new();
    let run = site.greet(&site.root);
    let before = snapshot(&site.root);
    for sql in [
        "delete from workflow_runs",
        "update workflow_runs set status = 'FAILED'",
        "insert into workflow_comments values (1)",
        "create table x (y)",
        "drop table workflow_runs",
        "pragma journal_mode = delete",
        "attach 'x.db' as x",
        "vacuum",
        "begin",
        "",
        "with x as (select 1) delete from workflow_runs",
        "explain delete from workflow_runs",
        "select 1; delete from workflow_runs",
        "select 1; select 2",
    ] {
        let refused = site.query(&[sql]).exits(4);
        assert!(refused.err.contains("there is one SELECT"), "{sql}: {refused:#?}");
    }
    let told = site.query(&["select run_id\nfrom workflow_runz"]).exits(2);
    assert!(told.err.contains("no such table: workflow_runz"), "{told:#?}");
    let told = site.query(&["select run_id,\n  colour from workflow_runs"]).exits(2);
    assert!(told.err.contains("line 2, column 3") && told.err.contains("\n    ^"), "{told:#?}");
    let endless =
        "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    let told = site.query(&["--timeout", "1", endless]).exits(1);
    assert!(told.err.contains("took too long"), "{told:#?}");
    let few = site.query(&["--limit", "1", "select 1 union all select 2"]).exits(0);
    assert!(few.err.contains("more rows"), "{few:#?}");
    assert!(before == snapshot(&site.root), "something was changed");
    assert_eq!(site.stand.show(&site.root, &name(&run))["status"], "COMPLETED");
    let schema = site.query(&["--schema"]).exits(0).out;
    for table in ["workflow_runs", "workflow_steps", "agent_sessions", "workspaces", "worktrees"] {
        assert!(schema.lines().any(|line| line.starts_with(table)), "{table}");
    }
}

#[test]
fn copies_are_counted_once_and_broken_databases_are_named() {
    let site = Site::new();
    let (one, two) = (site.worktree("one"), site.worktree("two"));
    site.greet(&site.root);
    for folder in [&one, &two] {
        std::fs::create_dir_all(folder.join(".agentos")).expect("a folder");
    }
    std::fs::copy(site.root.join(super::DATABASE), one.join(super::DATABASE)).expect("a copy");
    std::fs::write(two.join(super::DATABASE), "rubbish ".repeat(100)).expect("a file");
    let sql = "select (select count(*) from workflow_runs) as runs, (select count(*) from workflow_steps) as steps";
    let found = site.query(&["--json", sql]).exits(0).document();
    assert_eq!(found["items"], json!([{ "runs": 1, "steps": 1 }]));
    assert_eq!(found["unreadable"].as_array().expect("a list").len(), 1);
}
