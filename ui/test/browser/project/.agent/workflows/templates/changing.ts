import { createWorkflow, claude, codex } from "agentos";

const PARTS = ["api", "docs"];

export default createWorkflow({ name: "changing", description: "Waits before it builds its last part; its tests change it meanwhile" }, async (ctx) => {
  await ctx.run("plan", async (ctx) => {
    await ctx.runCli("plan", claude, "Plan it", { permissionMode: "readOnly" });
  });
  await ctx.phase("build", async (ctx) => {
    for (const part of PARTS) {
      await ctx.run("implement " + part, async (ctx) => {
        await ctx.runCli("implement " + part, codex, "Implement " + part);
        await ctx.artifact(part + ".md", { content: "# " + part, type: "DOCUMENT", mimeType: "text/markdown" });
        ctx.comment("Built " + part);
      });
    }
  });
  await ctx.waitFor("go");
  return { parts: PARTS };
});
