//! Sessions of an agent.

use std::fs;

use super::site::Site;
use crate::support::{Process, wait_until};

const SCENARIO: &str = r#"
[[session]]
play = [
  { run = "echo + >> at-work.log; while [ ! -e go ]; do sleep 0.02; done; echo - >> at-work.log" },
  { say = "done" },
]
"#;

fn site(config: &str) -> Site {
    let site = Site::new();
    let body = r#"
      await ctx.shell("true");
      await ctx.run("build", () => ctx.runCli("build", claude, "Build it"), { timeout: 3600000 });
    "#;
    site.template("build", "", body);
    site.template("plain", "", r#"await ctx.shell("true");"#);
    fs::write(site.root.join("scenario.toml"), SCENARIO).expect("a scenario");
    site.configure(config);
    site
}

fn start(site: &Site) -> Process {
    let agent = "claude=scripted:scenario.toml";
    site.call(&["run", "build", "--json", "--agent", agent]).start()
}

#[test]
fn no_more_sessions_of_an_agent_are_at_work_than_it_may_have() {
    let site = site("[agents.scripted]\nconcurrency = 1\n[limits]\nruns_per_repo = 2\n");
    let processes = [(); 3].map(|()| start(&site));
    site.until_begun(1);
    wait_until("the others wait", || site.waiting() == 2);
    let waits = site.runs().into_iter().find(|run| run["waiting"].is_object());
    let waits = waits.expect("one that waits");
    let why = waits["waiting"]["why"].as_str().expect("a reason");
    assert!(why.starts_with("1 of 1 sessions of `scripted` at work: build-"), "{why}");
    assert_eq!(waits["current_step"]["name"], "build", "it waits in the step of the session");
    // Who waits for an agent is not at work, so there is a slot for somebody who needs none.
    site.run(&["run", "plain"]).exits(0);
    site.go();
    for process in processes {
        process.done().exits(0);
    }
    assert_eq!((site.begun(), site.most_at_once()), (3, 1));
}
