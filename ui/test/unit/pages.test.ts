import { describe, expect, test } from 'vitest';
import { filesOf } from '../../src/lib/diff';
import { briefly, nameOfStep } from '../../src/model/names';
import { filtersOf, queryOf, STATUSES, totalsOf } from '../../src/model/filters';
import { standingOfRun } from '../../src/model/standing';
import { modulesOf, moduleOf, siteOf, successOf } from '../../src/model/statistics';
import type { Finding, Verdict } from '../../src/api/types';
import { removalOf, weighed } from '../../src/model/verdict';

describe('how a run stands', () => {
  const waiting = (kind: 'approval' | 'timer') => ({ status: 'RUNNING' as const, interrupted: false, waiting: { kind, since: '', until: null } });
  test('is told with a shape of its own for each', () => {
    expect(standingOfRun(waiting('approval'))).toMatchObject({ label: 'Needs you', icon: 'hand', shade: 'waiting' });
    expect(standingOfRun(waiting('timer'))).toMatchObject({ label: 'Sleeping' });
    expect(standingOfRun({ status: 'RUNNING', interrupted: true, waiting: null })).toMatchObject({ label: 'Interrupted', icon: 'bolt' });
    expect(standingOfRun({ status: 'TIMED_OUT', interrupted: false, waiting: null })).toMatchObject({ label: 'Timed out', shade: 'failed', icon: 'clock' });
  });
});

test('operations are called by what they do', () => {
  expect(nameOfStep({ name: 'ac2b89f15be89acf', path: '/approve:ac2b89f15be89acf#1', input: { question: 'Open it?' } })).toBe('Open it?');
  expect(nameOfStep({ name: 'ac2b89f15be89acf', path: '/shell:ac2b89f15be89acf#1', input: { command: 'make' } })).toBe('make');
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
  expect(moduleOf(modules, site!.file)?.text).toBe('b');
  expect(moduleOf(modules, 'lib/more.ts')?.text).toBe('b');
  expect([siteOf(null), siteOf('nowhere'), moduleOf([], 'x')]).toEqual([null, null, null]);
});

test('a verdict says what would be lost', () => {
  const verdict = (...findings: Finding[]): Verdict => ({ workspace_id: 'w', path: '/w', kind: 'worktree', branch: null, integrated: null, findings, is_free: findings.every(({ weight }) => weight === 'free' || weight === 'saved') });
  const finding: Finding = { what: 'untracked', weight: 'blocks', kept: 'backup', count: 7, bytes: 61, examples: ['a', 'b', 'c', 'd', 'e'] };
  expect(weighed(verdict(finding))).toEqual([{ text: '7 untracked, 61 B', examples: 'a, b, c, d, and 3 others', blocks: true }]);
  const used = (weight: Finding['weight'], example: string): Finding => ({ what: 'in_use', weight, kept: 'in_place', count: 1, bytes: null, examples: [example] });
  const inUse = verdict(used('forbids', 'process 7 (bash)'), used('blocks', 'somebody works in it'));
  expect(weighed(inUse)).toEqual([{ text: 'in use', examples: 'process 7 (bash), somebody works in it', blocks: true }]);
  expect(weighed(verdict(used('forbids', 'process 7 (bash)')))[0]?.blocks).toBe(true);
  expect([verdict(finding), verdict({ ...finding, weight: 'saved' }), inUse, null].map(removalOf)).toEqual(['backup', 'free', 'never', 'free']);
});

test('a diff has files, and lines with their numbers', async () => {
  const text = 'diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n fn main() {\n-old\n+new <b>\ndiff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n';
  const files = await filesOf(text);
  expect(files.map((file) => [file.name, file.added, file.removed, file.isNew])).toEqual([['a.rs', 1, 1, false], ['n', 1, 0, true]]);
  expect(files[0]?.lines.map((line) => [line.kind, line.before, line.after, line.text])).toEqual([
    ['hunk', null, null, '@@ -1,2 +1,2 @@'], ['normal', 1, 1, 'fn main() {'], ['del', 2, null, 'old'], ['add', null, 2, 'new <b>'],
  ]);
});

describe('what runs add up to', () => {
  const sums = (runs: Record<string, number>, input: number, cost_usd: number) => ({ runs, waiting: { approval: 2, timer: 5 }, tokens: { input, output: 80, cached: 900 }, cost_usd });
  const all = sums({ RUNNING: 3, PENDING: 1, FAILED: 9, COMPLETED: 40 }, 1200, 12.5);
  const recent = sums({ RUNNING: 1, FAILED: 2, TIMED_OUT: 1 }, 100, 0.25);
  test('is how things stand, and what the day has brought, with what is cached counted once', () => {
    expect(totalsOf(all, recent, true)).toEqual({ running: 4, waiting: 2, failed: 3, tokens: 180, cost: 0.25, ever: { tokens: 1280, cost: 12.5 } });
    expect(totalsOf(recent, recent, false).ever).toBeNull();
  });
  test('is asked for with the filters that the list has', () => {
    const filters = filtersOf(new URLSearchParams('status=waiting&workflow=w&project=p&worktree=t&q=x&since=hour'));
    expect(queryOf(filters, 3_600_000)).toEqual({ workflowId: 'w', projectId: 'p', worktreeId: 't', q: 'x', since: '1970-01-01T00:00:00.000Z' });
    expect(STATUSES[filters.status]).toMatchObject({ statuses: '', waiting: 'approval' });
  });
});
