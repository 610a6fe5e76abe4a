/**
 * A repository to play in, with a server of the real program beside it. Everything is in a folder of its own: home,
 * state, workspaces. Nothing of the user is seen or touched.
 */

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = new URL('.', import.meta.url).pathname;
const WAIT_MS = 60_000;

export interface RunDocument {
  id: string;
  run_id: string;
  status: string;
  [field: string]: unknown;
}

export class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'agentos-ui-'));
  readonly repository = join(this.folder, 'shop');
  readonly worktree = join(this.folder, 'shop-hotfix');
  port = 0;
  #server: ChildProcess | null = null;
  #said = '';

  static async set(): Promise<Stage> {
    const stage = new Stage();
    cpSync(join(here, 'project'), stage.repository, { recursive: true });
    await stage.git('init', '-q', '-b', 'main');
    await stage.git('add', '-A');
    await stage.git('commit', '-qm', 'The beginning');
    await stage.git('worktree', 'add', '-q', '-b', 'hotfix', stage.worktree);
    stage.port = await freePort();
    return stage;
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

  /** What the user has written into the configuration. */
  configure(text: string): void {
    const folder = join(this.environment['XDG_CONFIG_HOME']!, 'agentos');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config.toml'), text);
  }

  async git(...args: string[]): Promise<void> {
    await run('git', args, { cwd: this.repository, env: this.environment });
  }

  /** The program, in the repository or another folder. What it prints; an exit status other than 0 is an error. */
  async agentos(args: string[], folder = this.repository): Promise<string> {
    const { stdout } = await run(binary(), args, { cwd: folder, env: this.environment, maxBuffer: 64 << 20 });
    return stdout;
  }

  /** The program in a terminal of its own, so to say: until it ends, or is ended. */
  spawn(args: string[], folder = this.repository): { end: (signal: NodeJS.Signals) => Promise<void> } {
    const child = spawn(binary(), args, { cwd: folder, env: this.environment, stdio: 'ignore' });
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    return {
      end: async (signal) => {
        child.kill(signal);
        await ended;
      },
    };
  }

  /** Starts the server, and waits until it answers. */
  async serve(): Promise<void> {
    const server = spawn(binary(), ['serve', '--port', String(this.port)], { cwd: this.repository, env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const hear = (bytes: Buffer) => (this.#said = (this.#said + bytes.toString()).slice(-20_000));
    server.stdout.on('data', hear);
    server.stderr.on('data', hear);
    this.#server = server;
    await until('the server answers', async () => {
      if (server.exitCode !== null) throw new Error(`the server has ended: ${this.#said}`);
      return (await fetch(`${this.url}/healthz`).catch(() => null))?.ok ? true : null;
    });
  }

  /** Ends the server: as a user would, or as a crash does. */
  async halt(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (!server || server.exitCode !== null) return;
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await ended;
  }

  async strike(): Promise<void> {
    await this.halt();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  async api<T>(path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, body === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Starts a run with the scripted agent in the place of all others. */
  async start(workflow: string, input: Record<string, unknown> = {}, more: Record<string, unknown> = {}): Promise<RunDocument> {
    const scenario = `scripted:${join(this.repository, 'scenario.toml')}`;
    return this.api(`/api/workflows/${workflow}/execute`, { input, agents: { claude: scenario, codex: scenario }, ...more });
  }

  async waitFor(run: RunDocument, what: (run: RunDocument) => boolean): Promise<RunDocument> {
    return until(`${run.run_id} gets that far`, async () => {
      const found = await this.api<RunDocument>(`/api/executions/${run.id}`);
      return what(found) ? found : null;
    });
  }
}

/** Waits until there is something; looks again and again, for a minute at most. */
export async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > end) throw new Error(`nobody has seen that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function binary(): string {
  const path = process.env['AGENTOS_BIN'];
  if (!path || !existsSync(path)) throw new Error('AGENTOS_BIN has to name the program: `cargo xtask test` does that');
  return path;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
