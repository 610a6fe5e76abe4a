// What a workflow can call. Written by `agentos init`; `agentos check` says when it is out of date.
// Everything here is documented where your editor shows it.

declare module "agentos" {
  /** A value that can be kept in the log: it survives `JSON.stringify`. */
  export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

  /** A JSON Schema. Written out in the config, it gives `ctx.input` its type. */
  export type JsonSchema = {
    readonly type?: string | readonly string[];
    readonly properties?: { readonly [key: string]: JsonSchema };
    readonly required?: readonly string[];
    readonly items?: JsonSchema;
    readonly enum?: readonly Json[];
    readonly const?: Json;
    readonly additionalProperties?: boolean | JsonSchema;
    readonly description?: string;
    readonly default?: Json;
    readonly [keyword: string]: unknown;
  };

  /** The type of what a schema allows. */
  export type FromSchema<S> =
    S extends { readonly const: infer C } ? C
    : S extends { readonly enum: readonly (infer E)[] } ? E
    : S extends { readonly type: "string" } ? string
    : S extends { readonly type: "number" | "integer" } ? number
    : S extends { readonly type: "boolean" } ? boolean
    : S extends { readonly type: "null" } ? null
    : S extends { readonly type: "array"; readonly items: infer I } ? readonly FromSchema<I>[]
    : S extends { readonly type: "array" } ? readonly unknown[]
    : S extends { readonly type: "object"; readonly properties: infer P } ? FromProperties<P, S>
    : S extends { readonly type: "object" } ? { readonly [key: string]: unknown }
    : unknown;

  type RequiredKeys<P, S> = S extends { readonly required: readonly (infer R)[] } ? Extract<keyof P, R> : never;

  type Flat<T> = { readonly [K in keyof T]: T[K] };

  type FromProperties<P, S> = Flat<
    { readonly [K in RequiredKeys<P, S>]: FromSchema<P[K]> } & {
      readonly [K in Exclude<keyof P, RequiredKeys<P, S>>]?: FromSchema<P[K]>;
    }
  >;

  /** A schema of a library that can be written as JSON Schema, such as zod 4. */
  export interface SchemaLike<T> {
    readonly "~standard": { readonly types?: { readonly output: T } | undefined };
  }

  /** When a failed step is tried again. */
  export interface Retry {
    /** How many attempts there are in all; 3 if nothing is said. */
    maxAttempts?: number;
    /** How the delay grows; `exponential` if nothing is said. */
    backoff?: "exponential" | "linear" | "fixed";
    /** The delay after the first attempt, in milliseconds; 1,000 if nothing is said. */
    delay?: number;
    /** What the delay never exceeds, in milliseconds; 60,000 if nothing is said. */
    maxDelay?: number;
    /** Whether the delay is drawn between its half and its whole; yes if nothing is said. */
    jitter?: boolean;
  }

  export type WorkspaceKind = "auto" | "worktree" | "clone" | "jj" | "none";

  export interface WorkflowConfig {
    /** Lower-case letters, digits and `-`. */
    name: string;
    description?: string;
    /** Your own version of it. */
    version?: string;
    /**
     * How long a run may be active, in milliseconds: waits do not count, but output that waits for room on a full disk does.
     * One hour if nothing is said.
     */
    timeout?: number;
    /** How long a run may take at all, in milliseconds. */
    deadline?: number;
    /**
     * What the input must look like. Before a run starts, defaults are applied and the input is checked. Properties that the
     * schema does not list are refused, unless it says `additionalProperties`.
     */
    input?: JsonSchema | SchemaLike<unknown>;
    /** Where runs work; in an isolated workspace if nothing is said. */
    workspace?: WorkspaceKind | { kind?: WorkspaceKind; base?: string };
    /** How steps are retried that say nothing about it. */
    retry?: Retry | false;
    /**
     * How many runs of this workflow are at work at once: the others wait for a slot. In this repository, or with the scope
     * `"user"` in all of yours. A run that only waits (for a person, a time, another run) does not count.
     */
    concurrency?: number | { limit: number; scope?: "repo" | "user" };
    /**
     * The roles that agents play, with the agent that plays each if nobody says otherwise: `{ reviewer: "claude" }`, used as
     * `agent("reviewer")`. `agentos run … --agent reviewer=codex` gives a role to another one for one run, `[roles]` in the
     * configuration for all. That each of them is installed is looked at before a run starts.
     */
    agents?: Readonly<Record<string, string>>;
  }

