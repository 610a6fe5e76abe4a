//! Whatever goes wrong is told in words that say what to do, and nothing is opened twice.

use agentos_testing::forge::{Fault, Strike};

use super::{OPEN, Site, WORK, message};

fn strike(method: &'static str, fault: Fault, times: u32) -> Strike {
    Strike { method, path: "/pulls", fault, times }
}

#[test]
fn what_the_forge_refuses_fails_at_once_with_its_reason() {
    for (fault, part) in [
        (Fault::Status(401), "GITHUB_TOKEN"),
        (Fault::Status(403), "does the token have the right"),
        (Fault::Status(404), "does not know repos/acme/shop/pulls"),
        (Fault::Status(422), "can't do it (422): a fault: 422"),
    ] {
        let site = Site::new();
        site.workflow("ship", &format!("{WORK}{OPEN}"));
        site.forge.strike(strike("POST", fault, 100));
        let failed = site.fails("ship");
        assert!(message(&failed).contains(part), "{fault:?}: {}", message(&failed));
        assert_eq!(failed["error"]["kind"], "non_retryable", "{fault:?}");
        assert_eq!((site.posts(), site.forge.pulls().len()), (1, 0), "{fault:?}");
        assert!(site.there("agentos/basket").is_some(), "it is pushed all the same");
    }
}

#[test]
fn a_wrong_token_is_told() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    let done = site.call(&["run", "ship", "--json"]).env("GITHUB_TOKEN", "wrong-token").done();
    let failed = done.exits(1).document();
    let said = message(&failed);
    assert!(said.contains("(401): Bad credentials") && !said.contains("wrong-token"), "{said}");
}

#[test]
fn a_forge_that_fails_for_a_while_is_waited_for() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    site.forge.strike(strike("POST", Fault::Status(500), 1));
    assert_eq!(site.output("ship")["created"], true);
    assert_eq!((site.posts(), site.forge.pulls().len()), (2, 1));
}

#[test]
fn a_forge_that_keeps_failing_is_given_up_on() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    site.forge.strike(strike("POST", Fault::Status(500), 100));
    let failed = site.fails("ship");
    assert!(message(&failed).contains("failed (500)"), "{}", message(&failed));
    assert_eq!(failed["error"]["kind"], "error", "another attempt may help");
    assert_eq!(site.posts(), 4);
}

#[test]
fn a_forge_that_says_nothing_is_given_up_on_in_time() {
    // The push has to be over in that time, too: where it is not, the forge is not asked, and more time is given.
    for seconds in [1, 10, 60] {
        let site = Site::new();
        let open = OPEN.replace("body:", &format!("timeout: {seconds}000, body:"));
        site.workflow("ship", &format!("{WORK}{open}"));
        site.forge.strike(strike("GET", Fault::Silence, 100));
        let failed = site.fails("ship");
        if site.forge.received().is_empty() {
            continue;
        }
        let said = message(&failed);
        assert!(said.contains(&format!("did not open it within {seconds} s")), "{said}");
        assert_eq!(failed["error"]["kind"], "timeout");
        return;
    }
    panic!("the forge was never asked");
}

#[test]
fn a_lost_answer_opens_nothing_twice() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    site.forge.strike(strike("POST", Fault::LostAnswer, 1));
    assert_eq!(site.output("ship")["created"], true, "it is the run's own");
    assert_eq!((site.posts(), site.forge.pulls().len()), (1, 1));
}

#[test]
fn a_step_that_is_tried_again_after_it_was_opened_finds_it() {
    let site = Site::new();
    let body = format!(
        "{WORK}  return await ctx.run(\"open\", async (ctx) => {{\n\
         const open = await ctx.git.createPr({{ title: \"Add\" }});\n\
         if (ctx.attempt === 1) throw new Error(\"not yet\");\n\
         return open;\n}}, {{ retry: {{ maxAttempts: 2, delay: 1 }} }});"
    );
    site.workflow("ship", &body);
    let output = site.output("ship");
    assert_eq!((&output["created"], &output["number"]), (&false.into(), &1.into()));
    assert_eq!(site.posts(), 1);
}
