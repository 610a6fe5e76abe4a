import { agent, createWorkflow, NonRetryableError } from "agentos";
import { complaint, describe, inspect, rehearse, rewrite } from "../lib/history.ts";
import { regroup } from "../lib/prompts.ts";

const GROUPS = {
  type: "object",
  properties: {
    groups: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: { changes: { type: "array", items: { type: "string" }, minItems: 1 }, message: { type: "string" } },
        required: ["changes", "message"],
      },
    },
  },
  required: ["groups"],
} as const;

// Try it: `agentos run consolidate --workspace-id tidy --start-change HEAD~4 --end-change HEAD`
export default createWorkflow(
  {
    name: "consolidate",
    description: "Tidies a range of changes: squashes fixups, rewrites messages",
    agents: { editor: "claude" },
    input: {
      type: "object",
      properties: {
        startChange: { type: "string", minLength: 1, description: "The first change: a commit, or a change of jj" },
        endChange: { type: "string", minLength: 1, description: "The last change" },
      },
      required: ["startChange", "endChange"],
      additionalProperties: false,
    },
  },
  async (ctx) => {
    const { startChange, endChange } = ctx.input;
    const range = await ctx.run("inspect", async () => inspect(ctx, startChange, endChange));
    const ids = range.changes.map((change) => change.id);

    const groups = await ctx.run("propose", async () => {
      const prompt = regroup(ids, await describe(ctx, range));
      const look = { permissionMode: "readOnly", schema: GROUPS } as const;
      let { groups } = (await ctx.runCli("propose", agent("editor"), prompt, look)).json;
      let wrong = complaint(ids, groups);
      if (wrong !== undefined) {
        const again = `That can't be done: ${wrong}. Say it again, with each of the ids exactly once: ${ids.join(", ")}`;
        ({ groups } = (await ctx.runCli("propose", agent("editor"), again, { ...look, resume: "propose" })).json);
        wrong = complaint(ids, groups);
      }
      if (wrong !== undefined) throw new NonRetryableError(`the editor's proposal can't be used: ${wrong}`);
      ctx.comment(`${ids.length} changes become ${groups.length}`, groups);
      return groups;
    });

    // Nothing is touched before it is known that the files at the end are the same.
    const tip = await ctx.run("verify", async () => rehearse(ctx, range, groups));
    await ctx.run("rewrite", async () => {
      await rewrite(ctx, range, groups, tip);
      ctx.comment(`The end of the range was ${range.end} before, with the same files`);
    });
    return { before: ids.length, after: groups.length, previousEnd: range.end };
  },
);
