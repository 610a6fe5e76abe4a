// The world of a workflow, evaluated before any code of the workflow.
//
// It takes the doors of the host out of reach, replaces what would differ from one execution to the next, and gives the
// workflow its `ctx`. Whatever it needs of the language it takes now: a workflow may break the prototypes of its own
// world afterwards, but not this module. So nothing here spreads an array, iterates one, or calls a method of a value;
// template literals are missing because the engine makes them calls of `String.prototype.concat`.

import { hostOf, primordials } from "agentos:globals";

const { apply, parse, stringify, freeze, define, isArray, ownKeys, WeakMap, Error, TypeError, Promise } = primordials;
const { weakGet, weakSet, weakHas, then, promiseResolve, promiseReject, InternalError, RangeError } = primordials;
const host = hostOf();

// ---------------------------------------------------------------------------------------------------- errors

/** Stops the retries of a step. */
export class NonRetryableError extends Error {
  constructor(message, options) {
    super(message, options);
    define(this, "name", { value: "NonRetryableError", configurable: true, writable: true });
  }
}

/** What a pending call throws when the run is cancelled, or when what it belongs to ends first. */
export class CancelledError extends Error {
  constructor(message, options) {
    super(message ?? "cancelled", options);
    define(this, "name", { value: "CancelledError", configurable: true, writable: true });
  }
}

/** What a call throws whose time is over. */
export class TimeoutError extends Error {
  constructor(message, options) {
    super(message, options);
    define(this, "name", { value: "TimeoutError", configurable: true, writable: true });
  }
}

class StepSkipped extends Error {}

/** The failure behind an error that came from the host. */
const origins = new WeakMap();

const CAUSES = 8;

function textOf(value) {
  try {
    return typeof value === "string" ? value : (stringify(value) ?? "" + value);
  } catch {
    return "something that can't be shown";
  }
}

/** What the log knows of something that was thrown. */
function describe(error, depth = 0) {
  const isObject = (typeof error === "object" && error !== null) || typeof error === "function";
  if (!isObject || !(error instanceof Error)) {
    return { kind: "error", message: textOf(error), detail: { name: "Thrown" } };
  }
  const origin = apply(weakGet, origins, [error]);
  if (origin !== undefined) {
    return origin.message === error.message ? origin : { ...origin, message: textOf(error.message) };
  }
  const detail = { name: textOf(error.name), stack: textOf(error.stack ?? "") };
  if (depth < CAUSES) {
    if (error.cause !== undefined) detail.cause = describe(error.cause, depth + 1);
    if (isArray(error.errors)) {
      detail.errors = [];
      for (let index = 0; index < error.errors.length && index < CAUSES; index++) {
        detail.errors[index] = describe(error.errors[index], depth + 1);
      }
    }
  }
  const data = dataOf(error);
  if (data !== undefined) detail.data = data;
  return { kind: error instanceof NonRetryableError || error instanceof CancelledError ? "non_retryable" : "error", message: textOf(error.message), detail };
}

/** The fields that the author gave an error. */
function dataOf(error) {
  let data;
  const keys = ownKeys(error);
  for (let index = 0; index < keys.length && index < 50; index++) {
    const key = keys[index];
    if (key === "cause" || key === "errors" || typeof error[key] === "function") continue;
    try {
      const text = stringify(error[key]);
      if (text !== undefined) (data ??= {})[key] = parse(text);
    } catch {
      // What can't be written is left out.
    }
  }
  return data;
}

/** `describe`, whatever getters and proxies the error brings along. */
function described(error) {
  exhausted(error);
  try {
    return stringify(describe(error));
  } catch {
    return stringify({ kind: "error", message: "an error that can't be described" });
  }
}

/** The error for a failure that came from the host. */
function errorOf(failure) {
  const { kind, message, detail } = failure;
  const options = detail?.cause === undefined ? undefined : { cause: errorOf(detail.cause) };
  const error =
    kind === "cancelled" ? new CancelledError(message, options)
    : kind === "non_retryable" ? new NonRetryableError(message, options)
    : kind === "timeout" ? new TimeoutError(message, options)
    : new Error(message, options);
  const field = (key, value) => define(error, key, { value, configurable: true, writable: true });
  if (typeof detail?.name === "string") field("name", detail.name);
  if (typeof detail?.stack === "string") field("stack", detail.stack);
  if (isArray(detail?.errors)) {
    const errors = [];
    for (let index = 0; index < detail.errors.length; index++) errors[index] = errorOf(detail.errors[index]);
    field("errors", errors);
  }
  if (detail?.data !== undefined) {
    const keys = ownKeys(detail.data);
    for (let index = 0; index < keys.length; index++) error[keys[index]] = detail.data[keys[index]];
  }
  field("kind", kind);
  field("detail", detail);
  apply(weakSet, origins, [error, failure]);
  return error;
}

