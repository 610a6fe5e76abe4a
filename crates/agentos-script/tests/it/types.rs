//! The types that the editor sees, judged by TypeScript's own compiler; and a package as it is on npm.

use std::os::unix::fs::symlink;

use agentos_script::assets::ASSETS;
use agentos_script::built_in::{self, EXAMPLES};
use agentos_script::templates::{check_templates, load_template};
use serde_json::json;

use crate::npm;
use crate::support::Bench;
use crate::templates::Project;

/// Uses everything, correctly.
const GOOD: &str = r#"
import { agent, CancelledError, claude, createWorkflow, NonRetryableError, TimeoutError } from "agentos";
import type { ArtifactType, StepStatus, WorkflowConfig, WorkflowContext, WorkflowDefinition, WorkflowStatus } from "workflow-sdk";
import { codex, gemini } from "@repo/agent-cli-sdk";

const kinds: ArtifactType[] = ["DOCUMENT"];
const statuses: [WorkflowStatus, StepStatus] = ["RUNNING", "SKIPPED"];
const agents = [claude, codex, gemini, agent("mine")];

async function review(ctx: WorkflowContext<{ readonly n: number }>): Promise<string> {
  return ctx.run("review", async () => (await ctx.shell("x", { cwd: "a", env: { A: "1" }, timeout: 5 })).stdout);
}

const workflow: WorkflowDefinition = createWorkflow(
  {
    name: "good",
    retry: { maxAttempts: 2, backoff: "linear" },
    workspace: { kind: "worktree" },
    input: {
      type: "object",
      properties: {
        n: { type: "number" },
        mode: { enum: ["fast", "slow"] },
        tags: { type: "array", items: { type: "string" } },
      },
      required: ["n"],
    },
  },
  async (ctx) => {
    const n: number = ctx.input.n;
    const mode: "fast" | "slow" | undefined = ctx.input.mode;
    const tags: readonly string[] = ctx.input.tags ?? [];
    await review(ctx);
    const text: string = await ctx.run("a", (step) => step.attempt + mode!, { retry: false, onRetry: (e, k) => { e?.message; k.toFixed(); } });
    const { approved } = await ctx.approve("Go on?", { timeout: 1_000 });
    const event = await ctx.waitFor<{ id: string }>("event");
    await ctx.artifact("report", { content: text, type: "TEST_REPORT" });
    await ctx.artifact("log", { file: "a.log" });
    const notes: string = await ctx.files.read("notes.md");
    const raw: Uint8Array = await ctx.files.read("raw", { encoding: "bytes" });
    await ctx.files.write("copy", raw, { executable: true });
    const paths: readonly string[] = await ctx.files.list("src/*.ts");
    const had: boolean = await ctx.files.delete(paths[0] ?? notes, { recursive: true });
    if (had && !(await ctx.files.exists("x"))) await ctx.files.copy("a", "b");
    await ctx.git.ensureBranch("topic", { from: "main" });
    const { commitSha, created } = await ctx.git.commit("done", { all: true, author: { name: "Ada", email: "a@b" }, trailers: { "Reviewed-by": ["Bob", "Eve"] } });
    const status = await ctx.git.status({ limit: 5 });
    const changed: readonly string[] = status.entries.filter((entry) => entry.kind === "untracked").map((entry) => entry.from ?? entry.path);
    const { filesChanged, text: patch } = await ctx.git.diff({ from: commitSha, mergeBase: true, paths: changed });
    const [last] = await ctx.git.log({ limit: 1 });
    const { staged } = await ctx.git.stageAll();
    const branch: string | null = await ctx.git.getCurrentBranch() ?? await ctx.git.getCurrentCommit();
    await ctx.approve("Ship it?", { diff: true });
    await ctx.approve("Ship it?", { diff: { from: "main", mergeBase: true } });
    ctx.comment("saved", { created, filesChanged, patch, staged, branch, by: last?.authorName });
    ctx.commentExecution("saved");
    await ctx.sleep(10);
    try {
      await ctx.invoke<number>("other", { a: 1 });
    } catch (error) {
      if (error instanceof CancelledError || error instanceof TimeoutError) throw error;
      throw new NonRetryableError("no", { cause: error });
    }
    if (!approved) ctx.skip("no");
    ctx.set("k", { n, tags });
    const kept = ctx.get<{ n: number }>("k");
    ctx.log.info("done", kept?.n, event.id, kinds, statuses, agents);
    console.log(new Date());
    return kept;
  },
);
export default workflow;
export const config: WorkflowConfig = { name: "x" };
"#;

