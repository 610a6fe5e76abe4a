//! One door for each dangerous thing, and the shortcuts that nobody may take.
//!
//! clippy closes the same doors by type where it can (`disallowed-methods` in clippy.toml); this rule
//! also sees imports, macro calls, attributes and SQL, which clippy does not. A door that opens
//! legitimately in a new place is named here, in [`DOORS`], so that a reviewer sees it open.

use super::finding::Finding;
use super::scan::{Sight, What};
use super::tree::{RustFile, Tree};

const RULE: &str = "doors";

/// One closed door.
struct Door {
    /// Where it is closed.
    closed_in: fn(&RustFile<'_>, &Sight) -> bool,
    /// What must not be seen there.
    is: fn(&What) -> bool,
    /// Why it is closed, and what to do instead.
    advice: &'static str,
}

const DOORS: &[Door] = &[
    Door {
        closed_in: in_the_core,
        is: |what| is_path(what, CLOCKS),
        advice: "the core has no clock; take the time from the entry or the caller",
    },
    Door {
        closed_in: in_the_core,
        is: |what| is_path(what, WORLD),
        advice: "the core does no I/O and reads no environment; return an effect and let the engine perform it",
    },
    Door {
        closed_in: in_the_core,
        is: |what| is_path(what, CHANCE),
        advice: "the core draws no random ids; a replay would draw others. Take the id from the caller",
    },
    Door {
        closed_in: in_the_core,
        is: |what| is_macro(what, &["print", "println", "eprint", "eprintln", "dbg"]),
        advice: "the core prints nothing; return it",
    },
    Door {
        closed_in: |file, _| {
            file.is_source() && in_other_crate(file, &["agentos-process", "agentos-testing"])
        },
        is: starts_a_process,
        advice: "only agentos-process starts processes: one that nobody supervises is lost in a crash",
    },
    Door {
        closed_in: |file, _| in_other_crate(file, &["agentos-store"]),
        is: |what| matches!(what, What::Text(text) if is_sql(text)),
        advice: "SQL lives in agentos-store; ask the store with a verb of its trait",
    },
    Door {
        closed_in: everywhere,
        is: |what| attribute_names(what, &["allow"]),
        advice: "use `#[expect(…, reason = \"…\")]`, which ends when its reason ends",
    },
    Door {
        closed_in: everywhere,
        is: |what| attribute_names(what, &["ignore"]),
        advice: "an ignored test proves nothing; repair it or delete it",
    },
    Door {
        closed_in: |_, sight| sight.in_test,
        is: |what| is_path(what, &[&["thread", "sleep"]]),
        advice: "tests do not sleep; move the simulated clock, or wait for the event itself",
    },
    Door {
        closed_in: everywhere,
        is: |what| is_macro(what, &["todo", "unimplemented"]),
        advice: "finish it, or return an error that says it is not there yet",
    },
];

const CLOCKS: &[&[&str]] = &[&["time", "Instant"], &["time", "SystemTime"], &["std", "time", "*"]];

const WORLD: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "net"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "env"],
    &["std", "*"],
];

const CHANCE: &[&[&str]] = &[&["Uuid", "new_v4"], &["Uuid", "now_v7"], &["hash", "RandomState"]];

/// Checks every Rust file of the crates and of xtask.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .flat_map(|file| file.scan.sights.iter().filter_map(move |sight| complaint(&file, sight)))
        .collect()
}

fn complaint(file: &RustFile<'_>, sight: &Sight) -> Option<Finding> {
    let door = DOORS.iter().find(|door| (door.is)(&sight.what) && (door.closed_in)(file, sight))?;
    let message = format!("{}: {}", shown(&sight.what), door.advice);
    Some(Finding::error(file.path, sight.line, RULE, message))
}

fn everywhere(_: &RustFile<'_>, _: &Sight) -> bool {
    true
}

fn in_the_core(file: &RustFile<'_>, sight: &Sight) -> bool {
    file.crate_name() == Some("agentos-core") && file.is_source() && !sight.in_test
}

/// In the product, but in none of the crates that keep this door. xtask is no part of the product.
fn in_other_crate(file: &RustFile<'_>, keepers: &[&str]) -> bool {
    file.crate_name().is_some_and(|name| !keepers.contains(&name))
}

fn starts_a_process(what: &What) -> bool {
    // clap has a `Command` too.
    is_path(what, &[&["Command", "new"]]) && !is_path(what, &[&["clap", "Command"]])
}

fn is_path(what: &What, forbidden: &[&[&str]]) -> bool {
    let What::Path(path) = what else { return false };
    forbidden.iter().any(|parts| path.windows(parts.len()).any(|window| window == *parts))
}

fn is_macro(what: &What, forbidden: &[&str]) -> bool {
    matches!(what, What::Macro(name) if forbidden.contains(&name.as_str()))
}

fn attribute_names(what: &What, forbidden: &[&str]) -> bool {
    let What::Attribute(names) = what else {
        return false;
    };
    // `cfg_attr(condition, attribute)` hides an attribute inside another.
    let looked_at =
        if names.first().is_some_and(|name| name == "cfg_attr") { names.len() } else { 1 };
    names.iter().take(looked_at).any(|name| forbidden.contains(&name.as_str()))
}