  export interface RunOptions {
    retry?: Retry | false;
    /** How long each attempt may take, in milliseconds, also while output waits for room on a full disk. */
    timeout?: number;
    /**
     * Called before each attempt after the first, with what the one before threw. Or `"rollback"`: before each attempt after the
     * first, the files of the workspace go back to how they were when the step began.
     */
    onRetry?: "rollback" | ((error: Error | undefined, attempt: number) => void | Promise<void>);
  }

  export interface ShellOptions {
    /** What the command is called in the log; a hash of it if nothing is said. */
    name?: string;
    /** Takes the command for a program and executes it with these arguments, without a shell in between. */
    args?: readonly string[];
    /** Where, relative to the workspace. */
    cwd?: string;
    /** Added to the command's environment. */
    env?: Readonly<Record<string, string>>;
    /** How long it may take, in milliseconds. Waiting for room on a full disk does not count. */
    timeout?: number;
    /** How long it may say nothing, in milliseconds. */
    idleTimeout?: number;
    /** What it reads from its standard input. */
    input?: string;
    /** Whether the call throws if the command says that it failed; yes if nothing is said. */
    check?: boolean;
  }

  export interface ShellResult {
    readonly stdout: string;
    readonly stderr: string;
    /** As shells count it: a command that a signal ended has 128 and the signal. */
    readonly exitCode: number;
    readonly signal?: number | null;
    readonly durationMs?: number;
    /** Whether the middle of the output was left out because there was too much of it. */
    readonly truncated?: boolean;
  }

  export type WorkflowStatus = "PENDING" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT";
  export type StepStatus = "PENDING" | "RUNNING" | "COMPLETED" | "FAILED" | "RETRYING" | "SKIPPED" | "CANCELLED";
  export type ArtifactType =
    | "SCREENSHOT" | "LOG_FILE" | "SESSION_FILE" | "TEST_REPORT" | "BUILD_OUTPUT" | "DOCUMENT" | "OTHER";

  interface ArtifactOptions {
    type?: ArtifactType;
    mimeType?: string;
    metadata?: Json;
  }

  /**
   * What is kept: a text, or files of the workspace: a file, a folder with everything in it, or a pattern as `logs/*.txt`.
   */
  export type Artifact = ArtifactOptions & ({ content: string; file?: undefined } | { file: string; content?: undefined });

  /** What was kept. */
  export interface StoredArtifact {
    readonly name: string;
    /** Where it is, relative to the project. */
    readonly path: string;
    readonly sizeBytes: number;
    /** Missing if it is several files. */
    readonly sha256?: string;
    readonly mimeType?: string;
    /** How many files it has. */
    readonly files: number;
    /** How much was left out: symbolic links, what is no file (pipes, sockets), and names with control characters. */
    readonly skipped?: number;
  }

  /** What a person decided. */
  export interface Decision {
    readonly approved: boolean;
    readonly by: string;
    readonly comment?: string | null;
  }

  /** Lines for the log files. Each is written once, however often the run is executed again. */
  export interface Log {
    trace(...parts: unknown[]): void;
    debug(...parts: unknown[]): void;
    info(...parts: unknown[]): void;
    warn(...parts: unknown[]): void;
    error(...parts: unknown[]): void;
    fatal(...parts: unknown[]): void;
  }

  export interface WriteOptions {
    /** Whether folders that are missing are made: `true`, unless it is said otherwise. */
    createDirs?: boolean;
    /** Makes it a program. */
    executable?: boolean;
    /** Its permissions, as `0o644`, at most `0o777`; otherwise those of the file that was there, or those that new files have. */
    mode?: number;
  }

