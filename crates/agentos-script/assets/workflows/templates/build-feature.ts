import { createWorkflow } from "agentos";
import { implement, keepDiff, loadText, makeTestsPass, setUp, slug, writePlan } from "../lib/sdlc.ts";

// Try it: `agentos run build-feature --feature-name "Dark mode" --spec-path specs/dark-mode.md`
export default createWorkflow(
  {
    name: "build-feature",
    description: "Builds a feature from its spec: plan, implement, test",
    timeout: 21_600_000,
    agents: { planner: "claude", implementer: "codex" },
    input: {
      type: "object",
      properties: {
        featureName: { type: "string", minLength: 1, maxLength: 120, description: "What is built, in a few words" },
        specPath: { type: "string", format: "file", description: "The specification" },
        testCommand: { type: "string", minLength: 1, description: "How the tests are run; found by itself if left out" },
        maxFixes: { type: "integer", minimum: 0, maximum: 20, default: 3, description: "How often failing tests are fixed" },
      },
      required: ["featureName", "specPath"],
      additionalProperties: false,
    },
  },
  async (ctx) => {
    const { featureName: name, specPath, testCommand, maxFixes = 3 } = ctx.input;

    const spec = await ctx.run("load-spec", async () => loadText(ctx, specPath, "spec"));
    const start = await ctx.run("setup-branch", async () => setUp(ctx, testCommand));
    const feature = { name, spec, planPath: `.agent/plans/${slug(name)}.md`, testCommand: start.testCommand };

    await ctx.run("generate-plan", async () => writePlan(ctx, feature));
    await ctx.run("implement", async () => implement(ctx, feature));
    return ctx.run("run-tests", async () => {
      const fixes = await makeTestsPass(ctx, feature, maxFixes);
      await keepDiff(ctx, start.base);
      return { branch: await ctx.git.getCurrentBranch(), commit: await ctx.git.getCurrentCommit(), fixes };
    });
  },
);
