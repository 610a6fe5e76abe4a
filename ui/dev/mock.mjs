// A stand-in for `agentos serve` while the dashboard is developed: it answers from what the command line prints, with
// the real documents of real runs, and carries the built dashboard under the real policy. It is not used by any test.
//
//   AGENTOS=/path/to/agentos REPO=/path/to/repository node dev/mock.mjs
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';

const { AGENTOS = 'agentos', REPO = process.cwd(), PORT = '3456' } = process.env;
const run = promisify(execFile);
const dist = new URL('../dist/', import.meta.url).pathname;
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const POLICY = "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data: blob:; connect-src 'self'";

async function cli(...args) {
  const { stdout } = await run(AGENTOS, [...args, '--json'], { cwd: REPO, maxBuffer: 1 << 28 });
  return JSON.parse(stdout);
}

const page = (items) => ({ items, page: 1, limit: items.length, total: items.length, next: null });
const show = (id) => cli('show', id);
const idOf = (name) => `w-${name}`;

async function workflows() {
  const { items } = await cli('workflows');
  return items.map((one) => ({ ...one, id: idOf(one.name), project_id: 'p', version: 1, file_path: one.file, is_active: true, config: null }));
}

// The command line does not print the log itself; Python's standard library reads it.
const READ = 'import sqlite3,sys,json\nc=sqlite3.connect(f"file:{sys.argv[1]}?mode=ro",uri=True)\nprint(json.dumps([json.loads(r[0]) for r in c.execute("select l.chunk from run_log l join workflow_runs r on r.key=l.run where r.id=? order by l.position",[sys.argv[2]])]))';

async function events(id) {
  const { stdout } = await run('python3', ['-c', READ, join(REPO, '.agentos/issue_workflow.db'), id], { maxBuffer: 1 << 28 });
  return page(JSON.parse(stdout).flatMap((chunk) => chunk.entries.map((entry, index) => ({ seq: chunk.first + index + 1, at: new Date(chunk.at).toISOString(), kind: entry.kind, entry }))));
}

const ROUTES = [
  [/^\/api\/projects$/, async () => page([{ id: 'p', name: REPO.split('/').pop(), path: REPO }])],
  [/^\/api\/workflows$/, async () => page(await workflows())],
  [/^\/api\/workflows\/(.+)$/, async ([id]) => {
    const one = (await workflows()).find((each) => each.id === id || each.name === id);
    const runs = (await cli('status')).items.filter((each) => each.workflow === one.name);
    const by = {};
    for (const each of runs) by[each.status] = (by[each.status] ?? 0) + 1;
    return { ...one, source: { entry: one.file, imports: {}, modules: { [one.file]: readFileSync(join(REPO, one.file), 'utf8') } }, versions: [{ version: 1, hash: one.definition, author_version: one.version, created_at: new Date().toISOString() }], statistics: { runs: runs.length, by_status: by, average_duration: 5000, last_started_at: runs[0]?.started_at ?? null } };
  }],
  [/^\/api\/executions$/, async (_, query) => {
    const wanted = query.get('status')?.split(',').filter(Boolean) ?? [];
    const { items } = await cli('status');
    return page(items.filter((one) => (wanted.length === 0 || wanted.includes(one.status)) && (!query.get('workflowId') || idOf(one.workflow) === query.get('workflowId')) && one.run_id.includes(query.get('q') ?? '')).map((one) => ({ ...one, workflow_def_id: idOf(one.workflow), project_id: 'p' })));
  }],
  [/^\/api\/executions\/([^/]+)$/, async ([id]) => { const one = await show(id); return { ...one, workflow_def_id: idOf(one.workflow), project_id: 'p' }; }],
  [/^\/api\/executions\/([^/]+)\/events$/, async ([id], query) => (query.get('after') ? page([]) : events(id))],
  [/^\/api\/executions\/([^/]+)\/diff$/, async ([id], query) => cli('diff', id, ...(query.get('step') ? ['--step', query.get('step')] : []))],
  [/^\/api\/workspaces$/, async () => page((await cli('workspace', 'list')).items)],
  [/^\/api\/workspaces\/([^/]+)$/, async ([id]) => {
    const one = (await cli('workspace', 'list')).items.find((each) => each.id === id);
    const { items } = await cli('workspace', 'clean', id, '--dry-run').catch((error) => JSON.parse(error.stdout));
    return { ...one, size_bytes: 123456, verdict: items[0].verdict };
  }],
];

const server = createServer(async (request, answer) => {
  const url = new URL(request.url, 'http://localhost');
  const reply = (status, type, body) => answer.writeHead(status, { 'Content-Type': type, 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff' }).end(body);
  try {
    const log = /^\/api\/executions\/([^/]+)\/logs\/download$/.exec(url.pathname);
    const kept = /^\/api\/artifacts\/([^/]+)\/download$/.exec(url.pathname);
    if (log || kept) {
      let file;
      if (log) {
        const one = await show(log[1]);
        const step = one.steps.find((each) => each.id === url.searchParams.get('stepId'));
        file = join(REPO, (step ?? one).log_file_path);
      } else {
        const all = (await Promise.all((await cli('status')).items.map((one) => show(one.id)))).flatMap((one) => one.artifacts);
        file = join(REPO, all.find((each) => each.id === kept[1]).storage_path);
      }
      const size = existsSync(file) ? statSync(file).size : 0;
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      if (from >= size) return reply(416, 'text/plain', '');
      answer.writeHead(206, { 'Content-Type': 'text/plain', 'Content-Range': `bytes ${from}-${size - 1}/${size}` });
      return createReadStream(file, { start: from }).pipe(answer);
    }
    for (const [pattern, make] of ROUTES) {
      const match = pattern.exec(url.pathname);
      if (match) return reply(200, 'application/json', JSON.stringify(await make(match.slice(1).map(decodeURIComponent), url.searchParams)));
    }
    if (url.pathname.startsWith('/api/')) return reply(404, 'application/problem+json', JSON.stringify({ detail: 'there is no such thing' }));
    const file = join(dist, url.pathname);
    const found = url.pathname !== '/' && existsSync(file) ? file : join(dist, 'index.html');
    reply(200, TYPES[extname(found)] ?? 'application/octet-stream', readFileSync(found));
  } catch (error) {
    reply(500, 'application/problem+json', JSON.stringify({ detail: String(error.stderr || error.message || error) }));
  }
});

server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  socket.on('error', () => socket.destroy());
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}`));
