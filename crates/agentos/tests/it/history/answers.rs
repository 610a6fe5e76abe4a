//! What a workflow is told, and what is known of its run afterwards.

use serde_json::json;

use super::Site;

#[test]
fn a_workflow_commits_its_work_and_the_run_knows_branch_and_commit() {
    let site = Site::new();
    site.workflow(
        "save",
        r#"
        const branch = await ctx.git.ensureBranch("agentos/save");
        await ctx.files.write("notes.md", "one\ntwo\n");
        const before = await ctx.git.status();
        const diff = await ctx.git.diff();
        await ctx.git.stageAll();
        const made = await ctx.git.commit("notes", { author: { name: "Ada", email: "ada@example.com" }, trailers: { "Reviewed-by": "Bob" } });
        const again = await ctx.git.commit("nothing", { all: true });
        const [last] = await ctx.git.log({ limit: 1 });
        const after = await ctx.git.status();
        return {
          created: [branch.created, made.created, again.created],
          before: [before.branch, before.untracked, before.entries[0].path],
          diff: [diff.filesChanged, diff.insertions, diff.text.includes("+two")],
          same: [made.commitSha === again.commitSha, made.commitSha === last.sha, made.commitSha === await ctx.git.getCurrentCommit()],
          last: [last.authorName, last.subject],
          branch: await ctx.git.getCurrentBranch(),
          clean: after.clean,
        };
        "#,
    );
    let expected = json!({
        "created": [true, true, false],
        "before": ["agentos/save", 1, "notes.md"],
        "diff": [1, 2, true],
        "same": [true, true, true],
        "last": ["Ada", "notes"],
        "branch": "agentos/save",
        "clean": true,
    });
    assert_eq!(site.output("save"), expected);
    let shown = site.call(&["show", "save", "--json"]).exits(0).document();
    assert_eq!(shown["branch_name"], "agentos/save");
    assert_eq!(shown["commit_sha"], site.git(&["rev-parse", "agentos/save"]));
    let told = site.call(&["show", "save"]).exits(0).out;
    assert!(told.contains("agentos/save"), "{told}");
}

#[test]
fn what_git_refuses_is_an_error_of_the_call_that_names_its_line() {
    let site = Site::new();
    site.hook("pre-commit", "echo 'format your code'; exit 1");
    site.workflow(
        "refused",
        "  const said = [];\n\
         for (const call of [() => ctx.git.ensureBranch(\"--upload-pack=touch owned\"), () => ctx.git.diff({ from: \"--output=owned\" })]) {\n\
         try { await call(); } catch (error) { said.push([error.name, error.message]); }\n\
         }\n\
         ctx.set(\"said\", said);\n\
         await ctx.git.commit(\"x\", { allowEmpty: true });",
    );
    let failed =
        site.call(&["run", "refused", "--workspace", "none", "--json"]).exits(1).document();
    let said = json!([
        ["NonRetryableError", "`--upload-pack=touch owned` can't be the name of a branch"],
        ["NonRetryableError", "`--output=owned` can't be a commit"],
    ]);
    assert_eq!(failed["state"]["said"], said);
    let message = failed["error"]["message"].as_str().expect("a message");
    assert_eq!(message, "the hook `pre-commit` refused: format your code");
    assert!(!site.has("owned"));
}
