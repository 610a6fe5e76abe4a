import { createWorkflow } from "agentos";

export default createWorkflow({
  name: "broken",
  description: "Fails in its second step",
}, async (ctx) => {
  await ctx.run("prepare", async (ctx) => {
    await ctx.shell("printf prep; sleep 0.3; echo aring", { name: "prepare" });
  });
  await ctx.run("compile", async (ctx) => {
    await ctx.shell("echo '   Compiling shop v0.1.0'; echo 'error[E0308]: mismatched types' >&2; exit 101", { name: "cargo build" });
  }, { retry: { maxAttempts: 2, delay: 300, jitter: false } });
});
