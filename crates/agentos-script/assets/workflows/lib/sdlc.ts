// What the workflows for software development share: each function is (a part of) one step. `agentos init --examples` copies
// it with them. Change it as you like: runs that go on keep the code that they started with.

import { agent, CancelledError, NonRetryableError } from "agentos";
import type { PullRequestTarget, SessionOptions, WorkflowContext } from "agentos";
import * as prompts from "./prompts.ts";

/** What is to be built, and how it is tried. */
export interface Feature {
  readonly name: string;
  readonly spec: string;
  /** Where the plan is, from the workspace. */
  readonly planPath: string;
  readonly testCommand: string;
}

/** Where the work begins. */
export interface Start {
  readonly base: string;
  readonly testCommand: string;
}

/** What a reviewer says. */
export interface Review {
  readonly approved: boolean;
  readonly summary: string;
  readonly remarks: readonly string[];
}

const LONGEST_TEXT = 200_000;
const TEST_TIMEOUT = 1_800_000;
const OUTPUT_FOR_AGENTS = 12_000;
const OUTPUT_FOR_PEOPLE = 60_000;

const VERDICT = {
  type: "object",
  properties: {
    verdict: { enum: ["approve", "changes"] },
    summary: { type: "string" },
    remarks: { type: "array", items: { type: "string" } },
  },
  required: ["verdict", "summary", "remarks"],
} as const;

/** Lower-case letters, digits and dashes, fit for a file name. Where letters are lost that are not ASCII, a number stands for them. */
export function slug(text: string): string {
  const name = text.normalize("NFC").toLowerCase();
  const plain = name.replace(/[^a-z0-9]+/g, "-").slice(0, 60).replace(/^-+|-+$/g, "");
  if (plain !== "" && /^[\x00-\x7f]*$/.test(name)) return plain;
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193) >>> 0;
  }
  return `${plain || "unnamed"}-${hash.toString(16).padStart(8, "0")}`;
}

/** The end of a long text. */
export function tail(text: string, length: number): string {
  return text.length <= length ? text : `… (${text.length - length} characters left out)\n${text.slice(-length)}`;
}

/** A text that somebody has given as a file. */
export async function loadText(ctx: WorkflowContext, path: string, what: string): Promise<string> {
  const text = (await ctx.files.read(path)).trim();
  if (text === "") throw new NonRetryableError(`the ${what} is empty`);
  if (text.length > LONGEST_TEXT) {
    throw new NonRetryableError(`the ${what} has ${text.length} characters; at most ${LONGEST_TEXT} fit into a prompt`);
  }
  ctx.comment(`The ${what} has ${text.length} characters`);
  return text;
}

/** Where a pull request is to go. */
export interface Proposal {
  readonly remote?: string | undefined;
  readonly base?: string | undefined;
}

/** Where the pull request goes. What can't end with one is refused before an agent costs money. */
export async function findTarget(ctx: WorkflowContext, proposal: Proposal): Promise<PullRequestTarget> {
  const target = await ctx.git.checkPr({ remote: proposal.remote, base: proposal.base }).catch((error: Error) => {
    if (!(error instanceof NonRetryableError)) throw error;
    throw new NonRetryableError(`${error.message}\n(\`build-feature\` builds the same without a pull request)`);
  });
  if (target.note !== null) ctx.commentExecution(target.note, { note: true });
  ctx.comment(`For ${target.base} on ${target.remote} (${target.url})`);
  return target;
}

/** A branch for the work, and the command that tries it: better known before an agent costs money. */
export async function setUp(ctx: WorkflowContext, testCommand?: string): Promise<Start> {
  const command = testCommand ?? (await findTestCommand(ctx));
  const { branch, head } = await ctx.git.ensureBranch(`agentos/${ctx.runId}`);
  if (head === null) throw new NonRetryableError("the repository has no commit yet; make a first one");
  ctx.comment(`On branch ${branch}, from ${head.slice(0, 12)}; tests: ${command}`);
  return { base: head, testCommand: command };
}

async function findTestCommand(ctx: WorkflowContext): Promise<string> {
  const known: readonly [file: string, mark: string, command: string][] = [
    ["package.json", '"test"', "npm test"],
    ["Cargo.toml", "", "cargo test"],
    ["go.mod", "", "go test ./..."],
    ["pyproject.toml", "", "python -m pytest"],
    ["Makefile", "\ntest:", "make test"],
  ];
  for (const [file, mark, command] of known) {
    if ((await ctx.files.exists(file)) && `\n${await ctx.files.read(file)}`.includes(mark)) return command;
  }
  throw new NonRetryableError("nothing here says how the tests are run; say it: --test-command 'make check'");
}

