import { createWorkflow, claude, codex } from "agentos";

const PARTS = ["api", "ui", "docs"];

export default createWorkflow({
  name: "feature",
  description: "Plans a feature, builds its parts side by side, tests it, and asks before it is done",
  version: "1.2.0",
  input: {
    type: "object",
    properties: {
      title: { type: "string", title: "Title", description: "What is to be built", minLength: 3, maxLength: 80 },
      brief: { type: "string", title: "Brief", description: "More about it, in Markdown", maxLength: 2000 },
      priority: { type: "string", title: "Priority", enum: ["low", "normal", "high"], default: "normal" },
      reviewers: { type: "integer", title: "Reviewers", minimum: 1, maximum: 5, default: 2 },
      gate: { type: "boolean", title: "Ask before it is done", default: true },
      hold: { type: "string", title: "Hold", description: "A file: no part is built before it is removed" },
    },
    required: ["title"],
  },
}, async (ctx) => {
  await ctx.phase("plan", async (ctx) => {
    await ctx.run("plan", async (ctx) => {
      await ctx.runCli("plan", claude, "Plan: " + ctx.input.title, { permissionMode: "readOnly" });
    });
  });
  await ctx.phase("build", async (ctx) => {
    await Promise.all(PARTS.map((part) => ctx.run("implement " + part, async (ctx) => {
      await ctx.runCli("implement " + part, codex, "Implement " + part);
      await ctx.shell("printf '\\033[32m   Compiling\\033[0m shop-" + part + "\\n'; while [ -e \"$HOLD\" ]; do sleep 0.1; done; printf '\\033[32m    Finished\\033[0m in 0.4 s\\n'", { name: "build " + part, env: { HOLD: ctx.input.hold ?? "" } });
    })));
    await ctx.run("integration tests", async (ctx) => {
      ctx.log.info("attempt " + ctx.attempt);
      if (ctx.attempt < 3) {
        ctx.log.error("the database did not answer");
        await ctx.shell("echo 'running 42 tests'; echo 'error: connection refused (os error 111)' >&2; exit 7", { name: "cargo test" });
      }
      await ctx.shell("echo 'running 42 tests'; printf 'test result: \\033[32mok\\033[0m. 42 passed; 0 failed\\n'", { name: "cargo test" });
    }, { retry: { maxAttempts: 3, delay: 700, jitter: false } });
    await ctx.artifact("report.md", {
      content: "# Report\n\nAll parts of **" + ctx.input.title + "** are built.\n\n| part | lines |\n|---|---|\n| api | 3 |\n| ui | 1 |\n\n- [x] planned\n- [x] tested\n",
      type: "DOCUMENT", mimeType: "text/markdown",
    });
    await ctx.artifact("result.json", { content: JSON.stringify({ ok: true, parts: PARTS, tests: { passed: 42, failed: 0 } }), type: "OTHER", mimeType: "application/json" });
    await ctx.artifact("junit.xml", {
      content: '<testsuite><testcase classname="shop::cart" name="adds" time="0.01"/><testcase classname="shop::cart" name="pays" time="0.2"><failure message="no money">left: 0\nright: 1</failure></testcase></testsuite>',
      type: "TEST_REPORT", mimeType: "application/xml",
    });
  });
  ctx.comment("Everything is built. **One question** is left.");
  ctx.set("stage", "asking");
  if (ctx.input.gate !== false) {
    const answer = await ctx.approve("Open a pull request for “" + ctx.input.title + "”?");
    if (!answer.approved) throw new Error("It was rejected");
  }
  return { title: ctx.input.title, parts: PARTS };
});
