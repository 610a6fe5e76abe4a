//! A TypeScript workflow by itself: no engine, no store, one thread.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{Entry, OperationResult, Record};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::{RunId, Seed, Seq};
use agentos_core::journal::Journal;
use agentos_core::time::Timestamp;
use agentos_script::definition::Definition;
use agentos_script::limits::Limits;
use agentos_script::program::ScriptProgram;
use agentos_script::run::RunInfo;
use agentos_script::sources::Sources;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const START: &str = "instance to its first wait";
pub(crate) const NODE: &str = "node -e 0";

const OPERATIONS: u32 = 10_000;
const INSTANCES: usize = 1_000;

const WAITS: &str = "await ctx.run('build', async () => ctx.shell('make'));";
const LOOP: &str = "for (let i = 0; i < ctx.input.n; i++) await ctx.shell('x', { name: 'x' });";
const STEPS: &str = "for (let i = 0; i < ctx.input.n; i++) await ctx.run('s', async () => ctx.shell('x', { name: 'x' }));";

fn definition(body: &str) -> Arc<Definition> {
    let text = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"bench\" }}, async (ctx: any) => {{ {body} }});"
    );
    Arc::new(
        Definition::compile(&Sources::single("templates/bench.ts", text)).expect("it compiles"),
    )
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

fn micros(act: impl FnOnce()) -> f64 {
    let before = thread_time();
    act();
    (thread_time() - before).as_secs_f64() * 1e6
}

fn run_start(definition: &Definition, n: u32) -> Vec<Record> {
    let run = RunId(Uuid::from_u128(1));
    let start = definition.run_started(run, json!({ "n": n }), Seed(1), Timestamp(0));
    vec![Record::new(Seq(0), Timestamp(0), Entry::RunStarted(start.expect("a name")))]
}

fn replay(definition: &Arc<Definition>, log: Vec<Record>) -> Execution<ScriptProgram> {
    let program = definition.program(RunInfo::default(), Limits::default());
    let journal = Journal::fold(log).expect("the log folds");
    let options = Options { was_parked: true, ..Options::default() };
    let replayed = Execution::replay(program, journal, options, Timestamp(1));
    replayed.expect("the program goes with its log").0
}

/// The log of a whole run, every command answered at once.
fn recorded(definition: &Arc<Definition>, n: u32) -> Vec<Record> {
    let mut log = run_start(definition, n);
    let program = definition.program(RunInfo::default(), Limits::default());
    let journal = Journal::fold(log.clone()).expect("the log folds");
    let replayed = Execution::replay(program, journal, Options::default(), Timestamp(0));
    let (mut execution, mut turn) = replayed.expect("a run");
    loop {
        let happenings: Vec<Happening> = turn.effects.drain(..).filter_map(answered).collect();
        let (ended, more) = (turn.standing.is_ended(), turn.more);
        log.extend(turn.chunk.into_records());
        if ended {
            return log;
        }
        assert!(more || !happenings.is_empty(), "the run waits for nothing");
        turn = execution.advance(happenings, Timestamp(1)).expect("a turn");
    }
}

fn answered(effect: Effect) -> Option<Happening> {
    match effect {
        Effect::Perform { operation, r#try, .. } => {
            let value: Value = json!({ "stdout": "x", "stderr": "", "exit_code": 0 });
            let result = OperationResult::Ok { value };
            Some(Happening::Ended { operation, r#try, result })
        }
        Effect::Stop { .. } => None,
    }
}

/// Resident memory of this process, in KiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(f64::NAN)
}

/// Processor time of a fresh Node that does nothing; none if there is no Node.
fn node() -> Option<f64> {
    let script = "TIMEFORMAT='%U %S'; time node -e 0";
    let output = Command::new("bash").args(["-c", script]).output().ok()?;
    let said = String::from_utf8(output.stderr).ok()?;
    let mut seconds = said.lines().last()?.split(' ').map(|word| word.parse::<f64>().ok());
    Some((seconds.next()?? + seconds.next()??) * 1e6)
}

/// One sample of everything. Memory is looked at in the first round only: later ones find what that has left.
pub(crate) fn sample(is_first: bool) -> Vec<(&'static str, &'static str, f64)> {
    let mut seen = Vec::new();
    let waits = definition(WAITS);
    let log = run_start(&waits, 0);
    let before = resident();
    let mut instances = Vec::with_capacity(INSTANCES);
    let used = micros(|| instances.extend((0..INSTANCES).map(|_| replay(&waits, log.clone()))));
    seen.push((START, "cpu µs", used / INSTANCES as f64));
    if is_first {
        let each = (resident() - before) / INSTANCES as f64;
        seen.push(("instance that waits for a command", "KiB", each));
    }
    drop(instances);
    seen.extend(node().map(|used| (NODE, "cpu µs", used)));
    for (case, body) in [
        ("replay of 10,000 operations", LOOP),
        ("replay of 10,000 operations, each in a step", STEPS),
    ] {
        let definition = definition(body);
        let log = recorded(&definition, OPERATIONS);
        let used = micros(|| drop(replay(&definition, log)));
        seen.push((case, "cpu ms", used / 1e3));
    }
    let text = include_str!("../../../agentos-script/assets/hello.ts");
    let sources = Sources::single("templates/hello.ts", text);
    let used = micros(|| drop(Definition::compile(&sources).expect("it compiles")));
    seen.push(("compiling the first template", "cpu µs", used));
    seen
}
