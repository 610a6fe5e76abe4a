//! Questions that show what was changed.

use super::Site;
use crate::support::wait_until;

#[test]
fn a_question_shows_what_was_changed_wherever_it_is_shown() {
    let site = Site::new();
    site.workflow(
        "ship",
        r#"
        await ctx.files.write("new.txt", "one\ntwo\n");
        await ctx.files.write("README.md", "Changed\n");
        const decision = await ctx.approve("Ship it?", { diff: true });
        return decision.approved;
        "#,
    );
    let process = site.begin(&["run", "ship", "--workspace", "none", "--json"]);
    let waits =
        || site.stand.runs(&site.root).iter().any(|run| run["waiting"]["kind"] == "approval");
    wait_until("it asks", waits);
    let document = site.call(&["show", "ship", "--json"]).exits(0).document();
    let question = &document["operations"][0]["question"];
    assert_eq!(question["text"], "Ship it?");
    assert_eq!(question["diff"]["files_changed"], 2);
    for told in [
        site.call(&["show", "ship"]).exits(0).out,
        site.call(&["approve", "ship", "--show"]).exits(0).out,
    ] {
        for part in
            ["Ship it?", "2 files changed, +3 -1", "README.md", "new.txt", "agentos approve"]
        {
            assert!(told.contains(part), "`{part}` is missing in {told}");
        }
    }
    let answered = site.call(&["approve", "ship"]).exits(0).out;
    assert!(answered.contains("approved: Ship it?"), "{answered}");
    assert_eq!(process.done().exits(0).document()["output"], true);
}
