//! What an error looks like on its way through the log, and where it says it comes from.

use agentos_core::failure::FailureKind;
use serde_json::{Value, json};

use crate::support::Bench;

/// File and line of a failure: the column is the engine's business.
fn line(detail: &Value) -> &str {
    let at = detail["at"].as_str().expect("a place");
    at.rsplit_once(':').expect("a column").0
}

#[test]
fn a_thrown_error_shows_its_line() {
    let driven = Bench::body(
        "interface Plan { x: number }\nconst build = (plan: Plan) => {\n  throw new RangeError(`bad ${plan.x}`);\n};\n\
         await ctx.run(\"a\", async () => { build({ x: 5 }); }, { retry: false });",
    )
    .run();
    let failure = driven.failure();
    assert_eq!(failure.message, "bad 5");
    let detail = failure.detail.clone().expect("a detail");
    assert_eq!(detail["name"], json!("RangeError"));
    assert_eq!(line(&detail), "templates/test.ts:5");
    let stack = detail["stack"].as_str().expect("a stack");
    assert!(stack.contains("build (templates/test.ts:5:"), "{stack}");
    assert!(stack.contains("templates/test.ts:7:"), "{stack}");
    assert!(!stack.contains("agentos:"), "{stack}");
}

#[test]
fn a_line_is_found_after_an_await_too() {
    let driven = Bench::body(
        "await ctx.shell(\"x\");\nconst nothing: any = undefined;\nreturn nothing.field;",
    )
    .run();
    let failure = driven.failure();
    assert_eq!(line(failure.detail.as_ref().expect("a detail")), "templates/test.ts:5");
}

#[test]
fn causes_and_fields_survive() {
    let driven = Bench::body(
        r#"
        class Odd extends Error { code = 7; name = "Odd"; }
        try {
            await ctx.run("a", async () => {
                try { await ctx.shell("break"); }
                catch (error) { throw new Odd("wrapped", { cause: error }); }
            }, { retry: false });
        } catch (error: any) {
            return [error.name, error.message, error.code, error.cause.message, error instanceof Error];
        }
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!(["Odd", "wrapped", 7, "broken", true]));
}

#[test]
fn an_error_that_is_thrown_on_keeps_its_first_place() {
    let driven = Bench::body(
        "try {\n  await ctx.run(\"a\", async () => {\n    throw new Error(\"first\");\n  }, { retry: false });\n\
         } catch (error) {\n  throw error;\n}",
    )
    .run();
    let detail = driven.failure().detail.clone().expect("a detail");
    assert_eq!(line(&detail), "templates/test.ts:5");
}

#[test]
fn a_step_is_not_tried_again_after_a_non_retryable_error() {
    let driven =
        Bench::body(r#"await ctx.run("a", async () => { throw new NonRetryableError("no"); });"#)
            .run();
    assert_eq!(driven.failure().kind, FailureKind::NonRetryable);
    assert_eq!(driven.count("attempt.started"), 1);
}

#[test]
fn anything_can_be_thrown() {
    for (thrown, message) in [
        ("'text'", "text"),
        ("7", "7"),
        ("undefined", "undefined"),
        ("{ a: 1 }", "{\"a\":1}"),
        ("new Proxy(new Error('x'), { get() { throw 1 } })", "an error that can't be described"),
    ] {
        let driven = Bench::body(&format!("throw {thrown};")).run();
        assert_eq!(driven.failure().message, message, "{thrown}");
    }
}

#[test]
fn whatever_form_a_catch_has_it_catches() {
    let driven = Bench::body(
        "const seen: any[] = [];\n\
         try { throw new Error('a'); } catch { seen.push(0); }\n\
         try { throw new Error('b'); } catch (error: any) { seen.push(error.message); }\n\
         try { throw { a: 1, b: [2, 3] }; } catch ({ a, b: [x, ...rest] }: any) { seen.push(a, x, rest); } finally { seen.push('f'); }\n\
         try { try { throw 'c'; } finally { seen.push('g'); } } catch (error) { seen.push(error); }\n\
         return seen;",
    )
    .run();
    assert_eq!(*driven.output(), json!([0, "b", 1, 2, [3], "f", "g", "c"]));
}

#[test]
fn a_timeout_has_a_class_of_its_own() {
    let driven = Bench::body(
        r#"
        try { await ctx.waitFor("never", { timeout: 5 }); }
        catch (error: any) { return [error instanceof TimeoutError, error.kind, error.name]; }
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!([true, "timeout", "TimeoutError"]));
}

#[test]
fn what_cannot_be_written_as_json_is_refused() {
    for body in [
        "return 1n;",
        "const a: any = {}; a.a = a; return a;",
        "await ctx.run('a', async () => 1n);",
        "ctx.set('k', 1n);",
        "await ctx.invoke('w', 1n);",
    ] {
        let driven = Bench::body(body).run();
        let failure = driven.failure();
        assert!(failure.message.contains("can't be written as JSON"), "{body}: {failure:?}");
    }
}
