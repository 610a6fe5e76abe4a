import { createWorkflow } from "agentos";

const EVIL = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>";

export default createWorkflow({ name: "hostile", description: EVIL }, async (ctx) => {
  await ctx.run(EVIL, async (ctx) => {
    ctx.log.error(EVIL);
    await ctx.shell("printf '%s\\n' \"$EVIL\"; printf '\\033]8;;javascript:alert(1)\\033\\\\click\\033]8;;\\033\\\\\\n'", { name: EVIL, env: { EVIL } });
    ctx.comment(EVIL + "\n\n[click](javascript:document.title='pwned') ![x](http://evil.invalid/x.png)\n\n<iframe src=\"http://evil.invalid\"></iframe><style>body{display:none}</style>");
    await ctx.artifact("evil.html", { content: "<h1>A report</h1>" + EVIL + "<script>parent.document.title='pwned'; fetch('/api/projects')</script>", type: "DOCUMENT", mimeType: "text/html" });
    await ctx.artifact("evil.md", { content: "# Hello\n\n" + EVIL + "\n\n[x](javascript:document.title='pwned')", type: "DOCUMENT", mimeType: "text/markdown" });
    await ctx.artifact("evil.svg", { content: "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'><script>parent.document.title='pwned'</script><rect width='40' height='40' fill='red'/></svg>", type: "SCREENSHOT", mimeType: "image/svg+xml" });
    await ctx.artifact("evil.txt", { content: EVIL, type: "OTHER", mimeType: "text/plain" });
    await ctx.files.write("evil.html", EVIL + "\n");
  });
  return { evil: EVIL };
});
