import { createWorkflow } from "agentos";

export default createWorkflow({
  name: "slow",
  description: "Prints lines until it is cancelled",
  input: { type: "object", properties: { lines: { type: "integer", title: "Lines", description: "So many at once, then five in a second", minimum: 0, default: 0 } } },
}, async (ctx) => {
  const lines = ctx.input.lines ?? 0;
  await ctx.run("tick", async (ctx) => {
    // It is bounded, so that it ends also if its server is killed.
    await ctx.shell("seq -f 'tick %.0f' 1 " + lines + "; i=" + lines + "; while [ $i -lt 6000 ]; do i=$((i+1)); echo tick $i; sleep 0.2; done", { name: "ticking" });
  });
});