  /**
   * The files of the workspace, by paths relative to it. No path leads out of it, not even by a symbolic link, and
   * nothing is changed in `.git`, `.jj`, `.agentos` and `.agent/workflows/executions`. An input of the format `file` is a path that can be read.
   */
  export interface Files {
    /** The text that a file holds, up to 2 MB. Keep larger ones as artifacts. */
    read(path: string, options?: { encoding?: "utf8" }): Promise<string>;
    /** What a file holds, whatever it is. */
    read(path: string, options: { encoding: "bytes" }): Promise<Uint8Array>;
    /** Writes a file as a whole: whoever reads it sees the old one or the new one. */
    write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<void>;
    /** Whether there is something. What a symbolic link leads to counts. */
    exists(path: string): Promise<boolean>;
    /**
     * Deletes a file, or a folder with `recursive`. Whether there was something to delete. A folder with a repository below
     * is not deleted.
     */
    delete(path: string, options?: { recursive?: boolean }): Promise<boolean>;
    /**
     * What is in a folder (folders end in `/`), or the files and links that match a pattern, as `src/*.ts`; sorted, at most
     * 10,000. `**` stands for any folders. Links are not followed; what is in `.git`, `.jj`, `.agentos` and the folders of
     * runs is left out.
     */
    list(pathOrPattern?: string): Promise<readonly string[]>;
    /** Copies a file of the workspace, or an input into it. */
    copy(from: string, to: string, options?: { createDirs?: boolean }): Promise<void>;
  }

  /** A branch that is there and checked out. */
  export interface Branch {
    readonly branch: string;
    /** Its commit; `null` before the first. */
    readonly head: string | null;
    /** Whether it was made for this. A call that was interrupted and is made again may find it there, and says `false`. */
    readonly created: boolean;
    /** Whether something else was checked out before. */
    readonly switched: boolean;
  }

  export interface CommitOptions {
    /** Who wrote it; whoever git is configured for if nothing is said. */
    author?: { readonly name: string; readonly email: string };
    /** Lines at the end of the message: `{ "Reviewed-by": "Ada <ada@example.com>" }`. */
    trailers?: Readonly<Record<string, string | readonly string[]>>;
    /** Stages everything first. */
    all?: boolean;
    /**
     * Stages first what has changed since the files were this tree, which `getCurrentTree` gave; in the place of `all`. What
     * was there before stays uncommitted, such as what tests have left behind.
     */
    since?: string;
    /** Makes it even if it changes nothing. */
    allowEmpty?: boolean;
    /** Whether it is signed; as git is configured if nothing is said. */
    sign?: boolean;
    /** Leaves out the hooks that could refuse it. */
    noVerify?: boolean;
    /** How long it may take with its hooks, in milliseconds; ten minutes if nothing is said. */
    timeout?: number;
  }

  /** A commit that was made, or was not needed. */
  export interface Committed {
    /** It, or if there was nothing to commit the one that is checked out. */
    readonly commitSha: string;
    /** The branch that it is on; `null` if none is checked out. */
    readonly branch: string | null;
    /** Whether it was made for this. If not, there was nothing to commit. */
    readonly created: boolean;
  }

  export type ChangeKind =
    | "added" | "modified" | "deleted" | "renamed" | "copied" | "retyped" | "untracked" | "conflicted";

  /** How the files of the workspace stand. */
  export interface GitStatus {
    /** What is checked out; `null` if it is a commit. */
    readonly branch: string | null;
    /** Its commit; `null` before the first. */
    readonly head: string | null;
    /** The branch that it follows. */
    readonly upstream: string | null;
    /** How many commits that one does not have. */
    readonly ahead: number;
    /** How many commits only that one has. */
    readonly behind: number;
    /** What was begun and is not over. */
    readonly operation: "merge" | "rebase" | "cherry-pick" | "revert" | "bisect" | null;
    /** Whether nothing is changed. */
    readonly clean: boolean;
    /** How many files are changed at all. */
    readonly total: number;
    readonly staged: number;
    readonly unstaged: number;
    readonly untracked: number;
    readonly conflicted: number;
    /** The changed files, or the first of them. */
    readonly entries: readonly GitStatusEntry[];
    /** Whether there are more. */
    readonly truncated: boolean;
  }

  export interface GitStatusEntry {
    readonly path: string;
    /** Where it was, if it was renamed or copied. */
    readonly from?: string;
    /** The two letters that git shows for it, such as `" M"`. */
    readonly code: string;
    readonly kind: ChangeKind;
  }