/// A statement in capitals, as SQL is written here. `DELETE /runs/7` is a request, not a statement.
fn is_sql(text: &str) -> bool {
    const VERBS: [&str; 8] =
        ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "PRAGMA"];
    let text = text.replace("\\n", " ");
    let mut words = text.split_whitespace().filter(|word| *word != "\\");
    let opens = words.next().is_some_and(|word| VERBS.contains(&word));
    opens && words.next().is_some_and(|word| !word.starts_with('/'))
}

fn shown(what: &What) -> String {
    match what {
        What::Path(path) => format!("`{}`", path.join("::")),
        What::Macro(name) => format!("`{name}!`"),
        What::Attribute(names) => format!("`#[{}]`", names.first().map_or("", String::as_str)),
        What::Text(text) => {
            let start: Vec<&str> = text.split_whitespace().take(2).collect();
            format!("\"{} …\"", start.join(" "))
        }
        What::Type(_) | What::Function(_) | What::TestModule(_) => "this".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    /// The lines of the file that are findings.
    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&fixture::tree(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_finding_says_what_was_seen_and_what_to_do() {
        let tree =
            fixture::tree(&[("crates/agentos-core/src/run.rs", "use std::{\n    fs,\n};\n")]);
        assert_eq!(
            fixture::shown(&check(&tree)),
            [
                "crates/agentos-core/src/run.rs:2: doors: `std::fs`: the core does no I/O and reads no environment; \
              return an effect and let the engine perform it"
            ]
        );
    }

    #[test]
    fn the_core_reaches_no_clock_no_world_no_chance_and_no_terminal() {
        let text = "use std::time::{Duration, Instant};\n\
                    use std::time::SystemTime;\n\
                    use std::time::*;\n\
                    fn f() { std::env::var(\"A\"); }\n\
                    fn g() { std::thread::spawn(f); }\n\
                    fn h() { uuid::Uuid::new_v4(); }\n\
                    fn i() { println!(); }\n\
                    use std::net::TcpStream;\n\
                    use std::process::exit;\n";
        assert_eq!(lines("crates/agentos-core/src/a.rs", text), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn the_core_may_measure_time_name_its_own_types_and_test_with_files() {
        let text = "use std::time::Duration;\n\
                    use crate::clock::Instant;\n\
                    // std::fs is for others\n\
                    #[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert!(lines("crates/agentos-core/src/a.rs", text).is_empty());
        assert!(lines("crates/agentos-core/tests/a.rs", "use std::fs;").is_empty());
        assert!(lines("crates/agentos-store/src/a.rs", "use std::fs;").is_empty());
    }

    #[test]
    fn processes_start_in_one_crate() {
        let text = "fn f() { Command::new(\"git\"); }";
        assert_eq!(lines("crates/agentos-workspace/src/git.rs", text), [1]);
        assert!(lines("crates/agentos-process/src/spawn.rs", text).is_empty());
        assert!(lines("crates/agentos-workspace/tests/git.rs", text).is_empty());
        assert!(lines("xtask/src/shell.rs", text).is_empty());
        assert!(
            lines("crates/agentos/src/cli.rs", "fn f() { clap::Command::new(\"agentos\"); }")
                .is_empty()
        );
    }

    #[test]
    fn sql_lives_in_the_store() {
        let text = "const A: &str = \"SELECT 1\";\nconst B: &str = r\"\n  INSERT INTO runs\";\n\
                    const C: &str = \"Select a run\";\nconst D: &str = \"DELETE /runs/7\";\nconst E: &str = \"UPDATE\";\n";
        assert_eq!(lines("crates/agentos-engine/src/a.rs", text), [1, 2]);
        assert!(lines("crates/agentos-store/src/sqlite/runs.rs", text).is_empty());
    }

    #[test]
    fn lints_are_expected_and_not_allowed() {
        let text = "#[allow(dead_code)]\nfn f() {}\n#![allow(unused)]\n#[cfg_attr(unix, allow(unused))]\nfn g() {}\n\
                    #[expect(dead_code, reason = \"allow me\")]\nfn h() {}\n";
        assert_eq!(lines("crates/agentos/src/a.rs", text), [1, 3, 4]);
    }

    #[test]
    fn tests_are_run_and_do_not_sleep() {
        let text = "#[test]\n#[ignore]\nfn a() {}\n#[test]\n#[ignore = \"slow\"]\nfn b() { std::thread::sleep(d); }\n\
                    fn production() { thread::sleep(d); }\n";
        assert_eq!(lines("crates/agentos/src/a.rs", text), [2, 5, 6]);
        assert_eq!(lines("crates/agentos/tests/a.rs", "fn f() { thread::sleep(d); }"), [1]);
    }

    #[test]
    fn nothing_is_left_for_later() {
        assert_eq!(
            lines("xtask/src/a.rs", "fn f() { todo!() }\nfn g() { unimplemented!(\"x\") }"),
            [1, 2]
        );
    }
}
