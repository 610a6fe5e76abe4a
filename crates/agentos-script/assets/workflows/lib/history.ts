// Rewriting a range of changes, in git and in jj. The new commits are made beside the old ones first (`git merge-tree` and
// `git commit-tree` touch neither files nor branches); only if the last of them has the same files does anything move.

import { NonRetryableError } from "agentos";
import type { ShellResult, WorkflowContext } from "agentos";

/** A change; its id is the commit's in git, and the change's in jj. */
export interface Change {
  readonly id: string;
  readonly commit: string;
}

/** A series of changes, one on top of the other. */
export interface Range {
  readonly isJj: boolean;
  readonly gitDir: string;
  /** The commit below the first. */
  readonly base: string;
  /** The last commit of the range, and in git what is checked out above it. */
  readonly end: string;
  readonly head: string;
  /** Oldest first. */
  readonly changes: readonly Change[];
  /** What is on top of them in git, and comes along. */
  readonly above: readonly Change[];
}

export interface Group {
  readonly changes: readonly string[];
  readonly message: string;
}

const MOST_CHANGES = 100;
const LONGEST_DESCRIPTION = 200_000;

/** Executes a program without a shell in between; what it says, without the last line feed. */
async function ask(ctx: WorkflowContext, program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await ctx.shell(program, { name: `${program} ${args[0] ?? ""}`.trim(), args });
  return stdout.trimEnd();
}

/** The range, if it can be rewritten. */
export async function inspect(ctx: WorkflowContext, start: string, end: string): Promise<Range> {
  const range = (await ctx.files.exists(".jj")) ? await inspectJj(ctx, start, end) : await inspectGit(ctx, start, end);
  if (range.changes.length > MOST_CHANGES) {
    throw new NonRetryableError(`there are ${range.changes.length} changes in the range; at most ${MOST_CHANGES} are tidied at once`);
  }
  ctx.comment(`${range.changes.length} changes, up to ${range.end.slice(0, 12)}`);
  return range;
}

async function inspectGit(ctx: WorkflowContext, start: string, end: string): Promise<Range> {
  const commit = async (name: string): Promise<string> => {
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
    const found = await ctx.shell("git", { name: "git rev-parse", args, check: false });
    if (found.exitCode !== 0) throw new NonRetryableError(`there is no change \`${name}\` here`);
    return found.stdout.trim();
  };
  const [first, last, head] = [await commit(start), await commit(end), await commit("HEAD")];
  const changes = await series(ctx, first, last);
  const above = last === head ? [] : await series(ctx, last, head, "is not part of what is checked out");
  const base = await commit(`${first}^`).catch(() => {
    throw new NonRetryableError(`\`${start}\` is the first commit of all; begin with a later one`);
  });
  const gitDir = await ask(ctx, "git", ["rev-parse", "--absolute-git-dir"]);
  return { isJj: false, gitDir, base, end: last, head, changes, above: above.slice(1) };
}

/** The commits from one to another, both included; they have one parent each. */
async function series(ctx: WorkflowContext, first: string, last: string, why = "does not come after the first"): Promise<Change[]> {
  const isAbove = await ctx.shell("git", { name: "git merge-base", args: ["merge-base", "--is-ancestor", first, last], check: false });
  if (isAbove.exitCode !== 0) throw new NonRetryableError(`${last.slice(0, 12)} ${why} (${first.slice(0, 12)})`);
  const listed = await ask(ctx, "git", ["rev-list", "--reverse", "--topo-order", "--parents", `${first}..${last}`]);
  const lines = listed === "" ? [] : listed.split("\n").map((line) => line.split(" "));
  if (lines.some((line) => line.length !== 2)) throw new NonRetryableError("there are merges in the range; they can't be tidied");
  return [first, ...lines.map(([id]) => id ?? "")].map((id) => ({ id, commit: id }));
}

async function inspectJj(ctx: WorkflowContext, start: string, end: string): Promise<Range> {
  const template = 'change_id.short(16) ++ " " ++ commit_id ++ " " ++ parents.map(|p| p.commit_id()).join(",") ++ " " ++ conflict ++ "\\n"';
  const args = ["log", "--no-graph", "--reversed", "--color", "never", "-r", `(${start})::(${end})`, "-T", template];
  const found: ShellResult = await ctx.shell("jj", { name: "jj log", args, check: false });
  if (found.exitCode !== 0) throw new NonRetryableError(`the range can't be read: ${found.stderr.trim()}`);
  const rows = found.stdout.trim().split("\n").filter(Boolean).map((line) => line.split(" "));
  const [first, last] = [rows[0], rows[rows.length - 1]];
  if (!first || !last) throw new NonRetryableError(`\`${end}\` does not come after \`${start}\``);
  if (rows.some(([, , parents]) => parents?.includes(","))) throw new NonRetryableError("there are merges in the range; they can't be tidied");
  if (rows.some((row, index) => index > 0 && row[2] !== rows[index - 1]?.[1])) {
    throw new NonRetryableError("the changes of the range are not one on top of the other");
  }
  if (rows.some(([, , , conflict]) => conflict === "true")) throw new NonRetryableError("there are conflicts in the range; resolve them first");
  const changes = rows.map(([id = "", commit = ""]) => ({ id, commit }));
  const gitDir = await ask(ctx, "jj", ["git", "root"]);
  return { isJj: true, gitDir, base: first[2] ?? "", end: last[1] ?? "", head: last[1] ?? "", changes, above: [] };
}