  /** What is compared with what. */
  export interface DiffSides {
    /** The old side; what is checked out if nothing is said. */
    from?: string;
    /** The new side; the files as they are if nothing is said. */
    to?: string;
    /** The new side is what is staged. */
    staged?: boolean;
    /** The old side is where the two sides parted. */
    mergeBase?: boolean;
    /** Only these files and folders. They are paths, not patterns. */
    paths?: readonly string[];
    /** Whether files that are not part of the history yet count; yes if nothing is said. */
    untracked?: boolean;
  }

  export interface DiffOptions extends DiffSides {
    /** Only numbers, no text. */
    stat?: boolean;
    /** How long the text may be, in bytes; 256 KiB if nothing is said, never more than 1 MiB. */
    textBytes?: number;
    /** How many changed files are named at most; 1,000 if nothing is said, never more than 10,000. */
    limit?: number;
  }

  /** What differs. */
  export interface Diff {
    readonly filesChanged: number;
    readonly insertions: number;
    readonly deletions: number;
    /** The files, or the first of them. */
    readonly files: readonly {
      /** It ends with `/` if it is a folder with a repository of its own, of which nothing more is known. */
      readonly path: string;
      /** Where it was, if it has another name now. */
      readonly from?: string;
      readonly insertions: number;
      readonly deletions: number;
      readonly binary: boolean;
    }[];
    /** Whether there are more files. */
    readonly truncated: boolean;
    /** The difference as text, or its beginning; missing with `stat`. */
    readonly text?: string;
    /** Whether the text goes on. */
    readonly textTruncated: boolean;
  }

  export interface LoggedCommit {
    readonly sha: string;
    readonly parents: readonly string[];
    readonly authorName: string;
    readonly authorEmail: string;
    /** As RFC 3339 has it. */
    readonly authoredAt: string;
    readonly committedAt: string;
    readonly subject: string;
    /** The whole message, or the beginning of a long one. */
    readonly message: string;
  }

  export interface PushOptions {
    /**
     * Where to. If nothing is said: that of git's `remote.pushDefault`, else `origin`, else the one that the branch follows,
     * else the only one there is.
     */
    remote?: string;
    /** Which; the branch that is checked out if nothing is said. */
    branch?: string;
    /**
     * What the remote has may be replaced if it was once part of this branch here: an amended commit can be pushed. With
     * `"lease"` also whatever was there when this repository last looked; with `false` nothing.
     */
    force?: "lease" | false;
    /** Whether the branch follows the one over there from now on. It does if nothing is said. */
    setUpstream?: boolean;
    /** Milliseconds that it may take, hooks included; ten minutes if nothing is said. */
    timeout?: number;
  }

  /** A branch that is on a remote. */
  export interface Pushed {
    readonly remote: string;
    /** The remote's address, without a password. */
    readonly url: string;
    readonly branch: string;
    readonly commitSha: string;
    /** What it took; `unchanged` if it was there already. */
    readonly outcome: "created" | "updated" | "rewritten" | "unchanged";
    /** The commit that was there before. */
    readonly previous?: string;
  }

  export interface PullRequestOptions {
    title: string;
    /** What it is about, in Markdown. Placed in the template. */
    body?: string;
    /** The text of a template, in the place of the project's `.agent/pull_request_template.md`. */
    template?: string;
    /** The branch that it is for; the remote's main one if nothing is said. */
    base?: string;
    /** The branch with the work; the one that is checked out if nothing is said. */
    head?: string;
    /** As for `push` if nothing is said. */
    remote?: string;
    draft?: boolean;
    labels?: readonly string[];
    /** Users who are asked for a review; on GitHub `organisation/team` for a team. */
    reviewers?: readonly string[];
    /** What to do if the base has commits that the work does not have: say so (`continue`), `rebase` onto them, or `fail`. */
    onBehind?: "continue" | "rebase" | "fail";
    /** Milliseconds that each part of it may take; ten minutes if nothing is said. */
    timeout?: number;
  }

  /** Where a pull request would go. */
  export interface PullRequestTarget {
    readonly remote: string;
    /** The remote's address, without a password. */
    readonly url: string;
    /** The branch that it would be for. */
    readonly base: string;
    /** `null` if the remote is on no known forge: then a branch is only pushed. */
    readonly forge: "github" | "gitlab" | "forgejo" | null;
    /** Why no pull request could be opened, and what to do about it; `null` if one can. */
    readonly note: string | null;
  }

