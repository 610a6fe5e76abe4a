//! What is shown of a run that goes on with the workflow as it is now: remarks, times, and how it stands.

use serde_json::{Value, json};

use super::{Place, named};
use crate::support::{sqlite, wait_until};

/// The run's remarks, without those of the program.
fn remarks(run: &Value) -> Vec<(String, Value)> {
    let comments = run["comments"].as_array().expect("a list").iter();
    let own = comments.filter(|comment| {
        let text = comment["message"].as_str().expect("a text");
        ["first", "second", "new"].contains(&text)
    });
    let text = |comment: &Value| comment["message"].as_str().expect("a text").to_owned();
    own.map(|comment| (text(comment), comment["id"].clone())).collect()
}

fn words(run: &Value) -> Vec<String> {
    let mut words: Vec<String> = remarks(run).into_iter().map(|(text, _)| text).collect();
    words.sort();
    words
}

fn remarking(words: &[&str]) -> String {
    let remarks: String = words.iter().map(|word| format!("ctx.comment(\"{word}\");\n")).collect();
    let step = format!("await ctx.run(\"talk\", async (ctx) => {{\n{remarks}}});\n");
    format!("{remarks}{step}await ctx.waitFor(\"go\");")
}

#[test]
fn a_remark_is_found_again_by_its_words_and_a_new_one_is_added() {
    let place = Place::new(&remarking(&["first", "second"]));
    let run = place.until_it_waits();
    let before = remarks(&place.show(&run));
    assert_eq!(before.len(), 4);
    // What the step says was said when it was executed: its body is not executed again.
    let moves = [
        (&["new", "first", "second"][..], vec!["first", "first", "new", "second", "second"]),
        (&["second", "first"], vec!["first", "first", "new", "second", "second"]),
        (&["first", "first"], vec!["first", "first", "first", "new", "second", "second"]),
    ];
    for (words_now, expected) in moves {
        place.write(&remarking(words_now));
        place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
        place.wait(&run);
        let after = place.show(&run);
        assert_eq!(words(&after), expected, "under {words_now:?}");
        let after = remarks(&after);
        assert!(before.iter().all(|remark| after.contains(remark)), "{before:?} in {after:?}");
        place.call(&["db", "check"]).exits(0);
    }
}

#[test]
fn what_is_asked_for_newly_begins_when_the_source_was_switched() {
    let one = "await ctx.run(\"one\", async (ctx) => ctx.shell(\"true\"));\n";
    let place = Place::new(&format!("{one}await ctx.waitFor(\"go\");"));
    let run = place.until_it_waits();
    let before = place.show(&run);
    let two = "await ctx.run(\"two\", async () => 2);\n";
    let three = "await ctx.run(\"three\", async (ctx) => { ctx.comment(\"new\"); await ctx.shell(\"true\"); });\n";
    let body = |rest: &str| format!("{one}{two}{three}await ctx.waitFor(\"other\");\n{rest}");
    place.write(&body(""));
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    let after = place.show(&run);
    let time = |document: &Value, field: &str| document[field].as_str().expect("a time").to_owned();
    let step = |run: &Value, name: &str| -> Value {
        let steps = run["steps"].as_array().expect("a list").iter();
        steps.clone().find(|step| step["name"] == name).expect("it is there").clone()
    };
    let switched = time(&before["waiting"], "since");
    for name in ["two", "three", "wait: other"] {
        let step = step(&after, name);
        let started = time(&step, "started_at");
        assert!(started > switched, "{name} began at {started}, and not before {switched}");
        assert!(step["completed_at"].is_null() || time(&step, "completed_at") >= started, "{step}");
    }
    assert!(time(&after["waiting"], "since") > switched, "{after:#}");
    let comment = after["comments"].as_array().unwrap().iter().find(|it| it["message"] == "new");
    assert!(time(comment.expect("it is there"), "created_at") > switched);
    for field in ["started_at", "completed_at", "status", "duration"] {
        assert_eq!(step(&after, "one")[field], step(&before, "one")[field], "{field}");
    }
    place.call(&["db", "check"]).exits(0);
    // Another switch leaves all of that as it is.
    place.write(&body("return 1;"));
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    let again = place.show(&run);
    for name in ["one", "two", "three", "wait: other"] {
        for field in ["started_at", "completed_at", "duration", "status"] {
            assert_eq!(step(&again, name)[field], step(&after, name)[field], "{field} of {name}");
        }
    }
    assert_eq!(again["waiting"], after["waiting"]);
    place.call(&["db", "check"]).exits(0);
}

