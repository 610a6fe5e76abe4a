import { describe, expect, test } from 'vitest';
import type { Finding, RunDetail, Verdict, Workspace, WorkspaceDetail } from '../../src/api/types';
import { filesOf } from '../../src/lib/diff';
import { briefly, nameOfStep } from '../../src/model/names';
import { filtersOf, queryOf, STATUSES, totalsOf } from '../../src/model/filters';
import { standingOfDetail, standingOfRun, whereabouts } from '../../src/model/standing';
import { modulesOf, sourceOf, siteOf, successOf } from '../../src/model/statistics';
import { wanted, wishOf } from '../../src/model/stock';
import { removalOf, weighed } from '../../src/model/verdict';

describe('how a run stands', () => {
  const waiting = (kind: 'approval' | 'timer' | 'signal') => ({ status: 'RUNNING' as const, interrupted: false, elsewhere: null, waiting: { kind, since: '', until: null } });
  test('is told with a shape of its own for each', () => {
    expect(standingOfRun(waiting('approval'))).toMatchObject({ label: 'Needs you', icon: 'hand', shade: 'waiting' });
    expect(standingOfRun(waiting('timer'))).toMatchObject({ label: 'Sleeping' });
    expect(standingOfRun({ status: 'RUNNING', interrupted: true, elsewhere: null, waiting: null })).toMatchObject({ label: 'Interrupted', icon: 'bolt' });
    const operations = [{ kind: 'wait', name: 'deployed' }] as RunDetail['operations'];
    expect(standingOfDetail({ ...waiting('signal'), operations })).toMatchObject({ label: 'Waiting for deployed', icon: 'pause' });
    expect(standingOfDetail({ ...waiting('approval'), operations }).label).toBe('Needs you');
    expect(standingOfRun({ status: 'TIMED_OUT', interrupted: false, elsewhere: null, waiting: null })).toMatchObject({ label: 'Timed out', shade: 'failed', icon: 'clock' });
    const elsewhere = { reason: 'moved' as const, database: '/other/x.db' };
    const moved = { status: 'RUNNING' as const, interrupted: false, elsewhere, waiting: null };
    expect(standingOfRun(moved)).toMatchObject({ label: 'Moved', shade: 'quiet' });
    expect(whereabouts(moved)).toBe('Moved to /other/x.db');
    expect(standingOfRun({ ...moved, elsewhere: { ...elsewhere, reason: 'copy' } }).label).toBe('Held copy');
  });
});

test('operations are called by what they do', () => {
  expect(nameOfStep({ name: 'ac2b89f15be89acf', path: '/approve:ac2b89f15be89acf#1', input: { question: 'Open it?' } })).toBe('Open it?');
  expect(nameOfStep({ name: 'ac2b89f15be89acf', path: '/shell:ac2b89f15be89acf#1', input: { command: 'make' } })).toBe('make');
  expect(nameOfStep({ name: 'shell: make', path: '/shell:ac2b89f15be89acf#1', input: { command: 'make' } })).toBe('make');
  expect(nameOfStep({ name: 'build', path: '/shell:build#1', input: { command: 'make' } })).toBe('build');
  expect(nameOfStep({ name: 'plan', path: '/plan#1', input: null })).toBe('plan');
});

test('an error in a list tells how it ended, not what was asked for', () => {
  expect(briefly("`echo 'a `quoted` thing' >&2; exit…` exited with 101: error[E0308]: mismatched types")).toBe('exit 101: error[E0308]: mismatched types');
  expect(briefly('`make` was ended by signal 9')).toBe('was ended by signal 9');
  expect(briefly('It was rejected')).toBe('It was rejected');
});

test('success is counted among the runs that came to an end by themselves', () => {
  const by_status = { COMPLETED: 6, FAILED: 1, TIMED_OUT: 1, CANCELLED: 3, RUNNING: 1 };
  expect(successOf({ runs: 12, by_status, average_duration: null, last_started_at: null })).toEqual({ rate: 0.75, completed: 6, failed: 2, other: 4 });
  expect(successOf({ runs: 1, by_status: { RUNNING: 1 }, average_duration: null, last_started_at: null }).rate).toBeNull();
});

test('the module that an error is in is found', () => {
  const modules = modulesOf({ entry: 'templates/z.ts', imports: {}, modules: { 'templates/lib/more.ts': 'b', 'templates/z.ts': 'a' } });
  expect(modules.map((module) => module.text)).toEqual(['a', 'b']);
  const site = siteOf('templates/lib/more.ts:20:55');
  expect(site).toEqual({ file: 'templates/lib/more.ts', line: 20 });
  expect(sourceOf(modules, { ...site!, line: 1 })?.text).toBe('b');
  expect(sourceOf(modules, { file: 'lib/more.ts', line: 1 })?.text).toBe('b');
  expect([siteOf(null), siteOf('nowhere'), sourceOf(modules, site!)]).toEqual([null, null, null]);
});

