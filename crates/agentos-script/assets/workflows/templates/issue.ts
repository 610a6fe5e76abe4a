import { createWorkflow, NonRetryableError } from "agentos";
import { answer, loadText, slug, verdict } from "../lib/sdlc.ts";
import { draftIssue, reviewIssue, reviseIssue } from "../lib/prompts.ts";

// Try it: `agentos run issue --brief notes.md`
export default createWorkflow(
  {
    name: "issue",
    description: "Writes an issue from notes: draft, review, revise until approved",
    workspace: "none",
    agents: { author: "claude", reviewer: "codex" },
    input: {
      type: "object",
      properties: {
        brief: { type: "string", format: "file", description: "Notes about what the issue is to say" },
        output: { type: "string", minLength: 1, description: "The file to write; issues/TITLE.md if left out" },
        maxReviews: { type: "integer", minimum: 1, maximum: 20, default: 3, description: "How often it is reviewed at most" },
      },
      required: ["brief"],
      additionalProperties: false,
    },
  },
  async (ctx) => {
    const { output, maxReviews = 3 } = ctx.input;

    const brief = await ctx.run("load-brief", async () => {
      if (output !== undefined && (await ctx.files.exists(output))) {
        throw new NonRetryableError(`${output} is there already, and is not overwritten; name another file with --output`);
      }
      return loadText(ctx, ctx.input.brief, "brief");
    });

    let draft = await ctx.run("draft", async () => answer(ctx, "draft", "author", draftIssue(brief)));
    for (let round = 1; ; round += 1) {
      const { approved, remarks } = await ctx.run("review", async () => verdict(ctx, reviewIssue(brief, draft, round), round));
      if (approved) break;
      if (round >= maxReviews) {
        await ctx.artifact("draft.md", { content: draft, type: "DOCUMENT", mimeType: "text/markdown" });
        throw new NonRetryableError(`the draft was not approved in ${round} rounds; it is kept as an artifact:\n${remarks.join("\n")}`);
      }
      draft = await ctx.run("revise", async () =>
        answer(ctx, "revise", "author", reviseIssue(draft, remarks), { resume: "draft" }),
      );
    }

    return ctx.run("save", async () => {
      const title = /^#+\s*(.+)$/m.exec(draft)?.[1]?.trim() ?? "Untitled";
      await ctx.artifact("issue.md", { content: draft, type: "DOCUMENT", mimeType: "text/markdown" });
      // Somebody else may have written it while the agents were at work.
      if (output !== undefined && (await ctx.files.exists(output))) {
        throw new NonRetryableError(`${output} is there by now, and is not overwritten; the issue is kept as the artifact issue.md`);
      }
      let file = output ?? `issues/${slug(title)}.md`;
      for (let number = 2; output === undefined && (await ctx.files.exists(file)); number += 1) {
        file = `issues/${slug(title)}-${number}.md`;
      }
      await ctx.files.write(file, `${draft}\n`);
      ctx.commentExecution(`The issue is in ${file}`);
      return { title, file };
    });
  },
);
