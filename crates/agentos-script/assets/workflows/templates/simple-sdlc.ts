import { createWorkflow } from "agentos";
import { findTarget, implement, keepDiff, loadText, makeTestsPass, openPr, setUp, slug, writePlan } from "../lib/sdlc.ts";

// Try it: `agentos run simple-sdlc --feature-name "Dark mode" --spec-path specs/dark-mode.md`
export default createWorkflow(
  {
    name: "simple-sdlc",
    description: "Builds a feature from its spec: plan, implement, test, pull request",
    timeout: 21_600_000,
    agents: { planner: "claude", implementer: "codex" },
    input: {
      type: "object",
      properties: {
        featureName: { type: "string", minLength: 1, maxLength: 120, description: "What is built, in a few words" },
        specPath: { type: "string", format: "file", description: "The specification" },
        testCommand: { type: "string", minLength: 1, description: "How the tests are run; found by itself if left out" },
        maxFixes: { type: "integer", minimum: 0, maximum: 20, default: 3, description: "How often failing tests are fixed" },
        remote: { type: "string", description: "The remote that it is pushed to; found by itself if left out" },
        base: { type: "string", description: "The branch that the pull request is for; the main one if left out" },
        draft: { type: "boolean", description: "Open the pull request as a draft" },
      },
      required: ["featureName", "specPath"],
      additionalProperties: false,
    },
  },
  async (ctx) => {
    const { featureName: name, specPath, testCommand, remote, base, draft, maxFixes = 3 } = ctx.input;

    const spec = await ctx.run("load-spec", async () => loadText(ctx, specPath, "spec"));
    const start = await ctx.run("setup-branch", async () => {
      const target = await findTarget(ctx, { remote, base });
      return { ...(await setUp(ctx, testCommand)), target };
    });
    const feature = { name, spec, planPath: `.agent/plans/${slug(name)}.md`, testCommand: start.testCommand };

    await ctx.run("generate-plan", async () => writePlan(ctx, feature));
    await ctx.run("implement", async () => ctx.set("summary", await implement(ctx, feature)));
    await ctx.run("run-tests", async () => {
      ctx.set("fixes", await makeTestsPass(ctx, feature, maxFixes));
      await keepDiff(ctx, start.base);
    });

    const summary = ctx.get<string>("summary") ?? "";
    const pr = await ctx.run("create-pr", async () => openPr(ctx, feature, summary, { ...start.target, draft }));
    return { ...pr, fixes: ctx.get("fixes") };
  },
);
