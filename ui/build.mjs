// Builds the dashboard into dist/, unless what is there was built from the same sources. Used by `cargo xtask ui` and by
// the build script of the crate that carries it; `node build.mjs --check` only tells whether it would.
//
// What is half built is never seen: it is made beside dist/ and takes its place at the end.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const SOURCES = ['src', 'public', 'index.html', 'package.json', 'package-lock.json', 'svelte.config.js', 'tsconfig.json', 'vite.config.ts'];
const STAMP = join(here, 'dist', '.stamp');

function* files(path) {
  if (!existsSync(path)) return;
  if (!statSync(path).isDirectory()) yield path;
  else for (const name of readdirSync(path).sort()) yield* files(join(path, name));
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const source of SOURCES) {
    for (const file of files(join(here, source))) hash.update(relative(here, file)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

/** The oldest Node that it can be built with. */
const NODE = [20, 19];

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const isOld = major < NODE[0] || (major === NODE[0] && minor < NODE[1]);
  if (isOld) throw new Error(`Node ${NODE.join('.')} or newer is needed, and this is ${process.versions.node}`);
}

function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: here, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error?.code === 'ENOENT') throw new Error(`${program} is not installed`);
  if (error) throw error;
  if (status !== 0) throw new Error(`\`${program} ${args.join(' ')}\` failed`);
}

/** Whether what is installed is what the lock file says. */
function isInstalled() {
  const stamp = join(here, 'node_modules', '.agentos-lock');
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(join(here, 'package-lock.json'), 'utf8');
}

function install() {
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(join(here, 'node_modules', '.agentos-lock'), readFileSync(join(here, 'package-lock.json')));
}

function build() {
  const wanted = fingerprint();
  const isFresh = existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted;
  if (process.argv.includes('--check')) process.exit(isFresh ? 0 : 1);
  requireNode();
  if ((!isFresh || process.argv.includes('--install')) && !isInstalled()) install();
  if (isFresh) return;
  const fresh = `dist.${process.pid}`;
  try {
    run('npm', ['run', '--silent', 'build', '--', '--outDir', fresh, '--emptyOutDir', '--logLevel', 'warn']);
    writeFileSync(join(here, fresh, '.stamp'), wanted);
    rmSync(join(here, 'dist'), { recursive: true, force: true });
    renameSync(join(here, fresh), join(here, 'dist'));
  } finally {
    rmSync(join(here, fresh), { recursive: true, force: true });
  }
}

try {
  build();
} catch (error) {
  // Whoever has started this shows the last line: that has to say what is wrong.
  console.error(error.message);
  process.exitCode = 1;
}