/** A specification from a few words. */
export async function writeSpec(ctx: WorkflowContext, name: string, brief: string): Promise<string> {
  const text = await answer(ctx, "spec", "planner", prompts.spec(name, brief));
  await ctx.artifact("spec.md", { content: text, type: "DOCUMENT", mimeType: "text/markdown" });
  return text;
}

/** A plan, kept as a file of the branch. */
export async function writePlan(ctx: WorkflowContext, feature: Feature): Promise<string> {
  const plan = await answer(ctx, "plan", "planner", prompts.plan(feature));
  await ctx.artifact("plan.md", { content: plan, type: "DOCUMENT", mimeType: "text/markdown" });
  // Also one that an earlier attempt has written and not committed is part of what comes next.
  await ctx.files.delete(feature.planPath);
  const since = await ctx.git.getCurrentTree();
  await ctx.files.write(feature.planPath, `${plan}\n`);
  await ctx.git.commit(`Plan: ${feature.name}`, { since });
  ctx.comment(`The plan is in ${feature.planPath}`);
  return plan;
}

/** A session that only looks, and whose last message is what is wanted. */
export async function answer(
  ctx: WorkflowContext,
  name: string,
  role: string,
  prompt: string,
  options: SessionOptions = {},
): Promise<string> {
  const session = await ctx.runCli(name, agent(role), prompt, { permissionMode: "readOnly", ...options });
  const text = unfenced(session.text.trim());
  if (text === "") throw new Error(`${session.agent} answered nothing`);
  return text;
}

/** Agents like to put a whole document between fences. */
function unfenced(text: string): string {
  const found = /^```(?:markdown|md)?\n([\s\S]*)\n```$/.exec(text);
  return (found?.[1] ?? text).trim();
}

/**
 * A session that changes files, and the commit of what it changed. Gives what the agent says about it. What was there before
 * and is not committed, such as what tests have left behind, is not its work: it neither counts nor is it committed.
 */
export async function change(
  ctx: WorkflowContext,
  name: string,
  title: string,
  prompt: string,
  options: SessionOptions = {},
): Promise<string> {
  const before = await ctx.git.getCurrentCommit();
  const since = await ctx.git.getCurrentTree();
  const session = await ctx.runCli(name, agent("implementer"), prompt, options).catch(async (error: Error) => {
    // The next attempt finds it, and may have nothing left to do.
    if (!(error instanceof CancelledError)) {
      const { created } = await ctx.git.commit(`${title} (unfinished)\n\n${error.message.slice(0, 4_000)}`, { since });
      if (created) ctx.set("unfinished", name);
    }
    throw error;
  });
  await ctx.git.commit(`${title}\n\n${session.text.trim().slice(0, 4_000)}`, { since });
  // Whoever has committed in spite of what was said has changed something too.
  const { filesChanged, insertions, deletions } = await ctx.git.diff({ from: before ?? "HEAD", to: "HEAD", stat: true });
  if (filesChanged === 0 && ctx.get("unfinished") !== name) {
    throw new NonRetryableError(`${session.agent} changed no file; it says: ${tail(session.text, 2_000)}`);
  }
  ctx.delete("unfinished");
  ctx.comment(`${session.agent} changed ${counted(filesChanged, "file")} (+${insertions} −${deletions})`);
  return session.text.trim();
}

/** The feature itself. */
export async function implement(ctx: WorkflowContext, feature: Feature): Promise<string> {
  return change(ctx, "implement", feature.name, prompts.implement(feature));
}

/** Runs the tests; while they fail, the implementing agent gets their output and tries again. */
export async function makeTestsPass(ctx: WorkflowContext, feature: Feature, maxFixes: number): Promise<number> {
  const report = [`# Tests of ${feature.name}`];
  for (let fixes = 0; ; fixes += 1) {
    const run = await ctx.shell(feature.testCommand, { name: "test", check: false, timeout: TEST_TIMEOUT });
    const output = `${run.stdout}\n${run.stderr}`.trim();
    const passed = run.exitCode === 0;
    report.push(`## Run ${fixes + 1}: ${passed ? "passed" : `failed (exit status ${run.exitCode})`}`);
    report.push("```text", `$ ${feature.testCommand}`, tail(output, OUTPUT_FOR_PEOPLE), "```");
    if (passed || fixes >= maxFixes) {
      await ctx.artifact("test-report.md", { content: report.join("\n"), type: "TEST_REPORT", mimeType: "text/markdown" });
    }
    if (passed) {
      await tellChangedByTests(ctx);
      ctx.comment(fixes === 0 ? "The tests pass" : `The tests pass after ${counted(fixes, "attempt")} to fix them`);
      return fixes;
    }
    if (fixes >= maxFixes) {
      throw new NonRetryableError(`tests still fail after ${counted(fixes, "attempt")} to fix them:\n${tail(output, 4_000)}`);
    }
    ctx.comment(`The tests fail (exit status ${run.exitCode}): attempt ${fixes + 1} of ${maxFixes} to fix them`);
    const prompt = prompts.fix(feature, run.exitCode, tail(output, OUTPUT_FOR_AGENTS));
    await change(ctx, "fix", `Make the tests pass: ${feature.name}`, prompt, { resume: "implement" });
  }
}

