//! What a workflow can't do: each line of the sandbox, tried.

use agentos_core::entry::RunOutcome;
use agentos_core::failure::FailureKind;
use agentos_script::definition::Definition;
use agentos_script::limits::Limits;
use agentos_script::sources::Sources;
use serde_json::json;

use crate::support::{Bench, Driven, definition, workflow};

/// Small limits, so that the tests are quick.
const TIGHT: Limits = Limits {
    memory_bytes: 16 * 1024 * 1024,
    stack_bytes: 256 * 1024,
    turn_ms: 60,
    turn_reactions: 20_000,
    turn_bytes: 1024 * 1024,
};

fn tight(body: &str) -> Driven {
    Bench::limited(definition(&workflow(body)), TIGHT).run_once()
}

/// Whoever breaks a limit is stopped, and none of its code notices.
fn is_stopped(body: &str) {
    let driven = tight(body);
    let failure = driven.failure();
    assert_eq!(failure.kind, FailureKind::Limit, "{body}: {failure:?}");
    let noticed = driven.performed.iter().any(|done| done.contains("noticed"));
    assert!(
        !noticed && driven.lines.is_empty(),
        "{body}: {:?} {:?}",
        driven.performed,
        driven.lines
    );
}

const NOTICED: &str = "console.log('noticed'); await ctx.shell('x', { name: 'noticed' });";

#[test]
fn an_endless_loop_is_stopped_wherever_it_stands() {
    is_stopped("while (true) {}");
    is_stopped("await ctx.shell('x'); while (true) {}");
    is_stopped("await ctx.run('a', async () => { while (true) {} });");
    is_stopped("while (true) await null;");
    is_stopped("const go = (): any => Promise.resolve().then(go); await go();");
    is_stopped("/(a+)+$/.test('a'.repeat(40) + 'b');");
    is_stopped(
        "[1].sort(() => { while (true) {} }); JSON.stringify({ toJSON() { while (true) {} } });",
    );
    is_stopped("return { toJSON() { while (true) {} } };");
    is_stopped("await { then() { while (true) {} } };");
    is_stopped(
        "throw { get message() { while (true) {} } } && new Proxy(new Error(), { get() { while (true) {} } });",
    );
}

#[test]
fn what_stops_a_loop_can_be_neither_caught_nor_outlived() {
    is_stopped(&format!("try {{ while (true) {{}} }} catch {{ {NOTICED} }}"));
    is_stopped(&format!("try {{ while (true) {{}} }} finally {{ {NOTICED} }}"));
    is_stopped(&format!(
        "await ctx.shell('x'); try {{ while (true) {{}} }} catch {{ {NOTICED} }} finally {{ {NOTICED} }}"
    ));
    is_stopped(&format!(
        "await (async () => {{ while (true) {{}} }})().catch(async () => {{ {NOTICED} }});"
    ));
    is_stopped(&format!(
        "await Promise.allSettled([(async () => {{ while (true) {{}} }})()]); {NOTICED}"
    ));
    is_stopped(&format!(
        "await ctx.run('a', async () => {{ while (true) {{}} }}).catch(async () => {{ {NOTICED} }});"
    ));
}

const MEMORY: &str = "const hog: any[] = []; while (true) hog.push(new Array(1000).fill(1.5));";
const STACK: &str = "const deep = (): any => [deep()]; deep();";

#[test]
fn memory_and_stack_that_run_out_can_not_be_caught() {
    let patient = Limits { turn_ms: 20_000, memory_bytes: 3 * 1024 * 1024, ..TIGHT };
    for bomb in [MEMORY, STACK] {
        for body in [
            bomb.to_owned(),
            format!("try {{ {bomb} }} catch {{ {NOTICED} }}"),
            format!("try {{ {bomb} }} catch (error) {{ {NOTICED} }}"),
            format!("try {{ {bomb} }} catch ({{ message }}: any) {{ {NOTICED} }}"),
            format!("try {{ {bomb} }} finally {{ return 1; }}"),
            format!("await (async () => {{ {bomb} }})().catch(async () => {{ {NOTICED} }});"),
            format!(
                "await ctx.run('a', async () => {{ {bomb} }}).catch(async () => {{ {NOTICED} }});"
            ),
            format!("await ctx.shell('x'); {bomb}"),
        ] {
            let driven = Bench::limited(definition(&workflow(&body)), patient).run_once();
            let limit = matches!(&driven.outcome, Some(RunOutcome::Failed { failure }) if failure.kind == FailureKind::Limit);
            assert!(limit, "{body}: {:?}", driven.outcome);
            assert!(driven.lines.is_empty(), "{body}: {:?}", driven.lines);
        }
    }
}

#[test]
fn whoever_hands_over_too_much_is_stopped() {
    let patient = Limits { turn_ms: 20_000, ..TIGHT };
    for body in [
        "while (true) console.log('x'.repeat(1000));",
        "while (true) ctx.log.info('');",
        "while (true) try { ctx.set('k', 'x'.repeat(1000)); } catch {}",
        "while (true) try { ctx.comment('x'.repeat(1000)); } catch {}",
        "while (true) ctx.shell('x'.repeat(1000)).catch(() => {});",
    ] {
        let driven = Bench::limited(definition(&workflow(body)), patient).run_once();
        assert_eq!(driven.failure().kind, FailureKind::Limit, "{body}: {:?}", driven.failure());
        assert!(driven.failure().message.contains("too much"), "{:?}", driven.failure());
    }
}

