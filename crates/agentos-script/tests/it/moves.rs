//! Code that is changed under a run.

use agentos_core::codec::Chunk;
use agentos_core::entry::Record;
use agentos_core::rebase::{RebaseError, Rebased, switch};
use agentos_core::time::Timestamp;
use agentos_script::limits::Limits;
use agentos_script::run::RunInfo;
use serde_json::{Value, json};

use crate::support::{Bench, START, definition, workflow};

/// A run of the old body that waits for `go`.
fn waiting(old: &str) -> Vec<Record> {
    Bench::body(old).run().log
}

fn moved(log: &[Record], new: &str) -> Result<Rebased, RebaseError> {
    let definition = definition(&workflow(new));
    let hash = definition.hash().to_owned();
    switch(log, hash, Timestamp(START + 100), || {
        definition.program(RunInfo::default(), Limits::default())
    })
}

/// Moves a run, and lets it go on to its end.
fn ended(old: &str, new: &str) -> Value {
    let log = waiting(old);
    let chunks = moved(&log, new).expect("the run can be moved").chunks;
    let log: Vec<Record> =
        log.into_iter().chain(chunks.into_iter().flat_map(Chunk::into_records)).collect();
    let driven = Bench::body(new).signal(200, "go", Value::Null).drive(log);
    driven.output().clone()
}

const OLD: &str = "const a = await ctx.run('a', async () => (await ctx.shell('one')).stdout);\nawait ctx.waitFor('go');\nreturn a;";

#[test]
fn the_same_source_changes_nothing() {
    let log = waiting(OLD);
    let rebased = moved(&log, OLD).expect("the run can be moved");
    assert_eq!(rebased.notices, []);
    assert_eq!(ended(OLD, OLD), json!("one"));
}

#[test]
fn a_finished_step_keeps_its_result_when_its_body_changes() {
    let new = "const a = await ctx.run('a', async () => (await ctx.shell('other')).stdout + '!');\n\
               await ctx.waitFor('go');\nconst b = await ctx.run('b', async () => (await ctx.shell('two')).stdout);\nreturn [a, b];";
    assert_eq!(ended(OLD, new), json!(["one", "two"]));
}

#[test]
fn how_a_body_is_laid_out_is_no_change() {
    let old = "let n = 0;\nawait ctx.run('a', async () => { n += 1; });\nawait ctx.waitFor('go');\nreturn n;";
    let new = "let n = 0;\n// a remark\nawait ctx.run('a', async () => {\n    n += 1; // more\n});\nawait ctx.waitFor('go');\nreturn n + 1;";
    assert_eq!(ended(old, new), json!(2));
}

#[test]
fn a_changed_body_that_writes_outside_stops_the_move_with_its_line() {
    let old = "let n = 0;\nawait ctx.run('a', async () => { n += 1; });\nawait ctx.waitFor('go');\nreturn n;";
    for (new, line) in [
        (old.replace("n += 1", "n += 2"), "templates/test.ts:4:34"),
        (
            old.replace("async () => { n += 1; }", "async () => { return 1; }"),
            "templates/test.ts:4:34",
        ),
    ] {
        match moved(&waiting(old), &new) {
            Err(RebaseError::Tied { site, .. }) => assert_eq!(site.as_str(), line, "{new}"),
            other => panic!("{new}: {other:?}"),
        }
    }
    let old = "await ctx.run('a', async (step) => { ctx.set('k', 1); });\nawait ctx.waitFor('go');";
    let new = old.replace("1", "2");
    let refused = moved(&waiting(old), &new);
    assert!(matches!(refused, Err(RebaseError::Tied { .. })), "{refused:?}");
}

#[test]
fn a_name_that_stands_for_something_else_stops_the_move_with_both_lines() {
    let old = "await ctx.run('a', async () => {});\nawait ctx.shell('x', { name: 'b' });\nawait ctx.waitFor('go');";
    let new = "await ctx.phase('a', async () => {});\n\nawait ctx.shell('x', { name: 'b' });\nawait ctx.waitFor('go');";
    let refused = moved(&waiting(old), new).unwrap_err();
    assert!(matches!(refused, RebaseError::OtherKind { .. }), "{refused:?}");
    let said = refused.to_string();
    assert!(said.contains("templates/test.ts:3:7"), "{said}");
}

#[test]
fn changed_arguments_are_told_of() {
    let old = "const a = await ctx.shell('one', { name: 'n' });\nawait ctx.waitFor('go');\nreturn a.stdout;";
    let new = old.replace("'one'", "'two'");
    let rebased = moved(&waiting(old), &new).expect("the run can be moved");
    assert_eq!(rebased.notices.len(), 1, "{:?}", rebased.notices);
    assert_eq!(ended(old, &new), json!("one"));
}
