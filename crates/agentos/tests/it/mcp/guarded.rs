//! Questions of runs: answered by whom a person has allowed, and never by what a run has started.

use serde_json::json;

use super::client::{Client, Setup};
use crate::support::{Stand, name};

#[test]
fn a_run_never_answers_its_own_question() {
    let (stand, root) = Stand::with_repository();
    let run = name(&stand.run(&root, &["run", "ask", "--detach", "--json"]).exits(0).document());
    let shown =
        |stand: &Stand| stand.show(&root, &run)["operations"][0]["question"]["text"].clone();
    crate::support::wait_until("it asks", || shown(&stand) == "Shall we?");
    let yes = json!({ "run": run, "approved": true, "question": "Shall", "comment": "go ahead" });
    let mark = [("AGENTOS_OPERATION", "0123456789abcdef")];
    let allow = ["--allow", "approve,signal"];
    let usual = Setup { arguments: &allow, ..Setup::default() };
    // What a run has started carries its mark; some clients do not hand that on to their servers.
    for setup in [Setup { of_server: &mark, ..usual }, Setup { of_client: &mark, ..usual }] {
        let mut within = Client::start(&stand, &root, &setup);
        let refusal = within.refusal("approve", yes.clone());
        assert!(refusal.contains("a process that a run has started can't do this"), "{refusal}");
        // A signal of any name is no answer to a question.
        within.document("signal", json!({ "run": run, "event": "Shall we?", "payload": true }));
        within.close();
    }
    let mut unasked = Client::allowed(&stand, &root, "run,signal");
    let refusal = unasked.refusal("approve", yes.clone());
    assert!(refusal.contains("they answer with `agentos approve`"), "{refusal}");
    unasked.close();
    assert_eq!(shown(&stand), "Shall we?", "nobody has answered yet");
    let user = [("USER", "ada")];
    let mut client = Client::start(&stand, &root, &Setup { of_server: &user, ..usual });
    let answered = client.document("approve", yes);
    assert_eq!(answered["by"], "ada through test-client");
    assert_eq!(answered["question"]["text"], "Shall we?");
    let done = stand.until_status(&root, &run, "COMPLETED");
    assert_eq!(done["output"], json!({ "approved": true, "comment": "go ahead" }));
    let again = client.refusal("approve", json!({ "run": run, "approved": false }));
    assert!(again.contains("asks nothing"), "{again}");
    client.close();
}

#[test]
fn a_mark_that_was_taken_off_on_the_way_is_seen_further_up() {
    let (stand, root) = Stand::with_repository();
    let approve = "env -u AGENTOS_OPERATION sh -c '\"$0\" approve nobody; exit $?' \"$0\"; exit $?";
    let program = crate::support::workshop();
    let arguments = ["-c", approve, program.to_str().expect("a path")];
    let call = || stand.call_program(std::path::Path::new("/bin/sh"), &root, &arguments);
    let refused = call().env("AGENTOS_OPERATION", "0123456789abcdef").done().exits(4);
    assert!(refused.err.contains("a process that a run has started can't do this"), "{refused:#?}");
    call().done().exits(3);
}
