//! Agents that are commands of the configuration: here small programs of the shell, in several dialects.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Stage, session, trouble};

/// A workflow of one session of `agent("late")`, which is this program of the shell.
fn stage(options: &str, (settings, program): (&str, &str)) -> Stage {
    let body = format!(
        "return await ctx.run(\"step\", async () => ctx.runCli(\"build\", agent(\"late\"), \"Build it\", {{ {options} }}), \
         {{ retry: {{ maxAttempts: 1 }} }});"
    );
    let stage = Stage::new(&body, "");
    fs::create_dir_all(stage.site.repo.join(".agent")).expect("a folder");
    let config = format!("[agents.late]\n{settings}\n");
    fs::write(stage.site.repo.join(".agent/config.toml"), config).expect("a file");
    fs::write(stage.site.repo.join("late.sh"), program).expect("a file");
    stage
}

const CODEX: &str = "command = [\"sh\", \"late.sh\"]\nresume = [\"sh\", \"late.sh\", \"{session}\"]\noutput = \"codex\"";
const TEXT: &str = "command = [\"sh\", \"late.sh\", \"{session}\"]\nresume = [\"sh\", \"late.sh\", \"{session}\", \"again\"]";

/// Says this, and what it has used at its very end.
fn at_the_end(said: &str) -> String {
    let lines = [
        json!({ "type": "thread.started", "thread_id": "t" }),
        json!({ "type": "item.completed", "item": { "type": "agent_message", "text": said } }),
        json!({ "type": "turn.completed", "usage": { "input_tokens": 900, "output_tokens": 1 } }),
    ];
    let lines = lines.map(|line| format!("echo '{line}'\n"));
    format!("echo x >> began\n{}", lines.concat())
}

#[test]
fn a_budget_that_is_over_at_the_end_is_remarked_and_nothing_is_asked_for_again() {
    for (said, reason) in [("no", Some("budget")), ("[1]", None)] {
        let stage = stage("json: true, budget: { tokens: 100 }", (CODEX, &at_the_end(said)));
        let run = stage.run().exits(i32::from(reason.is_some())).document();
        let error = &session(&run)["error"];
        assert_eq!(error["detail"]["exit_reason"].as_str(), reason, "{run:#}");
        assert_eq!(session(&run)["input_tokens"], 900);
        assert_eq!(stage.lines("began").len(), 1);
        let said = format!("{} {}", stage.remarks(), error["message"]);
        assert!(said.contains("901 tokens of 100"), "{said}");
    }
}

/// Speaks, and waits to be killed; the second time it ends.
#[test]
fn tokens_are_unknown_where_a_part_of_the_session_has_told_nothing() {
    let lines = [
        json!({ "type": "thread.started", "thread_id": "t" }),
        json!({ "type": "item.completed", "item": { "type": "agent_message", "text": "halfway" } }),
    ];
    let program = format!(
        "if [ $# = 0 ]; then echo '{}'; echo '{}'; while [ -e late.sh ]; do sleep 0.02; done; fi\n{}",
        lines[0],
        lines[1],
        at_the_end("fine")
    );
    let priced = format!("{CODEX}\nmodel = \"m-1\"\n[prices.m]\ninput = 1000\noutput = 0");
    let stage = stage("", (&priced, &program));
    let process = stage.begin();
    stage.site.until_spoken("halfway", 1);
    process.send(Signal::INT);
    process.done().exits(130);
    let run = stage.resume().exits(0).document();
    assert_eq!(stage.lines("began").len(), 1, "it was resumed");
    for used in ["input_tokens", "output_tokens", "cached_tokens", "cost_usd"] {
        assert_eq!(session(&run)[used], Value::Null, "{used}: {run:#}");
    }
    assert_eq!(run["output"]["usage"]["inputTokens"], Value::Null, "{run:#}");
}

/// Says what one message used, and drops its stream.
#[test]
fn tokens_and_cost_are_unknown_where_the_stream_was_dropped() {
    let usage = json!({ "input_tokens": 100, "output_tokens": 20 });
    let content = json!([{ "type": "text", "text": "one" }]);
    let lines = [
        json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "m-1" }),
        json!({ "type": "assistant", "message": { "id": "a", "content": content, "usage": usage } }),
    ];
    let program = format!("echo '{}'\necho '{}'\n", lines[0], lines[1]);
    let settings = "command = [\"sh\", \"late.sh\"]\noutput = \"claude\"\n[prices.m]\ninput = 1000\noutput = 0";
    let stage = stage("", (settings, &program));
    let run = stage.run().exits(1).document();
    let session = session(&run);
    assert_eq!(session["error"]["detail"]["exit_reason"], "dropped", "{run:#}");
    for used in ["input_tokens", "output_tokens", "cached_tokens", "cost_usd"] {
        assert_eq!(session[used], Value::Null, "{used}: {run:#}");
    }
}