  /** A pull request that there is, or a branch that was only pushed. */
  export interface PullRequest {
    /** `null` where there is no known forge. */
    readonly prUrl: string | null;
    readonly number: number | null;
    /** Whether it was opened for this, and not found. */
    readonly created: boolean;
    readonly branch: string;
    readonly base: string;
    readonly commitSha: string;
    /** How many commits of the base the work does not have. */
    readonly behind: number;
    /** How many commits the base does not have. */
    readonly ahead: number;
    readonly rebased: boolean;
    readonly pushed: Pushed;
    /** `null` if the remote is on no known forge: then the branch was only pushed. */
    readonly forge: "github" | "gitlab" | "forgejo" | null;
    /** What is to be known besides, such as a reviewer whom the forge does not know. */
    readonly note: string | null;
  }

  /**
   * The history of the workspace. A call that was interrupted is made again and finds out what is done already: there is one
   * commit, however often the run is interrupted. Its hooks may run again. Calls that change something take turns.
   */
  export interface Git {
    /** Sees to it that this branch exists and is checked out; `from` says where it begins if there is none yet. */
    ensureBranch(name: string, options?: { from?: string; timeout?: number }): Promise<Branch>;
    /** The branch that is checked out; `null` if it is a commit. */
    getCurrentBranch(): Promise<string | null>;
    /**
     * Commits what is staged, or with `all` everything. If there is nothing to commit, `created` is `false`; files that
     * were changed and not staged make it throw, and so does a hook that refuses. With `all`, so does a folder that has a
     * repository of its own and is not ignored, as its files would be missing.
     */
    commit(message: string, options?: CommitOptions): Promise<Committed>;
    /** The commit that is checked out; `null` before the first. */
    getCurrentCommit(): Promise<string | null>;
    /**
     * The files as they are, those that nobody has committed included (and those that are ignored not), as the id of a
     * tree: with `commit({ since })` only what changes from now on is committed.
     */
    getCurrentTree(): Promise<string>;
    /** Makes everything that was changed, added or removed part of the next commit. Throws as `commit` with `all` does. */
    stageAll(): Promise<{ readonly staged: number }>;
    status(options?: { limit?: number }): Promise<GitStatus>;
    /** What differs: between the files and what is checked out, unless it is said otherwise. */
    diff(options?: DiffOptions): Promise<Diff>;
    /** Commits, the latest first; 20 if nothing is said. */
    log(options?: { limit?: number; from?: string; to?: string; paths?: readonly string[] }): Promise<readonly LoggedCommit[]>;
    /**
     * Sees to it that the branch is on its remote as it is here. Somebody else's commits over there are never overwritten:
     * then it throws, as it does if the remote rejects it. A remote that can't be reached is tried a few times.
     */
    push(options?: PushOptions): Promise<Pushed>;
    /**
     * Looks whether `createPr` will be able to open a pull request, and changes nothing: whether there is a remote and the base
     * is there, whether there is a token for its forge and the forge accepts it, whether the template can be used. Throws
     * what `createPr` would throw. For the beginning of a workflow, before agents work for hours.
     */
    checkPr(options?: { remote?: string; base?: string; timeout?: number }): Promise<PullRequestTarget>;
    /**
     * Pushes the branch and opens a pull request, once, however often the run is interrupted. If there is an open one for the
     * branch, that is the answer. On a remote that is no known forge it only pushes, and `note` says so.
     */
    createPr(options: PullRequestOptions): Promise<PullRequest>;
  }

  /**
   * What an agent may do without asking. `readOnly`: look, and change nothing. `acceptEdits`: change files of the workspace;
   * commands only within the agent's own sandbox, or if they are among `allowedTools`. `full`: everything that you may do.
   */
  export type PermissionMode = "readOnly" | "acceptEdits" | "full";

  /** An MCP server: a command that is started, or an address. */
  export type McpServer =
    | { command: string; args?: readonly string[]; env?: Readonly<Record<string, string>> }
    | { url: string; type?: "http" | "sse"; headers?: Readonly<Record<string, string>> };

