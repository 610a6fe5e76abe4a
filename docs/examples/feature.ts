// A small feature: one agent plans, another implements step by step, the first one reviews.
import { createWorkflow, claude, codex } from "agentos";

export default createWorkflow({ name: "feature", description: "Plan, implement, review" }, async (ctx) => {
  const plan = await ctx.run("plan", async () =>
    ctx.runCli("plan", claude, "Plan the greeting. What are the steps?", {
      permissionMode: "readOnly",
      schema: {
        type: "object",
        properties: { steps: { type: "array", items: { type: "string" } } },
        required: ["steps"],
      },
    }),
  );
  for (const step of plan.json.steps) {
    await ctx.run("implement", async () => ctx.runCli("implement", codex, step, { budget: { tokens: 500_000 }, timeout: 1_800_000 }));
  }
  const review = await ctx.run("review", async () =>
    ctx.runCli("review", claude, "Review what was done, and mend it.", { resume: "plan" }),
  );
  return { steps: plan.json.steps.length, review: review.text };
});
