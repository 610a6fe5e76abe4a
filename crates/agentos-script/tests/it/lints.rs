//! What `check` says about templates that work, but hardly as their authors think.

use agentos_script::diagnostic::Severity;
use agentos_script::templates::{check_templates, has_errors};

use crate::support::workflow;
use crate::templates::Project;

fn found(body: &str) -> Vec<(Option<u32>, String)> {
    let project = Project::new();
    project.write("templates/a.ts", workflow(body));
    let diagnostics = check_templates(project.path());
    assert!(!has_errors(&diagnostics), "{diagnostics:?}");
    assert!(
        diagnostics.iter().all(|found| found.severity == Severity::Warning && found.help.is_some())
    );
    diagnostics.into_iter().map(|found| (found.line, found.message)).collect()
}

#[test]
fn a_clean_workflow_has_no_remarks() {
    let body = "const a = await ctx.run('a', async () => ctx.shell(`x ${Date.now()}`));\n\
                for (const n of [1, 2]) await ctx.run(`part ${n}`, async (step) => { await step.sleep(1); });\n\
                await Promise.all([ctx.run('b', async () => 1), ctx.phase('c', async () => { const later = ctx.sleep(1); await later; })]);\n\
                ctx.comment('x'); ctx.set('k', a);";
    assert_eq!(found(body), []);
}

#[test]
fn each_surprise_is_found_at_its_line() {
    for (body, line, words) in [
        (
            "await ctx.run('a', async (step) => {\n  await ctx.shell('x');\n});",
            4,
            "does not belong to the step",
        ),
        (
            "await ctx.run('a', async () => {\n  const ctx = 1;\n  return ctx;\n});",
            4,
            "hides the ctx",
        ),
        ("await ctx.run(`build ${Date.now()}`, async () => 1);", 3, "different in every run"),
        ("await ctx.run('build ' + Math.random(), async () => 1);", 3, "different in every run"),
        ("await ctx.waitFor(ctx.runId);", 3, "different in every run"),
        ("ctx.shell('x');\nawait ctx.sleep(1);", 3, "nobody awaits"),
        ("await ctx.run('a', async () => {\n  ctx.shell('x');\n});", 4, "nobody awaits"),
    ] {
        let found = found(body);
        assert_eq!(found.len(), 1, "{body}: {found:?}");
        assert_eq!(found[0].0, Some(line), "{body}: {found:?}");
        assert!(found[0].1.contains(words), "{body}: {found:?}");
    }
}