  export interface SessionOptions {
    /** The model; the agent's own choice if nothing is said. */
    model?: string;
    /** Said to the model before the prompt, besides what the agent says itself. */
    systemPrompt?: string;
    /** `acceptEdits` if nothing is said. */
    permissionMode?: PermissionMode;
    /** Tools that the agent may use besides, by its own names for them. */
    allowedTools?: readonly string[];
    /** How many turns it may take; only `claude` can be told. Use `timeout` and `budget` for the others. */
    maxTurns?: number;
    /** How long it may take, in milliseconds. Waiting for room on a full disk does not count. */
    timeout?: number;
    /** How long it may say nothing, in milliseconds; half an hour if nothing is said, for ever if it is 0. */
    idleTimeout?: number;
    /**
     * How much it may use, in tokens (sent and written) and US dollars. `claude` is ended when it uses more; `codex` and `gemini`
     * tell it at their end, so it only keeps an answer from being asked for again. Dollars need an agent that tells its cost, or a
     * `model` that has a price in the configuration.
     */
    budget?: { tokens?: number; usd?: number };
    /** Whether the answer is to be JSON. An answer that is not is asked for again, once. */
    json?: boolean;
    /** What the JSON is to look like. */
    schema?: JsonSchema | SchemaLike<unknown>;
    /** The name of an earlier session of this run, of the same agent, that is gone on with. One call at a time does. */
    resume?: string;
    /** What a further attempt of the step does with the session of the one before; `fresh` if nothing is said. */
    onRetry?: "fresh" | "continue";
    /** MCP servers, by name. `gemini` reads them only from its own settings in the workspace. */
    mcpServers?: Readonly<Record<string, McpServer>>;
    /** Added to the agent's environment. */
    env?: Readonly<Record<string, string>>;
    /** Where, relative to the workspace. */
    cwd?: string;
    /** Whether the call throws if the session was no success; yes if nothing is said. Otherwise see `exitReason`. */
    check?: boolean;
  }

  /** How a session ended. */
  export type ExitReason =
    | "completed" | "auth" | "rate_limit" | "api" | "request" | "max_turns" | "budget" | "permission_denied" | "malformed"
    | "dropped" | "killed" | "timeout" | "idle" | "unknown_session" | "not_started" | "refused" | "answer" | "exit";

  /** What a session of a coding agent came to. */
  export interface SessionResult<T = unknown> {
    /** What the agent said last. */
    readonly text: string;
    /** Whether it said more than `text` has, which is 1 MiB at most. Up to 16 MiB of it are an artifact of the session. */
    readonly truncated: boolean;
    /** The answer as JSON, if that was asked for. */
    readonly json: T;
    /** What the agent calls the session. */
    readonly sessionId: string | null;
    readonly agent: string;
    readonly model: string | null;
    /** In tokens; `null` where not all are known: a process of the session ended before it said what it had used. */
    readonly usage: {
      readonly inputTokens: number | null;
      readonly outputTokens: number | null;
      readonly cachedTokens: number | null;
    };
    /** In US dollars; `null` if it is not known. */
    readonly cost: number | null;
    readonly exitReason: ExitReason;
    readonly exitCode: number | null;
    /** Why it was no success, if that does not throw. */
    readonly message?: string;
  }

  /**
   * The powers of a workflow, within one scope: the run, one attempt at a step, or a phase. What is asked for belongs to
   * the scope of the `ctx` that it is asked of; a step's body that takes no parameter and says `ctx` means the step's own.
   */
  export interface WorkflowContext<Input = unknown> {
    readonly input: Input;
    readonly executionId: string;
    readonly runId: string;
    readonly projectId: string;
    readonly projectPath: string;
    readonly workspacePath: string;
    /** Which attempt at its step this is, from 1. */
    readonly attempt: number;
    readonly log: Log;
    readonly files: Files;
    readonly git: Git;