/**
 * Ends the run if memory or stack ran out: no code may go on as if nothing had happened. When not even an error fits into
 * what is left, the engine throws `null`; nobody else should.
 */
function exhausted(error) {
  if (error === null || (error instanceof InternalError && error.message === "out of memory")) {
    host.fatal("memory");
  } else if (error instanceof RangeError && error.message === "Maximum call stack size exceeded") {
    host.fatal("stack");
  } else {
    return;
  }
  throw error;
}

export const __caught = exhausted;

primordials.prototypes.promise.then = function (onFulfilled, onRejected) {
  const guarded = typeof onRejected !== "function" ? onRejected : (error) => {
    exhausted(error);
    return onRejected(error);
  };
  return apply(then, this, [onFulfilled, guarded]);
};

// ------------------------------------------------------------------------------------------------------- ctx

/** The number of the call that is being made, from 1: put there by the compiler. */
let call = 0;

export const __at = (value, number) => {
  call = number + 1;
  return value;
};

const KEY = {};
let run;

const SHELL = 0, ARTIFACT = 1, SLEEP = 2, WAIT = 3, APPROVE = 4, INVOKE = 5, FILES = 6, GIT = 7, AGENT = 8;

function asked(promise) {
  return typeof promise === "string" ? promiseReject(errorOf(parse(promise))) : promise;
}

function ask(scope, kind, args) {
  const at = call;
  call = 0;
  let json;
  try {
    json = stringify(args);
  } catch (error) {
    return promiseReject(notJson("the arguments", error));
  }
  return asked(host.ask(scope, at, kind, json));
}

/** How many changed files are named beside a question. */
const BESIDE = 50;

/** Asks a person; what they should see of the workspace is found out first. */
function approve(scope, question, options) {
  const diff = options?.diff;
  if (diff === undefined || diff === null || diff === false) return ask(scope, APPROVE, [question, options]);
  if (diff !== true && (typeof diff !== "object" || isArray(diff))) {
    call = 0;
    const message = "ctx.approve(question, options): `diff` is true, false, or what is compared, such as { from: \"main\" }";
    return promiseReject(new NonRetryableError(message));
  }
  const at = call;
  const wanted = diff === true ? {} : diff;
  const seen = ask(scope, GIT, ["diff", { ...wanted, stat: true, limit: BESIDE }]);
  return apply(then, seen, [(diff) => {
    call = at;
    return ask(scope, APPROVE, [question, { ...options, diff }]);
  }]);
}

function step(scope, isPhase, name, body, options) {
  const at = call;
  call = 0;
  if (typeof body !== "function") {
    const what = isPhase ? "phase" : "run";
    return promiseReject(new NonRetryableError("ctx." + what + "(name, body): the body of `" + textOf(name) + "` is not a function"));
  }
  let json = "null";
  try {
    json = options === undefined ? "null" : stringify(options);
  } catch (error) {
    return promiseReject(notJson("the options", error));
  }
  const onRetry = typeof options?.onRetry === "function" ? options.onRetry : undefined;
  return asked(host.step(scope, at, [textOf(name), isPhase ? undefined : json], [body, onRetry]));
}

function notJson(what, error) {
  exhausted(error);
  return new NonRetryableError(what + " can't be written as JSON: " + textOf(error?.message), { cause: error });
}

function encode(what, value) {
  try {
    return stringify(value);
  } catch (error) {
    throw notJson(what, error);
  }
}

function refuse(failure) {
  if (failure !== undefined) throw errorOf(parse(failure));
}

