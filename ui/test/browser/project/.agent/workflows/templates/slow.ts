import { createWorkflow } from "agentos";

export default createWorkflow({ name: "slow", description: "Takes its time" }, async (ctx) => {
  await ctx.run("tick", async (ctx) => {
    await ctx.shell("for i in $(seq 1 600); do echo tick $i; sleep 0.2; done", { name: "ticking" });
  });
});
