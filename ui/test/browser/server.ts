/**
 * The real program as a server, and a repository that it serves. Both are below one temporary folder (home, state,
 * workspaces), so that no test reads or changes anything of the user who runs it.
 */

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = new URL('.', import.meta.url).pathname;
/** Only a test that fails waits as long as that: it is no measure of speed. */
const WAIT_MS = 120_000;
const LOOK_MS = 50;

export interface RunDocument {
  id: string;
  run_id: string;
  status: string;
  [field: string]: unknown;
}

interface Listed<T> {
  items: T[];
}

/** What another process needs to use a server that runs. */
export interface ServerAddress {
  folder: string;
  port: number;
}

export class TestServer {
  #process: ChildProcess | null = null;
  #printed = '';

  private constructor(
    readonly folder: string,
    public port: number,
  ) {}

  /** Starts a server with an empty home, which serves no project. */
  static async create(configuration = ''): Promise<TestServer> {
    const server = new TestServer(mkdtempSync(join(tmpdir(), 'agentos-ui-')), 0);
    const folder = join(server.environment['XDG_CONFIG_HOME']!, 'agentos');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config.toml'), configuration);
    await server.start();
    return server;
  }

  /** A server that another process has started, and will stop. */
  static at({ folder, port }: ServerAddress): TestServer {
    return new TestServer(folder, port);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get environment(): NodeJS.ProcessEnv {
    const home = join(this.folder, 'home');
    mkdirSync(join(home, 'run'), { recursive: true, mode: 0o700 });
    return {
      PATH: process.env['PATH'],
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      HOME: home,
      XDG_STATE_HOME: join(home, 'state'),
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_CACHE_HOME: join(home, 'cache'),
      XDG_RUNTIME_DIR: join(home, 'run'),
      GIT_AUTHOR_NAME: 'Test', GIT_AUTHOR_EMAIL: 'test@localhost', GIT_COMMITTER_NAME: 'Test', GIT_COMMITTER_EMAIL: 'test@localhost',
    };
  }

  /** Starts the process and waits until it answers. The first start takes a free port; later ones take the same. */
  async start(): Promise<void> {
    this.#printed = '';
    const server = spawn(binary(), ['serve', '--port', String(this.port)], { cwd: this.folder, env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const keep = (bytes: Buffer) => (this.#printed = (this.#printed + bytes.toString()).slice(-20_000));
    server.stdout.on('data', keep);
    server.stderr.on('data', keep);
    this.#process = server;
    await until('the server answers', async () => {
      if (server.exitCode !== null) throw new Error(`the server has ended: ${this.#printed}`);
      this.port ||= Number(/AgentOS is at http:\/\/[^\s]*:(\d+)/.exec(this.#printed)?.[1] ?? 0);
      return this.port && (await fetch(`${this.url}/healthz`).catch(() => null))?.ok ? true : null;
    });
  }

  /** Stops the process: as a user does, or with SIGKILL as a crash does. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const server = this.#process;
    this.#process = null;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await ended;
  }

  /** Stops the process and deletes the folder. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  async api<T>(path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, body === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /**
   * Cancels all runs and removes all projects: pages then show nothing of earlier test files. The projects' folders stay
   * until the server is removed.
   */
  async clear(): Promise<void> {
    const { items: runs } = await this.api<Listed<RunDocument>>('/api/executions?status=RUNNING,PENDING&limit=1000');
    await Promise.all(runs.map(({ id }) => this.api(`/api/executions/${id}/cancel`, {})));
    const { items: projects } = await this.api<Listed<{ id: string }>>('/api/projects');
    for (const { id } of projects) {
      const answer = await fetch(`${this.url}/api/projects/${id}`, { method: 'DELETE' });
      if (!answer.ok) throw new Error(`the project can't be removed: ${answer.status} ${await answer.text()}`);
    }
  }
}

/** A repository with a second worktree, which a server serves. */
export class TestProject {
  readonly folder: string;
  readonly repository: string;
  readonly worktree: string;
  #holds = 0;

  private constructor(readonly server: TestServer) {
    this.folder = mkdtempSync(join(server.folder, 'project-'));
    this.repository = join(this.folder, 'shop');
    this.worktree = join(this.folder, 'shop-hotfix');
  }

  /** `isSlow` keeps the pauses of the fixture, which make a timeline worth a picture. `without` names templates to leave out. */
  static async create(server: TestServer, options: { isSlow?: boolean; without?: string[] } = {}): Promise<TestProject> {
    const project = new TestProject(server);
    cpSync(join(here, 'project'), project.repository, { recursive: true });
    const templates = join(project.repository, '.agent/workflows/templates');
    for (const name of options.without ?? []) rmSync(join(templates, `${name}.ts`));
    if (!options.isSlow) {
      for (const file of [join(project.repository, 'scenario.toml'), ...readdirSync(templates).map((name) => join(templates, name))]) {
        writeFileSync(file, readFileSync(file, 'utf8').replace(/(\bwait = |\bdelay: )(\d+)/g, (_, name: string, ms: string) => name + Math.ceil(Number(ms) / 20)));
      }
    }
    await project.git('init', '-q', '-b', 'main');
    await project.git('add', '-A');
    await project.git('commit', '-qm', 'The beginning');
    await project.git('worktree', 'add', '-q', '-b', 'hotfix', project.worktree);
    await server.api('/api/projects', { path: project.repository });
    return project;
  }

  get scenario(): string {
    return join(this.repository, 'scenario.toml');
  }

  async git(...args: string[]): Promise<void> {
    await run('git', args, { cwd: this.repository, env: this.server.environment });
  }

  /** Runs the program in the repository or another folder. Returns what it prints; an exit status other than 0 is an error. */
  async agentos(args: string[], folder = this.repository): Promise<string> {
    const { stdout } = await run(binary(), args, { cwd: folder, env: this.server.environment, maxBuffer: 64 << 20 });
    return stdout;
  }

  /** Starts the program as in a terminal; `end` sends it a signal and waits until it has ended. */
  spawn(args: string[], folder = this.repository): { end: (signal: NodeJS.Signals) => Promise<void> } {
    const child = spawn(binary(), args, { cwd: folder, env: this.server.environment, stdio: 'ignore' });
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    return {
      end: async (signal) => {
        child.kill(signal);
        await ended;
      },
    };
  }

  api<T>(path: string, body?: unknown): Promise<T> {
    return this.server.api(path, body);
  }

  /** A file for the input `hold` of the workflow `feature`: its run does not get past the builds until `release`. */
  hold(): { file: string; release: () => void } {
    const file = join(this.folder, `hold-${++this.#holds}`);
    writeFileSync(file, '');
    return { file, release: () => rmSync(file) };
  }

  /** Starts a run with the scripted agent in the place of all others. */
  async start(workflow: string, input: Record<string, unknown> = {}, more: Record<string, unknown> = {}): Promise<RunDocument> {
    const agent = `scripted:${this.scenario}`;
    return this.api(`/api/workflows/${workflow}/execute`, { input, agents: { claude: agent, codex: agent }, ...more });
  }

  /** Starts a run of the workflow `steps` in the checkout itself: it is over soon. */
  startShort(steps: number): Promise<RunDocument> {
    return this.start('steps', { steps }, { workspace: { kind: 'none' } });
  }

  /**
   * Starts so many short runs and waits until they are over. Returns them as a list of oldest first has them: lists have
   * runs in the order in which they have begun, and on a busy machine that is not always the one in which they were asked for.
   */
  async completeShort(count: number, steps: number): Promise<RunDocument[]> {
    const asked: RunDocument[] = [];
    for (let time = 0; time < count; time++) asked.push(await this.startShort(steps));
    for (const run of asked) await this.waitFor(run, ({ status }) => status === 'COMPLETED');
    const { items } = await this.api<Listed<RunDocument>>('/api/executions?sort=started_at&limit=1000');
    return items.filter(({ id }) => asked.some((run) => run.id === id));
  }

  async waitFor(run: RunDocument, is: (run: RunDocument) => boolean): Promise<RunDocument> {
    let last: RunDocument | null = null;
    const describe = () => `${run.run_id} is as expected; it is ${JSON.stringify(last)?.slice(0, 2000)}`;
    return until(describe, async () => {
      last = await this.api<RunDocument>(`/api/executions/${run.id}`);
      return is(last) ? last : null;
    });
  }
}

/** Waits until `look` returns something else than null. */
export async function until<T>(what: string | (() => string), look: () => Promise<T | null>): Promise<T> {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > end) throw new Error(`timed out waiting until ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function binary(): string {
  const path = process.env['AGENTOS_BIN'];
  if (!path || !existsSync(path)) throw new Error('AGENTOS_BIN has to name the program: `cargo xtask test` does that');
  return path;
}
