//! Steps, phases and what TypeScript does with their promises.

use agentos_core::entry::Entry;
use serde_json::json;

use crate::support::Bench;

#[test]
fn a_workflow_of_steps_returns_what_they_return() {
    let driven = Bench::body(
        r#"
        const plan = await ctx.run("plan", async () => {
            ctx.comment("planning", { by: "me" });
            const done = await ctx.shell("make plan");
            ctx.set("plan", done.stdout);
            return done.exitCode;
        });
        const [a, b] = await Promise.all([
            ctx.run("a", async (step) => (await step.shell("a")).stdout),
            ctx.run("b", async (step) => (await step.shell("b")).stdout),
        ]);
        ctx.commentExecution("done");
        return { plan, a, b, kept: ctx.get("plan"), has: ctx.has("nothing"), input: ctx.input.x };
        "#,
    )
    .input(json!({ "x": [1, 2] }))
    .run();
    let expected = json!({ "plan": 0, "a": "a", "b": "b", "kept": "make plan", "has": false, "input": [1, 2] });
    assert_eq!(*driven.output(), expected);
    assert_eq!(driven.count("step.ended"), 3);
    assert_eq!(driven.count("comment.added"), 2);
}

#[test]
fn steps_of_one_name_are_counted() {
    let driven = Bench::body(
        r#"
        let tries = 0;
        while (true) {
            tries += 1;
            const { stdout } = await ctx.run("implement", async () => ctx.shell(`try ${tries}`));
            const good = await ctx.run("review", async () => stdout === "try 3");
            if (good) break;
        }
        return tries;
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!(3));
    assert!(driven.performed[2].starts_with("/implement#3@1/shell:"), "{:?}", driven.performed);
}

#[test]
fn variables_that_a_body_assigns_survive_a_crash() {
    let driven = Bench::body(
        r#"
        let seen = 0;
        const list: string[] = [];
        await ctx.run("a", async () => { seen = (await ctx.shell("one")).stdout.length; list.push("a"); });
        await ctx.run("b", async () => { await ctx.shell("two"); list.push("b"); });
        return { seen, list };
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!({ "seen": 3, "list": ["a", "b"] }));
}

#[test]
fn the_loser_of_a_race_is_stopped_when_its_scope_ends() {
    let driven = Bench::body(
        r#"
        const won = await Promise.race([
            ctx.run("slow", async () => ctx.shell("hang")),
            ctx.run("fast", async () => (await ctx.shell("quick")).stdout),
        ]);
        return won;
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!("quick"));
    assert!(driven.count("operation.cancel_ordered") >= 1, "{:?}", driven.log);
}

#[test]
fn a_failed_step_is_tried_again_and_says_why() {
    let driven = Bench::body(
        r#"
        const seen: string[] = [];
        const result = await ctx.run("flaky", async () => {
            if (ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt}`);
            return ctx.attempt;
        }, { retry: { maxAttempts: 3, delay: 5, backoff: "fixed" }, onRetry: (error, attempt) => { seen.push(`${attempt}: ${error.message}`); } });
        return { result, seen };
        "#,
    )
    .run();
    let seen = ["2: attempt 1", "3: attempt 2"];
    assert_eq!(*driven.output(), json!({ "result": 3, "seen": seen }));
    assert_eq!(driven.count("attempt.started"), 3, "{:?}", driven.log);
}

#[test]
fn a_phase_groups_and_a_skipped_step_is_null() {
    let driven = Bench::body(
        r#"
        return await ctx.phase("build", async () => {
            const skipped = await ctx.run("a", async () => { ctx.skip("nothing to do"); });
            return [skipped, (await ctx.shell("x")).stdout];
        });
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!([null, "x"]));
}

#[test]
fn try_catch_and_finally_do_what_they_do() {
    let driven = Bench::body(
        r#"
        const seen: string[] = [];
        try {
            await ctx.run("a", async () => { await ctx.shell("break"); }, { retry: false });
        } catch (error) {
            seen.push(`caught ${error.message}`);
        } finally {
            await ctx.run("clean", async () => { await ctx.shell("rm"); });
            seen.push("cleaned");
        }
        return seen;
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!(["caught broken", "cleaned"]));
}

#[test]
fn cleanup_runs_when_a_run_is_cancelled() {
    let driven = Bench::body(
        r#"
        try {
            await ctx.run("wait", async () => { await ctx.sleep(1000); });
        } catch (error) {
            ctx.log.info(`${error instanceof CancelledError} ${error.name}`);
            throw error;
        } finally {
            await ctx.shell("rm -rf");
        }
        "#,
    )
    .cancel(10)
    .run();
    let outcome = driven.outcome.clone();
    assert!(
        matches!(outcome, Some(agentos_core::entry::RunOutcome::Cancelled { .. })),
        "{outcome:?}"
    );
    assert_eq!(driven.lines, ["Info true CancelledError"]);
    assert!(driven.performed.iter().any(|done| done.contains("shell:")), "{:?}", driven.performed);
}

#[test]
fn a_rejection_that_nobody_handles_fails_its_step() {
    let driven = Bench::body(
        r#"
        await ctx.run("a", async () => {
            ctx.shell("break");
            await ctx.shell("wait");
        }, { retry: false });
        "#,
    )
    .run();
    assert_eq!(driven.failure().message, "broken");
}

#[test]
fn the_log_knows_where_everything_was_asked_for() {
    let driven =
        Bench::body("await ctx.run(\"a\", async () => {\n  await ctx.shell(\"x\");\n});").run();
    let sites: Vec<String> = driven
        .log
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::StepRequested { site, .. } => site.as_ref(),
            Entry::OperationOrdered { site, .. } => site.as_ref(),
            _ => None,
        })
        .map(ToString::to_string)
        .collect();
    assert_eq!(sites, ["templates/test.ts:3:7", "templates/test.ts:4:9"]);
}

#[test]
fn what_is_not_awaited_is_warned_of_once_for_each_place() {
    let driven = Bench::body(
        r#"
        const helper = async () => { await ctx.sleep(86_400_000); };
        await ctx.run("a", async () => {
            for (let i = 0; i < 3; i += 1) ctx.waitFor(`never ${i}`);
            helper();
            ctx.run("inner", async () => { await ctx.waitFor("never again"); });
            await ctx.sleep(5);
        });
        await ctx.run("race", async () => {
            await Promise.race([ctx.sleep(1), ctx.waitFor("late"), ctx.run("slow", async () => ctx.waitFor("x"))]);
        });
        await ctx.run("handled", async () => {
            ctx.waitFor("y").catch(() => {});
            await ctx.sleep(1);
        });
        return "done";
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!("done"));
    let places: Vec<&str> =
        driven.warnings.iter().filter_map(|warning| warning.split("` (or").next()).collect();
    let expected = [
        "Warn templates/test.ts:6:44: `ctx.waitFor",
        "Warn templates/test.ts:8:13: `ctx.run",
        "Warn templates/test.ts:4:44: `ctx.sleep",
    ];
    assert_eq!(places, expected, "{:#?}", driven.warnings);
}