#[test]
fn deep_values_are_refused() {
    let body = "let deep: any = 1; for (let i = 0; i < 500; i++) deep = [deep]; return deep;";
    assert!(tight(body).failure().message.contains("can't be kept"));
    let body =
        "let deep: any = 1; for (let i = 0; i < 100000; i++) deep = [deep]; JSON.stringify(deep);";
    assert_eq!(tight(body).failure().kind, FailureKind::Limit);
}

#[test]
fn code_is_never_made_from_text() {
    for attempt in [
        "eval('1')",
        "(0, eval)('1')",
        "new Function('return 1')()",
        "Function('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "(function* () {}).constructor('yield 1')()",
        "(async function* () {}).constructor('yield 1')()",
        "Reflect.construct(Object.getPrototypeOf(() => {}).constructor, ['return 1'])()",
        "setTimeout('1', 0)",
    ] {
        let driven = tight(&format!("return (globalThis as any) && ({attempt});"));
        assert_eq!(driven.failure().kind, FailureKind::Error, "{attempt}");
    }
}

#[test]
fn nothing_of_the_machine_is_in_reach() {
    let driven = tight(
        "return ['process', 'require', 'fetch', 'Deno', 'XMLHttpRequest', 'WebSocket', 'performance', 'WeakRef',
            'FinalizationRegistry', 'SharedArrayBuffer', 'Atomics', 'os', 'std', 'gc', '__agentos', 'scriptArgs']
            .filter((name) => name in globalThis);",
    );
    assert_eq!(*driven.output(), json!([]));
}

#[test]
fn modules_outside_of_the_definition_can_not_be_imported() {
    for name in ["'node:' + 'fs'", "'./' + 'other.ts'", "'agentos:' + 'host'", "'/etc/' + 'passwd'"]
    {
        let driven = tight(&format!("await import({name});"));
        let message = &driven.failure().message;
        assert!(message.contains("not part of the workflow"), "{name}: {message}");
    }
    for name in ["node:fs", "agentos:host", "./other.ts"] {
        let sources = Sources::single("templates/a.ts", format!("import x from \"{name}\"; x;"));
        let error = Definition::compile(&sources).unwrap_err();
        assert!(error.message.contains(name), "{error}");
        assert_eq!(error.line, Some(1));
    }
}

#[test]
fn timers_throw_and_say_what_to_use() {
    for timer in ["setTimeout(() => {}, 1)", "setInterval(() => {}, 1)", "setImmediate(() => {})"] {
        let message = tight(&format!("(globalThis as any).{timer};")).failure().message.clone();
        assert!(message.contains("ctx.sleep"), "{message}");
    }
}

#[test]
fn a_broken_world_stays_its_own() {
    let breaking = r#"
        const wrong = () => { throw new Error("broken world"); };
        for (const proto of [Array.prototype, Object.prototype, Map.prototype, WeakMap.prototype, String.prototype] as any[]) {
            for (const name of Object.getOwnPropertyNames(proto)) {
                if (name !== "constructor" && name !== "__proto__") try { proto[name] = wrong; } catch {}
            }
        }
        (Array.prototype as any)[Symbol.iterator] = wrong;
        JSON.stringify = JSON.parse = Reflect.apply = Object.freeze = Promise.resolve = wrong as any;
        Promise.prototype.then = Promise.prototype.catch = wrong as any;
        (globalThis as any).Promise = (globalThis as any).Error = wrong;
        const { stdout } = await ctx.run("a", async () => await ctx.shell("x"));
        ctx.set("k", { a: 1 });
        ctx.log.info("still here", 1);
        let caught = "";
        try { await ctx.shell("break"); } catch (error: any) { caught = error.message; }
        return { stdout, k: ctx.get("k"), caught };
    "#;
    let driven = tight(breaking);
    assert_eq!(*driven.output(), json!({ "stdout": "x", "k": { "a": 1 }, "caught": "broken" }));
    assert_eq!(driven.lines, ["Info still here 1"]);
    let after = tight(
        "return [[1, 2].map((n) => n * 2), JSON.stringify({ a: 1 }), `${await Promise.resolve(3)}`];",
    );
    assert_eq!(*after.output(), json!([[2, 4], "{\"a\":1}", "3"]));
}

#[test]
fn a_ctx_can_not_be_forged() {
    let driven = tight(
        "const Ctx: any = ctx.constructor; const refused: string[] = [];
         for (const attempt of [() => new Ctx({}, 0, 1), () => Ctx.prototype.shell.call({}, 'x'),
            () => Object.create(ctx).shell('x'), () => { const { shell } = ctx; return (shell as any)('x'); }]) {
            try { attempt(); refused.push('no'); } catch (error: any) { refused.push(error.name); }
         }
         return refused;",
    );
    assert_eq!(*driven.output(), json!(vec!["TypeError"; 4]));
}

#[test]
fn loading_a_module_is_limited_too() {
    for top in ["while (true) {}", "while (true) await null;", "await new Promise(() => {});"] {
        let text = format!("{top}\n{}", workflow("return 1;"));
        let error = Definition::compile(&Sources::single("templates/a.ts", text)).unwrap_err();
        assert!(error.message.contains("loading the module"), "{top}: {error}");
    }
}