/** Messages and differences, for somebody who has to judge them. */
export async function describe(ctx: WorkflowContext, range: Range): Promise<string> {
  const texts: string[] = [];
  let room = LONGEST_DESCRIPTION;
  for (const { id, commit } of range.changes) {
    const args = [`--git-dir=${range.gitDir}`, "show", "--no-color", "--no-ext-diff", "--format=%B", "--stat", "-p", commit];
    const { stdout } = await ctx.shell("git", { name: "git show", args });
    const text = stdout.length > room ? `${stdout.slice(0, Math.max(room, 500))}\n… (cut)` : stdout;
    room -= text.length;
    texts.push(`change ${id}\n${text}`);
  }
  return texts.join("\n\n");
}

/** Why these groups are not the changes, each once and in order; nothing if they are. */
export function complaint(ids: readonly string[], groups: readonly Group[]): string | undefined {
  const named = groups.flatMap((group) => group.changes);
  const unknown = named.find((id) => !ids.includes(id));
  if (unknown !== undefined) return `there is no change ${unknown}`;
  const missing = ids.find((id) => !named.includes(id));
  if (missing !== undefined) return `the change ${missing} is missing`;
  if (named.length !== ids.length) return "a change is named twice";
  if (groups.some((group) => group.message.trim() === "")) return "a group has no message";
  const place = (id: string | undefined): number => ids.indexOf(id ?? "");
  const isSorted = (list: readonly (string | undefined)[]): boolean =>
    list.every((id, index) => index === 0 || place(list[index - 1]) < place(id));
  if (!groups.every((group) => isSorted(group.changes))) return "the changes of a group are not in their order";
  if (!isSorted(groups.map((group) => group.changes[0]))) return "the groups are not in the order of their first changes";
  return undefined;
}

const FUNCTIONS = `set -eu
export GIT_DIR
tip=$BASE parent=$BASE
pick() {
  tree=$(git merge-tree --write-tree --merge-base="$1^" "$tip" "$1") || { echo "$1 does not fit where it would go" >&2; exit 3; }
  tip=$(git commit-tree "$tree" -p "$tip" -m picked)
}
seal() {
  GIT_AUTHOR_NAME=$(git log -1 --format=%an "$1") GIT_AUTHOR_EMAIL=$(git log -1 --format=%ae "$1")
  GIT_AUTHOR_DATE=$(git log -1 --format=%ad --date=raw "$1")
  export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
  tip=$(printf '%s\\n' "$2" | git commit-tree "$tree" -p "$parent") && parent=$tip
}`;

/** Whoever uses jj may have told git no name, and what is rehearsed there is thrown away. */
const NOBODY = {
  GIT_AUTHOR_NAME: "agentos", GIT_AUTHOR_EMAIL: "agentos@localhost",
  GIT_COMMITTER_NAME: "agentos", GIT_COMMITTER_EMAIL: "agentos@localhost",
};

/** Makes the new commits beside the old ones; the last of them, if the files are the same. */
export async function rehearse(ctx: WorkflowContext, range: Range, groups: readonly Group[]): Promise<string> {
  const commits = new Map(range.changes.map(({ id, commit }) => [id, commit]));
  const lines = [FUNCTIONS];
  const messages: Record<string, string> = {};
  groups.forEach((group, index) => {
    messages[`MESSAGE_${index}`] = group.message.trim();
    lines.push(...group.changes.map((id) => `pick ${commits.get(id)}`), `seal ${commits.get(group.changes[0] ?? "")} "$MESSAGE_${index}"`);
  });
  lines.push(...range.above.map(({ commit }) => `pick ${commit}; seal ${commit} "$(git log -1 --format=%B ${commit})"`));
  lines.push(`[ "$(git rev-parse "$tip^{tree}")" = "$(git rev-parse "$HEAD^{tree}")" ] || { echo "the files would not be the same" >&2; exit 3; }`);
  lines.push('echo "$tip"');
  const env = { GIT_DIR: range.gitDir, BASE: range.base, HEAD: range.head, ...messages, ...(range.isJj && NOBODY) };
  const { stdout, stderr, exitCode } = await ctx.shell(lines.join("\n"), { name: "rehearse", env, check: false });
  if (exitCode === 0) return stdout.trim();
  const why = `${stdout}\n${stderr}`.trim();
  if (exitCode === 3) throw new NonRetryableError(`refused, and nothing was changed: ${why}`);
  throw new Error(`the new commits can't be made (exit status ${exitCode}): ${why}`);
}

/** Puts the new commits in the place of the old ones. What was done before an interruption is not done again. */
export async function rewrite(ctx: WorkflowContext, range: Range, groups: readonly Group[], tip: string): Promise<void> {
  if (!range.isJj) {
    const script = `[ "$(git rev-parse HEAD)" = ${tip} ] || git update-ref -m "agentos: consolidate" HEAD ${tip} ${range.head}`;
    await ctx.shell(script, { name: "move-branch" });
    return;
  }
  // jj knows what follows from a change: it takes everything above along, and the changes keep their ids.
  for (const { changes: [first = "", ...others], message } of groups) {
    for (const other of others) {
      const squash = `jj squash --from ${other} --into ${first} --use-destination-message`;
      await ctx.shell(`[ -z "$(jj log --no-graph -r 'present(${other})' -T change_id)" ] || ${squash}`, { name: "squash" });
    }
    await ctx.shell("jj", { name: "describe", args: ["describe", "-r", first, "-m", message.trim()] });
  }
  const last = groups[groups.length - 1]?.changes[0] ?? "";
  const left = await ask(ctx, "jj", ["diff", "--summary", "--from", range.end, "--to", last]);
  if (left !== "") throw new NonRetryableError(`the files are not the same as before; compare with \`jj diff --from ${range.end}\`:\n${left}`);
  await ctx.shell("jj git export", { name: "export", check: false });
}