#[test]
fn a_budget_that_nobody_could_notice_is_refused() {
    for (options, settings) in
        [("budget: { usd: 1 }", CODEX), ("budget: { tokens: 1 }", TEXT), ("timeout: 0", TEXT)]
    {
        let stage = stage(options, (settings, "echo x >> began"));
        let run = stage.run().exits(1).document();
        assert_eq!(session(&run)["error"]["kind"], "non_retryable", "{options}: {run:#}");
        assert!(stage.lines("began").is_empty());
    }
    let priced = format!("{CODEX}\nmodel = \"m-1\"\n[prices.m]\ninput = 1000\noutput = 0");
    let stage = stage("budget: { usd: 1 }", (&priced, &at_the_end("fine")));
    let run = stage.run().exits(0).document();
    assert_eq!(run["output"]["cost"], 0.9, "by the prices of the configuration");
}

#[test]
fn an_answer_that_is_text_is_mended_in_the_session_that_was_named() {
    let program = "echo \"$@\" >> began; if [ $# = 2 ]; then echo '{\"a\": 1}'; else echo no; fi";
    let stage = stage("json: true", (TEXT, program));
    let run = stage.run().exits(0).document();
    assert_eq!(run["output"]["json"], json!({ "a": 1 }));
    let id = run["output"]["sessionId"].as_str().expect("it has one").to_owned();
    assert_eq!(stage.lines("began"), [id.clone(), format!("{id} again")]);
    assert_eq!(session(&run)["session_id"], id);
}

#[test]
fn words_about_unknown_sessions_never_execute_anything_twice() {
    let program = "echo x >> began; echo 'unknown session' >&2; exit 1";
    let stage = stage("", (TEXT, program));
    let (reason, message) = trouble(stage.run());
    assert_eq!((reason.as_str(), stage.lines("began").len()), ("exit", 1), "{message}");
    let program = "echo x >> began; [ $# = 1 ] || { echo 'unknown session' >&2; exit 1; }; echo no";
    let stage = self::stage("json: true", (TEXT, program));
    let (reason, message) = trouble(stage.run());
    assert_eq!((reason.as_str(), stage.lines("began").len()), ("answer", 2), "{message}");
}

#[test]
fn the_end_of_what_an_agent_complains_of_counts_and_a_flood_fills_no_log() {
    let program = "i=0; while [ $i -lt 20000 ]; do echo \"nothing to see here, line $i\" >&2; i=$((i+1)); done\n\
                   echo 'last word' >&2; exit 3";
    let stage = stage("", (TEXT, program));
    let (_, message) = trouble(stage.run());
    assert!(message.contains("last word"), "{message}");
    let log = stage.remarks();
    assert!(log.contains("the rest of what it complains of is not kept"));
    assert!(log.len() < 1 << 20, "{} bytes", log.len());
}

#[test]
fn lines_that_are_no_events_are_spoken_of() {
    let program = format!("echo garbage\n{}", at_the_end("fine"));
    let stage = stage("", (CODEX, &program));
    stage.run().exits(0);
    assert!(
        stage.remarks().contains("1 lines of its output were no events"),
        "{}",
        stage.remarks()
    );
}

/// The shell's words for so many letters.
fn letters(count: u64) -> String {
    format!("head -c {count} /dev/zero | tr '\\0' x")
}

/// A program whose first message approves, and whose second one is in a line of this length; then it says more.
fn reviewer(length: u64, more: &str) -> String {
    format!(
        r#"echo '{{"type":"thread.started","thread_id":"t"}}'
echo '{{"type":"item.completed","item":{{"type":"agent_message","text":"I looked at it: APPROVE so far"}}}}'
printf '%s' '{{"type":"item.completed","item":{{"type":"agent_message","text":"VERDICT: REJECT '
{}
echo '"}}}}'
{more}
echo '{{"type":"turn.completed","usage":{{"input_tokens":9,"output_tokens":1}}}}'
"#,
        letters(length)
    )
}

#[test]
fn an_earlier_message_is_not_taken_for_one_that_is_too_long_to_be_read() {
    let stage = stage("", (CODEX, &reviewer(9_000_000, "")));
    let (reason, message) = trouble(stage.run());
    assert_eq!(reason, "malformed", "{message}");
    assert!(message.contains("a line of its output is longer than 8388608 bytes"), "{message}");
    assert!(
        stage.remarks().contains("1 lines of its output were longer than 8388608 bytes"),
        "{}",
        stage.remarks()
    );
    let stage = self::stage("check: false", (CODEX, &reviewer(9_000_000, "")));
    let output = stage.run().exits(0).document()["output"].clone();
    assert_eq!(
        (&output["exitReason"], &output["truncated"]),
        (&"malformed".into(), &true.into()),
        "{output:#}"
    );
}