    /** A step: recorded, timed, retried as a whole. The same name may be used any number of times. */
    run<T>(name: string, body: (ctx: WorkflowContext<Input>) => T | Promise<T>, options?: RunOptions): Promise<T>;
    /** Groups what its body does, without a number or retries. */
    phase<T>(name: string, body: (ctx: WorkflowContext<Input>) => T | Promise<T>): Promise<T>;
    /** Executes a command in the workspace. Throws if the command says that it failed, unless `check` is `false`. */
    shell(command: string, options?: ShellOptions): Promise<ShellResult>;
    /**
     * A session of a coding agent in the workspace. Throws if it is no success, unless `check` is `false`; the error's
     * `detail.exit_reason` says why.
     */
    runCli<const S extends JsonSchema>(
      name: string,
      agent: Agent,
      prompt: string,
      options: Omit<SessionOptions, "schema"> & { schema: S },
    ): Promise<SessionResult<FromSchema<S>>>;
    runCli<T>(
      name: string,
      agent: Agent,
      prompt: string,
      options: Omit<SessionOptions, "schema"> & { schema: SchemaLike<T> },
    ): Promise<SessionResult<T>>;
    runCli(name: string, agent: Agent, prompt: string, options?: SessionOptions): Promise<SessionResult>;
    /** Keeps a text or files with the run. `agentos artifacts RUN` lists them. */
    artifact(name: string, content: Artifact): Promise<StoredArtifact>;
    /** Waits, in milliseconds. The run needs no memory and no process in the meantime. */
    sleep(ms: number): Promise<void>;
    /** Waits for a signal, and gives what was sent along. */
    waitFor<T = unknown>(event: string, options?: { timeout?: number }): Promise<T>;
    /**
     * Asks a person, and waits for the decision. With `diff` they are shown what was changed in the workspace: `true` shows
     * what is not committed yet. A workflow that commits before it asks says since when, such as `{ from: "main" }`.
     */
    approve(question: string, options?: { name?: string; timeout?: number; diff?: boolean | DiffSides }): Promise<Decision>;
    /** Runs another workflow, and gives what it returns. It works where this one does, unless it gets a workspace of its own. */
    invoke<T = unknown>(workflow: string, input?: unknown, options?: { workspace?: "parent" | "own" }): Promise<T>;
    /** Ends the step as skipped; whoever awaits it gets `null`. */
    skip(reason?: string): never;

    /** Writes to the run's state, which is durable. */
    set(key: string, value: unknown): void;
    get<T = unknown>(key: string): T | undefined;
    has(key: string): boolean;
    delete(key: string): void;

    /** Adds a remark on the step to the audit trail. */
    comment(message: string, meta?: unknown): void;
    /**
     * Adds a remark on the run to the audit trail. With `{ note: true }` whoever watches the run sees it as `note: …`, when it
     * is made and once more when the run has ended.
     */
    commentExecution(message: string, meta?: unknown): void;
  }

  export interface WorkflowDefinition {
    readonly config: WorkflowConfig;
  }

  /** A workflow. Export it by default: `export default createWorkflow({ name: "…" }, async (ctx) => { … })`. */
  export function createWorkflow<const S extends JsonSchema>(
    config: Omit<WorkflowConfig, "input"> & { input: S },
    body: (ctx: WorkflowContext<FromSchema<S>>) => unknown,
  ): WorkflowDefinition;
  export function createWorkflow<T>(
    config: Omit<WorkflowConfig, "input"> & { input: SchemaLike<T> },
    body: (ctx: WorkflowContext<T>) => unknown,
  ): WorkflowDefinition;
  export function createWorkflow<Input = unknown>(
    config: Omit<WorkflowConfig, "input"> & { input?: undefined },
    body: (ctx: WorkflowContext<Input>) => unknown,
  ): WorkflowDefinition;

  /** A coding agent. */
  export interface Agent {
    readonly agent: string;
  }
  export const claude: Agent;
  export const codex: Agent;
  export const gemini: Agent;
  /** A coding agent that the project's config knows, or whoever plays this role. */
  export function agent(name: string): Agent;

  /** Stops the retries of a step. */
  export class NonRetryableError extends Error {}
  /** What a pending call throws when the run is cancelled, or when what it belongs to ends first. */
  export class CancelledError extends Error {}
  /** What a call throws whose time is over. */
  export class TimeoutError extends Error {}
}

declare module "workflow-sdk" {
  export * from "agentos";
}
declare module "@repo/workflow-sdk" {
  export * from "agentos";
}
declare module "@repo/agent-cli-sdk" {
  export * from "agentos";
}

/** Goes to the run's log. */
declare const console: {
  trace(...parts: unknown[]): void;
  debug(...parts: unknown[]): void;
  log(...parts: unknown[]): void;
  info(...parts: unknown[]): void;
  dir(...parts: unknown[]): void;
  table(...parts: unknown[]): void;
  warn(...parts: unknown[]): void;
  error(...parts: unknown[]): void;
};