/** Files of the history that the tests have changed, such as a lock file, are not committed: somebody may want to know. */
async function tellChangedByTests(ctx: WorkflowContext): Promise<void> {
  const { files } = await ctx.git.diff({ stat: true, untracked: false, limit: 5 });
  const names = files.map((file) => file.path).join(", ");
  if (names === "" || names === ctx.get("changedByTests")) return;
  ctx.set("changedByTests", names);
  ctx.commentExecution(`the tests have changed ${names}, which is not committed`, { note: true });
}

function counted(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}

/** What somebody else thinks of everything that was changed since `base`. */
export async function review(ctx: WorkflowContext, feature: Feature, base: string, round: number): Promise<Review> {
  const diff = await ctx.git.diff({ from: base, to: "HEAD", textBytes: LONGEST_TEXT });
  const prompt = prompts.review(feature, diff.text ?? "", diff.textTruncated, round);
  return verdict(ctx, prompt, round);
}

/** A reviewer's verdict. From the second round on, the reviewer still knows the first. */
export async function verdict(ctx: WorkflowContext, prompt: string, round: number): Promise<Review> {
  const session = await ctx
    .runCli("review", agent("reviewer"), prompt, {
      permissionMode: "readOnly",
      schema: VERDICT,
      ...(round > 1 && { resume: "review" }),
    })
    .catch(noVerdict);
  const { verdict, summary, remarks } = session.json;
  const approved = verdict === "approve";
  ctx.comment(`${session.agent} ${approved ? "approves" : "wants changes"}: ${summary}`, { round, remarks: [...remarks] });
  return { approved, summary, remarks: approved || remarks.length > 0 ? remarks : [summary] };
}

/** Who was reminded of the form and still does not keep to it will not do so at the next attempt either. */
function noVerdict(error: Error & { detail?: { exit_reason?: string } }): never {
  if (error.detail?.exit_reason !== "answer") throw error;
  throw new NonRetryableError(`the reviewer gave no verdict in the form that was asked for: ${error.message}`);
}

/** What was changed and committed, as an artifact. */
export async function keepDiff(ctx: WorkflowContext, base: string): Promise<void> {
  const diff = await ctx.git.diff({ from: base, to: "HEAD", textBytes: 1_000_000 });
  await ctx.artifact("changes.diff", {
    content: diff.text ?? "",
    type: "OTHER",
    mimeType: "text/x-diff",
    metadata: { filesChanged: diff.filesChanged, insertions: diff.insertions, deletions: diff.deletions },
  });
}

/** Where the work is. A fork has a branch of its own, so that only the end of a run knows. */
export interface Opened {
  readonly branch: string;
  /** Nothing where the remote is no known forge. */
  readonly prUrl: string | null;
}

/** Pushes the branch and opens a pull request. */
export async function openPr(
  ctx: WorkflowContext,
  feature: Feature,
  summary: string,
  options: Proposal & { readonly draft?: boolean | undefined },
): Promise<Opened> {
  const { remote, base, draft } = options;
  // Where it is ignored, nobody else has the file.
  const isCommitted = (await ctx.git.log({ paths: [feature.planPath], limit: 1 })).length > 0;
  const plan = isCommitted ? `The plan is in \`${feature.planPath}\`.` : `The plan is the artifact \`plan.md\` of ${ctx.runId}.`;
  const body = `${summary}\n\n${plan} \`${feature.testCommand}\` passes.`;
  const pr = await ctx.git.createPr({ title: feature.name, body, remote, base, draft });
  if (pr.behind > 0) ctx.comment(`${pr.base} has ${counted(pr.behind, "commit")} that this branch does not have`);
  if (pr.note !== null) ctx.comment(pr.note);
  const done = pr.prUrl === null ? `Pushed ${pr.branch}` : `${pr.created ? "Opened" : "Found"} ${pr.prUrl}`;
  ctx.commentExecution(done, { number: pr.number, commit: pr.commitSha });
  return { branch: pr.branch, prUrl: pr.prUrl };
}
