//! What a pull request says.

use std::fs;

use super::{OPEN, Site, WORK, message};

#[test]
fn a_body_tells_what_the_run_has_done() {
    let site = Site::new();
    site.workflow(
        "ship",
        &format!(
            "  await ctx.run(\"plan | think\", async () => {{}});\n{WORK}\
             await ctx.artifact(\"unit\", {{ content: \"ok\", type: \"TEST_REPORT\", metadata: {{ passed: 12, failed: 0 }} }});\n\
             return await ctx.run(\"open\", async (ctx) => {{ {OPEN} }});"
        ),
    );
    site.output("ship");
    let body = site.forge.pulls()[0].body.clone();
    let run = site.show("ship")["run_id"].as_str().expect("a name").to_owned();
    for part in [
        "What it does.",
        &format!("run `{run}` of the workflow `ship`"),
        "| plan \\| think | completed |",
        "Add a basket",
        "failed 0, passed 12",
    ] {
        assert!(body.contains(part), "`{part}` is missing in {body}");
    }
    assert!(body.starts_with("What it does.\n\n---\n\n"), "{body}");
    assert!(!body.contains("| open |"), "what is not over is not told: {body}");
    assert!(!body.contains("commits that this branch"), "{body}");
}

#[test]
fn a_project_and_a_workflow_have_templates_of_their_own() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    let file = site.root.join(".agent/pull_request_template.md");
    fs::write(
        &file,
        "## {{title}} on {{branch}} for {{base}}\n\n{{ body }}\n\n{{tests}}\n\n- [ ] checked\n",
    )
    .expect("a file");
    site.output("ship");
    let body = site.forge.pulls()[0].body.clone();
    let expected = "## Add a basket on agentos/basket for main\n\nWhat it does.\n\n- [ ] checked\n\n<!-- agentos: ";
    assert!(body.starts_with(expected), "{body}");

    site.config("[git]\npr_template = \"docs/pr.md\"\n");
    site.forge.close(1);
    let failed = site.fails("ship");
    assert!(message(&failed).contains("docs/pr.md can't be read"), "{}", message(&failed));
    fs::create_dir_all(site.root.join("docs")).expect("a folder");
    fs::write(site.root.join("docs/pr.md"), "{{workflow}} {{behind}}\n\n{{commits}}")
        .expect("a file");
    site.output("ship");
    let body = site.forge.pulls()[1].body.clone();
    assert!(body.starts_with("ship 0\n\n- `") && body.contains("` Add a basket\n"), "{body}");

    site.forge.close(2);
    site.workflow(
        "own",
        "  return await ctx.git.createPr({ title: \"T\", template: \"mine: {{title}}\" });",
    );
    site.output("own");
    assert!(site.forge.pulls()[2].body.starts_with("mine: T\n"));
}

#[test]
fn a_template_with_a_mistake_is_told_before_anything_is_pushed() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    fs::write(site.root.join(".agent/pull_request_template.md"), "a\n{{boddy}}\n").expect("a file");
    let failed = site.fails("ship");
    let said = message(&failed);
    assert!(
        said.contains("pull_request_template.md, line 2") && said.contains("{{boddy}}"),
        "{said}"
    );
    assert!(said.contains("run_id"), "what there is: {said}");
    assert_eq!((site.there("agentos/basket"), site.forge.received().len()), (None, 0));
}

#[test]
fn mistakes_in_the_call_are_told() {
    let site = Site::new();
    for (options, part) in [
        ("{}", "title"),
        ("{ title: \"  \" }", "needs a title"),
        ("{ title: \"T\", titel: \"x\" }", "titel"),
        ("{ title: \"T\", onBehind: \"merge\" }", "merge"),
        ("{ title: \"T\", labels: [\"a,b\"] }", "labels"),
        ("{ title: \"T\", base: \"--upload-pack=x\" }", "can't be the name of a branch"),
        ("{ title: \"T\", base: \"nope\" }", "has no branch `nope`"),
        ("{ title: \"T\", head: \"nope\" }", "has no commit here"),
        ("{ title: \"T\", base: \"agentos/basket\" }", "has no branch `agentos/basket`"),
    ] {
        site.workflow("ship", &format!("{WORK}  await ctx.git.createPr({options});"));
        let failed = site.fails("ship");
        assert!(message(&failed).contains(part), "{options}: {}", message(&failed));
    }
    assert_eq!(site.forge.pulls().len(), 0);
}
