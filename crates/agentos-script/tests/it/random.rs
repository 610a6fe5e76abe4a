//! Programs of the simulation's language, printed as TypeScript.
//!
//! The language has an interpreter with the timing of JavaScript. So each program must leave the same log, whether it is
//! interpreted or runs as TypeScript; and whatever it does, a crash changes nothing.

use std::rc::Rc;

use agentos_core::entry::{Record, RunOutcome, RunStarted};
use agentos_core::id::{RunId, Seed};
use agentos_core::name::Name;
use agentos_testing::script::{Generator, Node, Script, Shape};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Bench, definition, workflow};

/// What sees everything that a program sees, and mixes it into one number.
const ACCOUNT: &str = "
const account = { n: 1 };
const mix = (n: number, by = 31) => { account.n = (account.n * by + n) % 10007; };
const seen = (v: any): number => typeof v === 'number' ? v : v?.approved === true ? 1 : 0;
";

fn program(node: &Node) -> String {
    workflow(&format!("{ACCOUNT}await {};\nreturn account.n;", call(node)))
}

/// A call of the async function for a node.
fn call(node: &Node) -> String {
    format!("(async () => {{ {} }})()", body(node))
}

/// The body of the async function for a node.
fn body(node: &Node) -> String {
    let calls = |of: &[Node]| of.iter().map(call).collect::<Vec<_>>().join(", ");
    match node {
        Node::Seq { of } => {
            let awaits: String =
                of.iter().map(|node| format!("last = await {}; ", call(node))).collect();
            format!("let last: any = null; {awaits}return last;")
        }
        Node::Repeat { times, body } => {
            format!("for (let i = 0; i < {times}; i++) await {}; return 0;", call(body))
        }
        Node::All { of } => {
            format!("const all = [{}]; await Promise.all(all); return all.length;", calls(of))
        }
        Node::Race { of } => format!("return Promise.race([{}]);", calls(of)),
        Node::Try { body, rescue, cleanup } => {
            let rescue = rescue.as_ref().map_or_else(
                || "mix(1, 1); tried = -1;".to_owned(),
                |rescue| format!("tried = await {};", call(rescue)),
            );
            format!(
                "let tried: any; try {{ tried = await {}; }} catch {{ {rescue} }} finally {{ await {}; }} return tried;",
                call(body),
                call(cleanup)
            )
        }
        Node::Step { name, body: inner, attempts, delay, timeout, .. } => {
            let timeout =
                if *timeout > 0 { format!(", timeout: {timeout}") } else { String::new() };
            format!(
                "return ctx.run('{name}', async () => {{ {} }}, {{ retry: {{ maxAttempts: {attempts}, backoff: 'fixed', \
                 delay: {delay}, maxDelay: {delay}, jitter: false }}{timeout} }});",
                body(inner)
            )
        }
        Node::Phase { name, body: inner } => {
            format!("return ctx.phase('{name}', async () => {{ {} }});", body(inner))
        }
        Node::Throw { retryable: true } => "throw new Error('thrown');".to_owned(),
        Node::Throw { retryable: false } => "throw new NonRetryableError('thrown');".to_owned(),
        Node::Skip => "ctx.skip('nothing to do');".to_owned(),
        Node::Never => "await new Promise(() => {});".to_owned(),
        node => operation(node),
    }
}

fn operation(node: &Node) -> String {
    let answered = |call: String| format!("const v: any = await {call}; mix(seen(v)); return v;");
    match node {
        Node::Shell { name } => answered(format!("ctx.shell('{name}', {{ name: '{name}' }})")),
        Node::Artifact { name } => answered(format!("ctx.artifact('{name}', {{ content: '' }})")),
        Node::Invoke { name } => answered(format!("ctx.invoke('{name}', {{}})")),
        Node::Approve { name, ms } => {
            answered(format!("ctx.approve('may it go on?', {{ name: '{name}', timeout: {ms} }})"))
        }
        Node::Forget { name, caught } => {
            let caught = if *caught { ".catch(() => {})" } else { "" };
            format!("ctx.shell('{name}', {{ name: '{name}' }}){caught}; return 0;")
        }
        Node::Sleep { ms, .. } => format!("return ctx.sleep({ms});"),
        Node::Wait { name, ms } => {
            format!("const v = await ctx.waitFor('{name}', {{ timeout: {ms} }}); return v;")
        }
        Node::Set { key, value } => {
            format!("ctx.set('{key}', {value} + account.n % 7); return 0;")
        }
        Node::Get { key } => {
            format!("const v: any = ctx.get('{key}') ?? 0; mix(v); return v;")
        }
        Node::Delete { key } => format!("ctx.delete('{key}'); return 0;"),
        Node::Random => "mix(Math.trunc(Math.random() * 1e6)); return 0;".to_owned(),
        Node::Now => "mix(Date.now()); return 0;".to_owned(),
        Node::Comment { on_run: true } => {
            "ctx.commentExecution(`account ${account.n}`); return 0;".to_owned()
        }
        Node::Comment { on_run: false } => {
            "ctx.comment(`account ${account.n}`); return 0;".to_owned()
        }
        Node::Log => "ctx.log.info(`account ${account.n}`); return 0;".to_owned(),
        other => panic!("{other} is not an operation"),
    }
}

