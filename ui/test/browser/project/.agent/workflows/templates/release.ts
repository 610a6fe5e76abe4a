import { createWorkflow } from "agentos";

function judge(report) {
  if (!report.ok) throw new Error("the deployment went wrong: " + report.why);
}

export default createWorkflow({ name: "release", description: "Lets another run do the work, and waits until it is deployed", workspace: "none" }, async (ctx) => {
  await ctx.invoke("steps", { steps: 4 });
  judge(await ctx.waitFor("deployed"));
});
