import { createWorkflow, NonRetryableError } from "agentos";
import { change, findTarget, implement, keepDiff, loadText, makeTestsPass, openPr, review } from "../lib/sdlc.ts";
import { setUp, slug, writePlan, writeSpec } from "../lib/sdlc.ts";
import { rework } from "../lib/prompts.ts";

// Try it: `agentos run full-sdlc --feature-name "Dark mode" --brief notes.md`, then `agentos approve RUN` when it asks.
export default createWorkflow(
  {
    name: "full-sdlc",
    description: "Builds a feature from notes: spec, plan, approval, code, review, pull request",
    timeout: 43_200_000,
    agents: { planner: "claude", implementer: "codex", reviewer: "claude" },
    input: {
      type: "object",
      properties: {
        featureName: { type: "string", minLength: 1, maxLength: 120, description: "What is built, in a few words" },
        brief: { type: "string", format: "file", description: "Notes or an issue that say what is wanted" },
        text: { type: "string", minLength: 1, description: "The same as text, in the place of a file" },
        testCommand: { type: "string", minLength: 1, description: "How the tests are run; found by itself if left out" },
        approve: { type: "boolean", default: true, description: "Whether somebody approves the plan first" },
        maxFixes: { type: "integer", minimum: 0, maximum: 20, default: 3, description: "How often failing tests are fixed" },
        maxReviews: { type: "integer", minimum: 1, maximum: 20, default: 3, description: "How often it is reviewed at most" },
        remote: { type: "string", description: "The remote that it is pushed to; found by itself if left out" },
        base: { type: "string", description: "The branch that the pull request is for; the main one if left out" },
        draft: { type: "boolean", description: "Open the pull request as a draft" },
      },
      required: ["featureName"],
      additionalProperties: false,
    },
  },
  async (ctx) => {
    const { featureName: name, remote, base, draft, approve = true, maxFixes = 3, maxReviews = 3 } = ctx.input;

    const brief = await ctx.run("load-brief", async () => {
      const { brief, text } = ctx.input;
      if (brief !== undefined) return loadText(ctx, brief, "brief");
      if (text !== undefined) return text;
      throw new NonRetryableError("nothing says what is wanted: name a file with --brief, or say it with --text");
    });
    const start = await ctx.run("setup-branch", async () => {
      const target = await findTarget(ctx, { remote, base });
      return { ...(await setUp(ctx, ctx.input.testCommand)), target };
    });
    const spec = await ctx.run("generate-spec", async () => writeSpec(ctx, name, brief));
    const feature = { name, spec, planPath: `.agent/plans/${slug(name)}.md`, testCommand: start.testCommand };
    const plan = await ctx.run("generate-plan", async () => writePlan(ctx, feature));

    await ctx.run("approve-plan", async () => {
      if (!approve) ctx.skip("the input says that nobody has to approve the plan");
      const { approved, by, comment } = await ctx.approve(`Build "${name}" by this plan?\n\n${plan}`, { name: "plan" });
      ctx.comment(`${by} ${approved ? "approved" : "did not approve"} the plan`, { comment });
      if (!approved) throw new NonRetryableError(`the plan was not approved by ${by}${comment ? `: ${comment}` : ""}`);
    });

    let summary = await ctx.run("implement", async () => implement(ctx, feature));
    for (let round = 1; ; round += 1) {
      await ctx.run("run-tests", async () => makeTestsPass(ctx, feature, maxFixes));
      const verdict = await ctx.run("review", async () => review(ctx, feature, start.base, round));
      if (verdict.approved) break;
      if (round >= maxReviews) {
        const remarks = verdict.remarks.map((remark) => `- ${remark}`).join("\n");
        throw new NonRetryableError(`the review still wants changes after ${round === 1 ? "1 round" : `${round} rounds`}: ${verdict.summary}\n${remarks}`);
      }
      const more = await ctx.run("implement", async () =>
        change(ctx, "rework", `Settle the review: ${name}`, rework(feature, verdict.remarks), { resume: "implement" }),
      );
      summary = `${summary}\n\n${more}`;
    }

    return ctx.run("create-pr", async () => {
      await keepDiff(ctx, start.base);
      return openPr(ctx, feature, summary, { ...start.target, draft });
    });
  },
);