/// What must not pass, each with what the compiler has to say about it.
const BAD: [(&str, &str); 14] = [
    ("await ctx.git.commit('x', { allowEmty: true });", "Did you mean to write 'allowEmpty'"),
    ("await ctx.approve('x', { diff: { form: 'main' } });", "'form' does not exist"),
    ("await ctx.shell('x', { tiemout: 5 });", "Did you mean to write 'timeout'"),
    (
        "await ctx.run('a', async () => 1, { retry: { maxAttemps: 2 } });",
        "Did you mean to write 'maxAttempts'",
    ),
    ("await ctx.run('a', async () => 1, { retry: { backoff: 'quadratic' } });", "quadratic"),
    ("await ctx.sleep('soon');", "not assignable to parameter of type 'number'"),
    ("ctx.input.nn;", "Property 'nn' does not exist"),
    ("const n: string = ctx.input.n;", "not assignable to type 'string'"),
    ("(ctx as any as typeof ctx).input = 1 as any;", "read-only"),
    ("await ctx.artifact('a', { type: 'DOCUMENT' });", "not assignable"),
    ("setTimeout(() => {}, 1);", "Cannot find name 'setTimeout'"),
    ("await fetch('x');", "Cannot find name 'fetch'"),
    ("process.exit();", "Cannot find name 'process'"),
    ("await ctx.shel('x');", "Did you mean 'shell'"),
];

fn project() -> Project {
    let project = Project::new();
    for asset in ASSETS {
        project.write_at(asset.path, asset.text);
    }
    project
}

#[test]
fn typescript_accepts_what_is_right_and_says_what_is_wrong() {
    let project = project();
    let workflows = project.path().join(".agent/workflows");
    project.write("templates/good.ts", GOOD);
    let output = npm::tsc(&workflows);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    load_template(project.path(), "good.ts").expect("what TypeScript accepts can be loaded");

    project.write("templates/good.ts", "export {};");
    let body: String = BAD.iter().map(|(line, _)| format!("{line}\n")).collect();
    project.write(
        "templates/bad.ts",
        format!(
            "import {{ createWorkflow }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"bad\", input: {{ type: \"object\", properties: \
             {{ n: {{ type: \"number\" }} }}, required: [\"n\"] }} }}, async (ctx) => {{\n{body}}});\n"
        ),
    );
    let said = String::from_utf8_lossy(&npm::tsc(&workflows).stdout).into_owned();
    for (nth, (line, words)) in BAD.iter().enumerate() {
        let place = format!("templates/bad.ts({},", nth + 3);
        let mut about = said.lines().filter(|said| said.contains(&place));
        assert!(about.any(|said| said.contains(words)), "{line}: {said}");
    }
}

#[test]
fn built_in_workflows_are_what_typescript_accepts_and_agentos_has_nothing_to_complain_about() {
    let project = project();
    for asset in EXAMPLES {
        project.write_at(asset.path, asset.text);
    }
    let output = npm::tsc(&project.path().join(".agent/workflows"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(check_templates(project.path()), []);
    for name in built_in::names() {
        let built_in = built_in::load(name).expect("it can be loaded").expect("it is there");
        let copy = load_template(project.path(), &format!("{name}.ts")).expect("so can the copy");
        assert_eq!((built_in.name(), built_in.hash()), (name, copy.hash()));
        assert!(!built_in.config().agents.is_empty(), "{name}");
    }
    assert!(built_in::load("nothing").expect("nothing is wrong").is_none());
}

#[test]
fn a_schema_of_zod_becomes_json_schema() {
    let project = project();
    let modules = npm::package("zod", "4");
    symlink(modules, project.path().join("node_modules")).expect("a link");
    let template = "import { createWorkflow } from \"agentos\";\nimport * as z from \"zod\";\n\
         export default createWorkflow({ name: \"a\", input: z.object({ n: z.number(), tags: z.array(z.string()).default([]) }) },\n\
         async (ctx) => { const n: number = ctx.input.n; return z.number().parse(n); });\n";
    project.write("templates/a.ts", template);
    let definition =
        load_template(project.path(), "a.ts").unwrap_or_else(|error| panic!("{error}"));
    let schema = definition.config().input.clone().expect("a schema");
    assert_eq!(schema["properties"]["n"], json!({ "type": "number" }));
    assert_eq!(schema["required"], json!(["n"]));
    let driven = Bench::new(definition.into()).input(json!({ "n": 5 })).run_once();
    assert_eq!(*driven.output(), json!(5));
    let output = npm::tsc(&project.path().join(".agent/workflows"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