test('a verdict says what would be lost', () => {
  const verdict = (...findings: Finding[]): Verdict => ({ workspace_id: 'w', path: '/w', kind: 'worktree', branch: null, integrated: null, findings, is_free: findings.every(({ weight }) => weight === 'free' || weight === 'saved') });
  const finding: Finding = { what: 'untracked', weight: 'blocks', kept: 'backup', count: 7, bytes: 61, examples: ['a', 'b', 'c', 'd', 'e'] };
  expect(weighed(verdict(finding))).toEqual([{ text: '7 untracked, 61 B', examples: 'a, b, c, d, and 3 others', blocks: true, kept: 'goes into a backup' }]);
  const used = (weight: Finding['weight'], example: string): Finding => ({ what: 'in_use', weight, kept: 'in_place', count: 1, bytes: null, examples: [example] });
  const inUse = verdict(used('forbids', 'process 7 (bash)'), used('blocks', 'somebody works in it'));
  expect(weighed(inUse)).toEqual([{ text: 'in use', examples: 'process 7 (bash), somebody works in it', blocks: true, kept: null }]);
  // What is on its branch alone is not lost: the branch stays.
  expect(weighed(verdict({ ...finding, what: 'unpushed', weight: 'free', kept: 'in_place', count: 2, bytes: null, examples: [] }))).toEqual([{ text: '2 commits that are on no other branch', examples: '', blocks: false, kept: 'stays in the repository' }]);
  expect(weighed(verdict(used('forbids', 'process 7 (bash)')))[0]?.blocks).toBe(true);
  expect([verdict(finding), verdict({ ...finding, weight: 'saved' }), inUse, null].map(removalOf)).toEqual(['backup', 'free', 'never', 'free']);
});

test('workspaces are found by what would be lost, by text and by project, and sorted', () => {
  const one = (id: string, project_id: string, updated_at: string, status = 'released'): Workspace => ({ id, project_id, updated_at, status, path: `/w/${id}`, branch: `agentos/${id}` }) as Workspace;
  const list = [one('a', 'p', '2026-01-02T00:00:00Z'), one('b', 'p', '2026-01-03T00:00:00Z', 'in_use'), one('c', 'q', '2026-01-01T00:00:00Z')];
  const details: Record<string, WorkspaceDetail> = { a: { size_bytes: 5, verdict: { is_free: true, findings: [] } } as never, b: { size_bytes: 9, verdict: { is_free: false, findings: [] } } as never };
  const found = (query: string) => wanted(list, wishOf(new URLSearchParams(query)), ({ id }) => details[id] ?? null).map(({ id }) => id).join('');
  expect(['', 'sort=age', 'sort=-size', 'sort=name', 'project=p', 'q=AGENTOS/c', 'lost=nothing', 'lost=work', 'lost=used'].map(found)).toEqual(['bac', 'cab', 'bac', 'abc', 'ba', 'c', 'a', 'b', 'b']);
});

test('a diff has files, and lines with their numbers', async () => {
  const text = 'diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n fn main() {\n-old\n+new <b>\ndiff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n';
  const files = await filesOf(text);
  expect(files.map((file) => [file.name, file.added, file.removed, file.isNew])).toEqual([['a.rs', 1, 1, false], ['n', 1, 0, true]]);
  expect(files[0]?.lines.map((line) => [line.kind, line.before, line.after, line.text])).toEqual([
    ['hunk', null, null, '@@ -1,2 +1,2 @@'], ['normal', 1, 1, 'fn main() {'], ['del', 2, null, 'old'], ['add', null, 2, 'new <b>'],
  ]);
});

test('that a file ends without a line break is no line of it', async () => {
  const text = 'diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n';
  const [file] = await filesOf(text);
  expect(file?.lines.slice(1).map((line) => [line.kind, line.before, line.after, line.text])).toEqual([
    ['del', 1, null, 'a'], ['note', null, null, 'No newline at end of file'], ['add', null, 1, 'b'], ['note', null, null, 'No newline at end of file'],
  ]);
  expect([file?.added, file?.removed]).toEqual([1, 1]);
});

describe('what runs add up to', () => {
  const sums = (runs: Record<string, number>, input: number, cost_usd: number) => ({ runs, waiting: { approval: 2, timer: 5 }, tokens: { input, output: 80, cached: 900 }, cost_usd });
  const all = sums({ RUNNING: 9, PENDING: 1, FAILED: 9, COMPLETED: 40 }, 1200, 12.5);
  const recent = sums({ RUNNING: 1, FAILED: 2, TIMED_OUT: 1 }, 100, 0.25);
  test('is how things stand, and what the day has brought, with what is cached counted once', () => {
    expect(totalsOf(all, recent, true)).toEqual({ running: 3, resting: 7, waiting: 2, failed: 3, tokens: 180, cost: 0.25, ever: { tokens: 1280, cost: 12.5 } });
    expect(totalsOf(recent, recent, false).ever).toBeNull();
  });
  test('is asked for with the filters that the list has', () => {
    const filters = filtersOf(new URLSearchParams('status=waiting&workflow=w&project=p&worktree=t&q=x&since=hour'));
    expect(queryOf(filters, 3_600_000)).toEqual({ workflowId: 'w', projectId: 'p', worktreeId: 't', q: 'x', since: '1970-01-01T00:00:00.000Z' });
    expect(STATUSES[filters.status]).toMatchObject({ statuses: '', waiting: 'approval' });
  });
});