/// The same program with the names that TypeScript has: sleeps can't be named there.
fn spoken(node: Node) -> Node {
    let each = |of: Vec<Node>| of.into_iter().map(spoken).collect();
    let boxed = |node: Box<Node>| Box::new(spoken(*node));
    match node {
        Node::Sleep { ms, .. } => Node::Sleep { name: "sleep".into(), ms },
        Node::Pure { .. } => Node::Sleep { name: "sleep".into(), ms: 0 },
        Node::Seq { of } => Node::Seq { of: each(of) },
        Node::All { of } => Node::All { of: each(of) },
        Node::Race { of } => Node::Race { of: each(of) },
        Node::Repeat { times, body } => Node::Repeat { times, body: boxed(body) },
        Node::Phase { name, body } => Node::Phase { name, body: boxed(body) },
        Node::Step { name, body, attempts, delay, timeout, own } => {
            Node::Step { name, body: boxed(body), attempts, delay, timeout, own }
        }
        Node::Try { body, rescue, cleanup } => {
            Node::Try { body: boxed(body), rescue: rescue.map(boxed), cleanup: boxed(cleanup) }
        }
        other => other,
    }
}

fn generated(seed: u64) -> Node {
    spoken(Generator::new(seed, Shape::Everything).invoking("child").program())
}

fn with_mail(mut bench: Bench, seed: u64) -> Bench {
    bench = bench.chance(seed);
    for at in [2, 5, 9] {
        bench = bench.signal(at, if at == 5 { "ev1" } else { "ev0" }, json!(at));
    }
    if seed.is_multiple_of(4) {
        bench = bench.cancel(i64::try_from(seed % 40).unwrap_or(0));
    }
    bench
}

fn interpreted(node: &Node, seed: u64) -> Bench {
    let node = Rc::new(node.clone());
    let start = RunStarted {
        seed: Seed(42),
        timeout_ms: Some(agentos_core::time::Millis::new(3_600_000)),
        ..RunStarted::new(RunId(Uuid::from_u128(7)), Name::new("test").expect("a name"))
    };
    let open = move || -> Box<dyn agentos_core::program::Program> {
        Box::new(Script::new(Rc::clone(&node)))
    };
    with_mail(Bench::of_program(Box::new(open), start), seed)
}

/// What both must have in common: everything but how a language says things.
fn comparable(log: &[Record]) -> Vec<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for key in ["args", "body", "site", "definition", "detail"] {
                    fields.remove(key);
                }
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let entry = |record: &Record| {
        let mut value = serde_json::to_value(&record.entry).expect("an entry is JSON");
        strip(&mut value);
        json!([record.at.0, value])
    };
    log.iter().map(entry).collect()
}

#[test]
fn a_program_leaves_the_same_log_interpreted_and_as_typescript() {
    for seed in 0..120 {
        let node = generated(seed);
        let expected = interpreted(&node, seed).run_once();
        let text = program(&node);
        let found = with_mail(Bench::new(definition(&text)), seed).run_once();
        let (expected_log, found_log) = (comparable(&expected.log), comparable(&found.log));
        for (nth, (expected, found)) in expected_log.iter().zip(&found_log).enumerate() {
            assert_eq!(found, expected, "entry {nth} of program {seed}: {node}\n{text}");
        }
        assert_eq!(found_log.len(), expected_log.len(), "program {seed}: {node}\n{text}");
        assert_eq!(found.lines, expected.lines, "program {seed}");
    }
}

#[test]
fn any_program_goes_on_after_a_crash_at_any_commit() {
    let mut ends = [0; 4];
    for seed in 200..260 {
        let bench = with_mail(Bench::new(definition(&program(&generated(seed)))), seed);
        let end = match bench.run().outcome {
            Some(RunOutcome::Completed { .. }) => 0,
            Some(RunOutcome::Failed { .. }) => 1,
            Some(RunOutcome::Cancelled { .. }) => 2,
            Some(RunOutcome::TimedOut { .. }) => 3,
            None => panic!("program {seed} does not end"),
        };
        ends[end] += 1;
    }
    assert!(ends[..3].iter().all(|count| *count > 3), "{ends:?}");
}