#[test]
fn a_run_that_only_waits_is_not_interrupted_by_the_move() {
    for (body, kind) in
        [("await ctx.waitFor(\"go\");", "signal"), ("await ctx.approve(\"Go on?\");", "approval")]
    {
        let place = Place::new(body);
        let run = place.call(&[&Place::RUN[..], &["--workspace", "none", "--detach"]].concat());
        let run = run.exits(0).out.trim().to_owned();
        let waits = || {
            wait_until("it waits, and no executor is left", || {
                place.show(&run)["waiting"]["kind"] == kind && place.stand.executors().is_empty()
            });
        };
        waits();
        place.write(&format!("{body}\nreturn 2;"));
        place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
        waits();
        assert_eq!(place.show(&run)["interrupted"], false, "{kind}");
        let told = place.call(&["status"]).exits(0).out;
        assert!(!told.contains("interrupted"), "{told}");
    }
}

#[test]
fn a_session_that_a_fork_has_from_a_moved_run_counts_once_after_a_migration() {
    let plan = "await ctx.runCli(\"plan\", claude, \"Do it\");\n";
    let wait = "await ctx.waitFor(\"go\");\n";
    let place = Place::new(&format!("{plan}{wait}"));
    place.stand.git(&place.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let run = place.call(&[&Place::RUN[..], &["--detach"]].concat());
    let run = run.exits(0).out.trim().to_owned();
    place.wait(&run);
    // It asks for the session later now, and has it already. So has its fork, which asks for it while it is itself at work.
    place.write(&format!("{wait}{plan}"));
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    let fork = place.call(&["fork", &run, "--from-step", "2", "--detach"]).exits(0);
    let fork = fork.out.trim().to_owned();
    place.wait(&fork);
    place.call(&["signal", &fork, "go"]).exits(0);
    let before = place.stand.until_status(&place.root, &fork, "COMPLETED");
    assert_eq!((&before["cost_usd"], &before["inherited_cost_usd"]), (&Value::Null, &json!(0.25)));
    wait_until("every process has ended", || place.stand.processes().is_empty());
    sqlite(&place.root.join(".agentos/issue_workflow.db"), include_str!("older.sql"));
    place.call(&["cancel", &run]).exits(0);
    place.stand.until_status(&place.root, &run, "CANCELLED");
    let after = place.show(&fork);
    for field in ["cost_usd", "inherited_cost_usd", "agent_sessions"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    // The other run is one that no earlier version has written.
    let checked = place.call(&["db", "check"]).out;
    assert!(!checked.contains(&fork), "{checked}");
}

/// The step and session of this name, each with its times.
fn work_of(run: &Value, name: &str) -> Vec<Value> {
    let rows = |list: &str| run[list].as_array().expect("a list").clone();
    let all = rows("steps").into_iter().chain(rows("agent_sessions"));
    let named = all.filter(|row| row["name"] == name);
    let times = named.map(|row| {
        ["started_at", "completed_at", "duration", "status"].map(|field| row[field].clone())
    });
    times.map(Value::from_iter).collect()
}

#[test]
fn work_that_is_asked_for_again_after_it_was_superseded_keeps_its_times() {
    let plan = "await ctx.run(\"plan\", async (ctx) => {\n\
                await ctx.runCli(\"plan\", claude, \"Do it\");\nctx.comment(\"first\");\n});\n";
    let go = "await ctx.waitFor(\"go\");\n";
    let place = Place::new(&format!("{plan}{go}"));
    let run = place.until_it_waits();
    let before = work_of(&place.show(&run), "plan");
    assert_eq!(before.len(), 2, "{before:?}");
    let resume = || {
        place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
        place.wait(&run);
    };
    place.write(go);
    resume();
    let mended = place.root.join("mended");
    let end = format!("await ctx.shell(\"test -e '{}'\");\n", mended.display());
    place.write(&format!("{go}{plan}await ctx.waitFor(\"more\");\n{end}"));
    resume();
    place.call(&["signal", &run, "go"]).exits(0);
    wait_until("it waits for more", || place.show(&run)["waiting"]["about"] == "more");
    let after = place.show(&run);
    assert_eq!(named(&after["steps"], "superseded")[0], ("plan", &json!(false)), "{after:#}");
    assert_eq!(work_of(&after, "plan"), before);
    assert_eq!(words(&after), ["first"], "it is the same remark");
    place.call(&["signal", &run, "more"]).exits(0);
    place.stand.until_status(&place.root, &run, "FAILED");
    assert_eq!(work_of(&place.show(&run), "plan"), before);
    place.call(&["db", "check"]).exits(0);
    // A retry has the work from this run, and a source that asks for it elsewhere does not change when it was done.
    std::fs::write(&mended, "").expect("a file");
    let retried = place.call(&["retry", &run, "--detach"]).exits(0).out.trim().to_owned();
    let retried = place.stand.until_status(&place.root, &retried, "COMPLETED");
    assert_eq!(work_of(&retried, "plan"), before);
    assert_eq!(named(&retried["agent_sessions"], "inherited"), [("plan", &json!(true))]);
    place.call(&["db", "check"]).exits(0);
}

#[test]
fn a_remark_that_the_new_source_makes_later_is_not_the_one_that_was_made_before() {
    let (remark, go) = ("ctx.comment(\"first\");\n", "await ctx.waitFor(\"go\");\n");
    let place = Place::new(&format!("{remark}{go}"));
    let run = place.until_it_waits();
    let before = remarks(&place.show(&run));
    place.write(&format!("{go}{remark}await ctx.waitFor(\"more\");"));
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    assert_eq!(remarks(&place.show(&run)), before, "what was said stays on record");
    place.call(&["signal", &run, "go"]).exits(0);
    wait_until("it waits for more", || place.show(&run)["waiting"]["about"] == "more");
    let after = place.show(&run);
    assert_eq!(words(&after), ["first", "first"]);
    assert_eq!(remarks(&after)[0], before[0]);
    place.call(&["db", "check"]).exits(0);
}

#[test]
fn what_becomes_of_operations_is_told_by_what_they_do() {
    let step = |body: &str| format!("await ctx.run(\"build\", async (ctx) => {{\n{body}}});\n");
    let (one, two) = ("await ctx.shell(\"echo one\");\n", "await ctx.shell(\"echo two\");\n");
    let place =
        Place::new(&format!("{one}{}", step(&format!("{two}await ctx.waitFor(\"go\");\n"))));
    let run = place.until_it_waits();
    place.write(&step("await ctx.waitFor(\"go\");\n"));
    let in_a_step = "`shell: echo two` of the step `build` had finished and is not asked for any more; \
                     its answer is kept";
    let outside =
        "`shell: echo one` had finished and is not asked for any more; its answer is kept";
    let dry = place.call(&["resume", &run, "--latest", "--dry-run", "--json"]).exits(0).document();
    assert_eq!(dry["notices"], json!([outside, in_a_step]));
    let told = place.call(&["resume", &run, "--latest", "--detach"]).exits(0).err;
    assert!(told.contains(in_a_step) && told.contains(outside), "{told}");
}