class Log {
  #scope;
  constructor(key, scope) {
    if (key !== KEY) throw new TypeError("a log comes from ctx");
    this.#scope = scope;
  }
  trace(...parts) { host.log(this.#scope, 0, lineOf(parts)); }
  debug(...parts) { host.log(this.#scope, 1, lineOf(parts)); }
  info(...parts) { host.log(this.#scope, 2, lineOf(parts)); }
  warn(...parts) { host.log(this.#scope, 3, lineOf(parts)); }
  error(...parts) { host.log(this.#scope, 4, lineOf(parts)); }
  fatal(...parts) { host.log(this.#scope, 5, lineOf(parts)); }
}

/** The files of the workspace. */
class Files {
  #scope;
  constructor(key, scope) {
    if (key !== KEY) throw new TypeError("files come from ctx");
    this.#scope = scope;
  }
  read(path, options) { return ask(this.#scope, FILES, ["read", path, options]); }
  write(path, content, options) {
    const base64 = host.base64(content);
    return ask(this.#scope, FILES, ["write", path, base64 === undefined ? content : { base64 }, options]);
  }
  exists(path) { return ask(this.#scope, FILES, ["exists", path]); }
  delete(path, options) { return ask(this.#scope, FILES, ["delete", path, options]); }
  list(path) { return ask(this.#scope, FILES, ["list", path]); }
  copy(from, to, options) { return ask(this.#scope, FILES, ["copy", from, to, options]); }
}

/** The version control of the workspace. */
class Git {
  #scope;
  constructor(key, scope) {
    if (key !== KEY) throw new TypeError("git comes from ctx");
    this.#scope = scope;
  }
  ensureBranch(name, options) { return ask(this.#scope, GIT, ["ensureBranch", name, options]); }
  getCurrentBranch() { return ask(this.#scope, GIT, ["getCurrentBranch"]); }
  commit(message, options) { return ask(this.#scope, GIT, ["commit", message, options]); }
  getCurrentCommit() { return ask(this.#scope, GIT, ["getCurrentCommit"]); }
  getCurrentTree() { return ask(this.#scope, GIT, ["getCurrentTree"]); }
  stageAll() { return ask(this.#scope, GIT, ["stageAll"]); }
  status(options) { return ask(this.#scope, GIT, ["status", options]); }
  diff(options) { return ask(this.#scope, GIT, ["diff", options]); }
  log(options) { return ask(this.#scope, GIT, ["log", options]); }
  push(options) { return ask(this.#scope, GIT, ["push", options]); }
  checkPr(options) { return ask(this.#scope, GIT, ["checkPr", options]); }
  createPr(options) { return ask(this.#scope, GIT, ["createPr", options]); }
}

class WorkflowContext {
  #scope;
  #attempt;
  #log;
  #files;
  #git;

  constructor(key, scope, attempt) {
    if (key !== KEY) throw new TypeError("a ctx comes from the workflow's function or from a step");
    this.#scope = scope;
    this.#attempt = attempt;
    freeze(this);
  }

  get input() { return run.input; }
  get executionId() { return run.executionId; }
  get runId() { return run.runId; }
  get projectId() { return run.projectId; }
  get projectPath() { return run.projectPath; }
  get workspacePath() { return run.workspacePath; }
  get attempt() { return this.#attempt; }
  get log() { return (this.#log ??= freeze(new Log(KEY, this.#scope))); }
  get files() { return (this.#files ??= freeze(new Files(KEY, this.#scope))); }
  get git() { return (this.#git ??= freeze(new Git(KEY, this.#scope))); }

  run(name, body, options) { return step(this.#scope, false, name, body, options); }
  phase(name, body) { return step(this.#scope, true, name, body); }
  shell(command, options) { return ask(this.#scope, SHELL, [command, options]); }
  runCli(name, agent, prompt, options) {
    let given = options;
    if (isObject(options) && options.schema !== undefined) {
      try {
        given = { ...options, schema: schemaOf(options.schema) };
      } catch (error) {
        exhausted(error);
        call = 0;
        return promiseReject(new NonRetryableError(textOf(error?.message), { cause: error }));
      }
    }
    return ask(this.#scope, AGENT, [name, agent, prompt, given]);
  }
  artifact(name, content) { return ask(this.#scope, ARTIFACT, [name, content]); }
  sleep(ms) { return ask(this.#scope, SLEEP, [ms]); }
  waitFor(event, options) { return ask(this.#scope, WAIT, [event, options]); }
  approve(question, options) { return approve(this.#scope, question, options); }
  invoke(workflow, input, options) { return ask(this.#scope, INVOKE, [workflow, input, options]); }

  skip(reason) { this.#scope; throw new StepSkipped(reason === undefined ? "skipped" : textOf(reason)); }

  set(key, value) { refuse(host.set(this.#scope, textOf(key), encode("the value", value))); }
  get(key) {
    this.#scope;
    const json = host.get(textOf(key));
    return json === undefined ? undefined : parse(json);
  }
  has(key) { this.#scope; return host.get(textOf(key)) !== undefined; }
  delete(key) { refuse(host.set(this.#scope, textOf(key), undefined)); }

  comment(message, meta) { refuse(host.comment(this.#scope, false, textOf(message), encode("the meta data", meta))); }
  commentExecution(message, meta) { refuse(host.comment(this.#scope, true, textOf(message), encode("the meta data", meta))); }
}

/** A line for the log, made of whatever it is given. */
function lineOf(parts) {
  let line = "";
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    const text = part instanceof Error ? textOf(part.name + ": " + part.message + "\n" + (part.stack ?? "")) : textOf(part);
    line += index === 0 ? text : " " + text;
  }
  return line;
}

const say = (level) => (...parts) => host.log(-1, level, lineOf(parts));
globalThis.console = freeze({
  trace: say(0), debug: say(1), log: say(2), info: say(2), dir: say(2), table: say(2), warn: say(3), error: say(4),
});

// ------------------------------------------------------------------------------------------------ definitions

const definitions = new WeakMap();

/** A workflow: what is known of it, and the function that it is. */
export function createWorkflow(config, body) {
  if (typeof config !== "object" || config === null) {
    throw new TypeError("createWorkflow(config, body): the config is an object with at least a `name`");
  }
  if (typeof body !== "function") {
    throw new TypeError("createWorkflow(config, body): the body is a function, `async (ctx) => { … }`");
  }
  const definition = freeze({ config });
  apply(weakSet, definitions, [definition, body]);
  return definition;
}

/** A coding agent that the project's config knows. */
export function agent(name) {
  if (typeof name !== "string" || name === "") throw new TypeError("agent(name): the name is a text");
  return freeze({ agent: name });
}

export const claude = agent("claude");
export const codex = agent("codex");
export const gemini = agent("gemini");

const isObject = (value) => typeof value === "object" && value !== null;

/** A schema as JSON Schema: one that is written as such, or one of a library that can say it. */
function schemaOf(schema) {
  if (!isObject(schema)) return schema;
  if (typeof schema.toJSONSchema === "function") return schema.toJSONSchema({ io: "input" });
  const standard = schema["~standard"];
  if (standard === undefined) return schema;
  if (typeof standard.jsonSchema?.input === "function") return standard.jsonSchema.input({ target: "draft-2020-12" });
  throw new TypeError("a schema can't be written as JSON Schema; with zod 4, use `z.toJSONSchema(schema)`");
}

// ---------------------------------------------------------------------------- what the host calls, and nobody else

/** The config of what a module exports, as JSON; nothing if that is no workflow. */
export function configOf(definition) {
  if (!isObject(definition) || !apply(weakHas, definitions, [definition])) return undefined;
  const config = { ...definition.config };
  if (config.input !== undefined) config.input = schemaOf(config.input);
  return stringify(config);
}

const RETURNED = 0, THREW = 1, SKIPPED = 2;

/** Calls a body, and reports its end. */
function begin(scope, body, argument) {
  let promise;
  try {
    promise = promiseResolve(body(argument));
  } catch (error) {
    promise = promiseReject(error);
  }
  apply(then, promise, [
    (value) => {
      let json;
      try {
        json = stringify(value) ?? "null";
      } catch (error) {
        host.finish(scope, THREW, described(notJson("the result", error)));
        return;
      }
      host.finish(scope, RETURNED, json);
    },
    (error) => {
      if (error instanceof StepSkipped) host.finish(scope, SKIPPED, error.message);
      else host.finish(scope, THREW, described(error));
    },
  ]);
}

function deepFreeze(value) {
  if (!isObject(value)) return value;
  const keys = ownKeys(value);
  for (let index = 0; index < keys.length; index++) deepFreeze(value[keys[index]]);
  return freeze(value);
}

/** The workflow begins. */
export function start(definition, scope, info, input) {
  run = freeze({ ...parse(info), input: deepFreeze(parse(input)) });
  begin(scope, apply(weakGet, definitions, [definition]), new WorkflowContext(KEY, scope, 1));
}

/** An attempt at a step begins. */
export function attempt(scope, number, given, failure) {
  const body = given[0], onRetry = given[1];
  const ctx = new WorkflowContext(KEY, scope, number);
  if (number > 1 && onRetry !== undefined) {
    const error = failure === undefined ? undefined : errorOf(parse(failure));
    begin(scope, async () => {
      await onRetry(error, number);
      return body(ctx);
    });
  } else {
    begin(scope, body, ctx);
  }
}

/** Something that was asked for did not work. */
export function fail(reject, failure) {
  reject(errorOf(parse(failure)));
}

export { described };
