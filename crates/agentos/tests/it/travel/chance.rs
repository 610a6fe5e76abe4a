//! Random edits by steps, SIGKILL at random moments: whatever is gone back to or forked from is what was there.

use std::fmt::Write as _;

use rustix::process::Signal;
use rustix::thread::{Timespec, nanosleep};
use serde_json::Value;

use super::site::{Site, step};

/// Chance that is the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Something that can be done to files, and done twice: what was interrupted is done again.
    fn deed(&mut self) -> String {
        let (file, number) = (self.below(6), self.below(1_000));
        let path = format!("d{}/f{file}", self.below(3));
        let folder = path.split('/').next().unwrap_or_default().to_owned();
        let clear = format!("[ -d {folder} ] || rm -f {folder}; mkdir -p {folder}; rm -rf {path}");
        match self.below(11) {
            0 => format!("{clear}; printf 'text {number}\\\\n' > {path}"),
            1 => format!("{clear}; printf 'crlf {number}\\\\r\\\\n\\\\r\\\\n' > {path}"),
            2 => format!("{clear}; printf '\\\\000\\\\377{number}\\\\200' > {path}"),
            3 => format!("{clear}; echo {number} > {path}; chmod 755 {path}"),
            4 => format!("{clear}; ln -sfn ../nowhere{number} {path}"),
            5 => format!("rm -rf {folder}"),
            6 => format!("rm -rf {folder}; echo {number} > {folder}"),
            7 => format!("{clear}; mkdir -p {path}/in; echo {number} > {path}/in/deep"),
            8 => format!("mkdir -p empty{file}/in"),
            9 => "git add -A".to_owned(),
            _ => "git add -A; GIT_AUTHOR_DATE=2001-01-01T00:00:00Z GIT_COMMITTER_DATE=2001-01-01T00:00:00Z \
                  git -c user.name=a -c user.email=a@b commit -qm work || true"
                .to_owned(),
        }
    }

    fn deeds(&mut self) -> String {
        let count = 1 + self.below(4);
        let deeds: Vec<String> = (0..count).map(|_| self.deed()).collect();
        deeds.join("; ")
    }

    fn pause(&mut self, most_ms: u64) {
        let ms = self.below(most_ms);
        let length = Timespec {
            tv_sec: i64::try_from(ms / 1_000).unwrap_or(0),
            tv_nsec: i64::try_from(ms % 1_000 * 1_000_000).unwrap_or(0),
        };
        let _passed = nanosleep(&length);
    }
}

const STEPS: usize = 4;

/// Steps that do something at random; every other one makes a mess first, and is taken back.
fn workflow(chance: &mut Chance) -> String {
    let mut body = String::from("const out = [];\n");
    for number in 0..STEPS {
        let (mess, deeds) = (chance.deeds(), chance.deeds());
        let fails = chance.below(2) == 0;
        let _written = write!(
            body,
            r#"
  out.push(await ctx.run("s{number}", async (ctx) => {{
    const before = await digest(ctx);
    if (ctx.attempt === 1) ctx.set("before{number}", before);
    if (before !== ctx.get("before{number}")) throw new NonRetryableError("attempt " + ctx.attempt + " of s{number} finds other files");
    if (ctx.attempt === 1 && {fails}) {{
      await ctx.shell("{mess}", {{ name: "mess" }});
      throw new Error("again");
    }}
    await ctx.shell("{deeds}", {{ name: "deeds" }});
    return {{ before, after: await digest(ctx) }};
  }}, {{ onRetry: "rollback", retry: {{ maxAttempts: 2, delay: 1 }} }}));
"#
        );
    }
    body + "  return out;\n"
}

/// Begins something, kills it after a while, a few times, at least once while its run is at work; then sees the run to its end.
fn torment(site: &Site, chance: &mut Chance, arguments: &[&str]) -> Value {
    let known = || -> Vec<String> {
        let listed = site.run(&["status", "--json", "--all", "--limit", "1000"]);
        let items = listed.document()["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(crate::support::name).collect()
    };
    let mut before = known();
    let mut run = None;
    let mut process = site.begin(arguments);
    let (mut kills, mut hits, mut most_ms) = (0, 0, 900);
    let mut seen = Vec::new();
    while kills < 4 || hits == 0 {
        assert!(kills < 40, "it was never killed at work: {seen:#?}");
        chance.pause(most_ms);
        process.send(Signal::KILL);
        let done = process.done();
        let is_killed = done.code.is_none();
        run = known().into_iter().find(|name| !before.contains(name));
        kills += 1;
        seen.push((most_ms, run.clone(), done));
        match (is_killed, &run) {
            (true, Some(_)) => hits += 1,
            // Too early on this machine.
            (true, None) => most_ms = (most_ms * 2).min(60_000),
            // Too late: it is begun anew, and killed sooner.
            (false, _) if hits == 0 => {
                before.extend(run.take());
                most_ms = (most_ms / 2).max(1);
            }
            (false, _) => {}
        }
        process = match &run {
            Some(run) => site.begin(&["resume", run]),
            None => site.begin(arguments),
        };
    }
    let ended = process.done();
    let run = run.or_else(|| known().into_iter().find(|name| !before.contains(name)));
    let run = run.unwrap_or_else(|| panic!("there is a run: {ended:#?}"));
    let run = site.show(&run);
    assert_eq!(run["status"], "COMPLETED", "{ended:#?}\n{:#}", run["error"]);
    run
}

fn one_seed(seed: u64, kind: &str) {
    let mut chance = Chance(seed);
    let site = Site::new(&workflow(&mut chance));
    let first = torment(&site, &mut chance, &["run", "work", "--workspace", kind]);
    assert_eq!(first["comments"].as_array().map(Vec::len), Some(0), "{:#}", first["comments"]);
    let name = crate::support::name(&first);
    for number in 0..STEPS {
        let from = format!("s{number}");
        let arguments = ["fork", &name, "--from-step", &from];
        let forked = match number {
            1 => torment(&site, &mut chance, &arguments),
            _ => site.ends(&arguments, 0),
        };
        for other in number..STEPS {
            let other = format!("s{other}");
            let (one, two) = (&step(&first, &other)["output"], &step(&forked, &other)["output"]);
            assert_eq!(one, two, "seed {seed}: {other}, forked from {from}");
        }
    }
}

#[test]
fn random_edits_and_crashes_leave_every_step_where_it_was_in_a_worktree() {
    one_seed(1, "worktree");
}

#[test]
fn other_edits_and_crashes_leave_every_step_where_it_was_in_a_worktree() {
    one_seed(2, "worktree");
}

#[test]
fn random_edits_and_crashes_leave_every_step_where_it_was_in_a_clone() {
    one_seed(3, "clone");
}
