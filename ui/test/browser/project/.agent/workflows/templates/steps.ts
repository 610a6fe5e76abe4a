import { createWorkflow } from "agentos";

export default createWorkflow({
  name: "steps",
  description: "As many steps as you like",
  input: { type: "object", properties: { steps: { type: "integer", minimum: 1, default: 10 }, megabytes: { type: "integer", minimum: 0, default: 0 } } },
}, async (ctx) => {
  if (ctx.input.megabytes) {
    await ctx.run("talk", async (ctx) => {
      await ctx.shell("yes 'the quick brown fox jumps over the lazy dog, again and again and again' | head -c " + ctx.input.megabytes * 300000 + "; echo 'error: the needle in the haystack'", { name: "talking" });
    });
  }
  for (let at = 0; at < (ctx.input.steps ?? 10); at += 4) {
    await Promise.all([0, 1, 2, 3].map((lane) => ctx.run("step " + (at + lane), async (ctx) => { ctx.set("last", at + lane); })));
  }
});
