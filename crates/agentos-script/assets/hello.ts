import { createWorkflow } from "agentos";

// Try it: `agentos run hello --name world`
export default createWorkflow(
  {
    name: "hello",
    description: "Says hello, and shows what a workflow looks like",
    input: {
      type: "object",
      properties: {
        name: { type: "string", description: "Whom to greet" },
      },
      required: ["name"],
    },
  },
  async (ctx) => {
    // A step is recorded, timed, and tried again if it fails. After a crash, finished work is not repeated.
    const greeting = await ctx.run("greet", async () => {
      const { stdout } = await ctx.shell("echo", { args: [`Hello, ${ctx.input.name}!`] });
      return stdout.trim();
    });

    // Steps can go on at the same time.
    const [files, last] = await Promise.all([
      ctx.run("count-files", async () => {
        const { stdout } = await ctx.shell("git ls-files | wc -l");
        return Number(stdout.trim());
      }),
      ctx.run("last-commit", async () => {
        const { stdout } = await ctx.shell("git log -1 --format=%s 2>/dev/null || echo none yet");
        return stdout.trim();
      }),
    ]);

    ctx.comment(`${greeting} There are ${files} files here; the last commit says: ${last}`);
    return { greeting, files, last };
  },
);