#[test]
fn what_is_said_after_a_line_that_is_too_long_to_be_read_is_the_answer() {
    let last = r#"echo '{"type":"item.completed","item":{"type":"agent_message","text":"In short: REJECT"}}'"#;
    let stage = stage("", (CODEX, &reviewer(9_000_000, last)));
    let output = stage.run().exits(0).document()["output"].clone();
    assert_eq!(
        (&output["text"], &output["truncated"]),
        (&"In short: REJECT".into(), &false.into()),
        "{:#?}",
        output["exitReason"]
    );
}

#[test]
fn output_that_is_not_kept_may_have_been_the_answer() {
    let flood = "i=0; while [ $i -lt 90 ]; do head -c 1000000 /dev/zero | tr '\\0' x; echo; i=$((i+1)); done";
    let stage = stage("", (CODEX, &reviewer(10, flood)));
    // Something of it is missing only where it is read more slowly than it is written.
    let done = stage.run();
    if done.code == Some(0) {
        let output = done.document()["output"].clone();
        let text = output["text"].as_str().expect("text");
        assert!(text.starts_with("VERDICT: REJECT") && output["truncated"] == false, "{output}");
    } else {
        let (reason, message) = trouble(done);
        assert_eq!(reason, "malformed", "{message}");
        assert!(message.contains("a part of its output is missing"), "{message}");
    }
    let program = format!("echo 'APPROVE so far'; {flood}; echo 'VERDICT: REJECT'");
    let stage = self::stage("", (TEXT, &program));
    let output = stage.run().exits(0).document()["output"].clone();
    assert_eq!(output["truncated"], true);
}

/// The artifact with the answer of the only session.
fn kept_answer(stage: &Stage) -> String {
    let run = stage.site.show(&stage.site.only_run());
    let artifacts = run["artifacts"].as_array().expect("a list");
    let artifact = artifacts.iter().find(|artifact| artifact["name"] == "build.answer.txt");
    let path = artifact.expect("an artifact")["storage_path"].as_str().expect("a path").to_owned();
    fs::read_to_string(stage.site.repo.join(path)).expect("a file")
}

#[test]
fn of_a_line_of_text_that_is_too_long_the_beginning_is_kept_and_marked() {
    let program = format!("printf 'VERDICT: REJECT '; {}; echo; echo the end", letters(9_000_000));
    let stage = stage("", (TEXT, &program));
    let output = stage.run().exits(0).document()["output"].clone();
    let text = output["text"].as_str().expect("text");
    assert!(text.starts_with("VERDICT: REJECT xxx") && text.ends_with("x…"));
    assert_eq!((&output["exitReason"], &output["truncated"]), (&"completed".into(), &true.into()));
    let kept = kept_answer(&stage);
    assert!(kept.starts_with("VERDICT: REJECT xxx") && kept.ends_with("x…\nthe end"));
    assert_eq!(kept.len(), (8 << 20) + "…\nthe end".len());
    let remarks = stage.remarks();
    assert!(remarks.contains("1 lines of its output were longer than 8388608 bytes"));
    assert!(remarks.contains("its answer is longer than what is kept: an artifact has"));
}

#[test]
fn an_answer_that_is_longer_than_is_kept_says_so_and_is_marked() {
    let lines =
        format!("i=0; while [ $i -lt 18 ]; do {}; echo; i=$((i+1)); done", letters(1_000_000));
    let program = format!("{lines}; echo 'VERDICT: REJECT'");
    let stage = stage("", (TEXT, &program));
    let output = stage.run().exits(0).document()["output"].clone();
    assert_eq!(output["truncated"], true);
    let kept = kept_answer(&stage);
    assert!(kept.len() == (16 << 20) + "…".len() && kept.ends_with("x…"), "{}", kept.len());
    let remarks = stage.remarks();
    assert!(
        remarks.contains(
            "its answer is longer than what is kept: an artifact has 16777219 bytes of it"
        ),
        "{}",
        remarks.lines().filter(|line| line.len() < 1000).collect::<String>()
    );
    assert!(!remarks.contains("all of it is an artifact"));
}

#[test]
fn an_answer_in_json_of_which_a_part_is_missing_has_the_wrong_form() {
    let program = format!("echo '[1]'; {}; echo", letters(9_000_000));
    let stage = stage("json: true", (TEXT, &program));
    assert_eq!(trouble(stage.run()).0, "answer");
}
