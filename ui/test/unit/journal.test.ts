import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/api/types';
import { Journal, lengthOfNode } from '../../src/model/journal';
import { attemptOfScope, partOf, stepOfScope } from '../../src/model/path';
import { apart, barsOf, cutAt, lanesOf, moved, rowsOf, sketch, ticks, zoomed } from '../../src/model/timeline';

/** A log as the engine writes it: a phase with a step that fails once and is tried again, then a question. */
function log(): Entry[] {
  const facts: [number, string, Record<string, unknown>][] = [
    [0, 'run.started', {}],
    [10, 'step.requested', { step: '/~build#1' }],
    [10, 'attempt.started', { scope: '/~build#1@1' }],
    [10, 'step.requested', { step: '/~build#1@1/check#1', number: 1, site: 'templates/a.ts:3:9' }],
    [10, 'attempt.started', { scope: '/~build#1@1/check#1@1' }],
    [10, 'operation.ordered', { operation: '/~build#1@1/check#1@1/shell:0123456789abcdef#1', args: { command: 'make' }, site: 'templates/a.ts:4:9' }],
    [60, 'operation.ended', { operation: '/~build#1@1/check#1@1/shell:0123456789abcdef#1', result: { status: 'failed', failure: { message: 'no' } } }],
    [60, 'attempt.failed', { scope: '/~build#1@1/check#1@1', failure: { message: 'no' }, retry_at: 100 }],
    [110, 'attempt.started', { scope: '/~build#1@1/check#1@2' }],
    [110, 'operation.ordered', { operation: '/~build#1@1/check#1@2/agent:fix#1', args: { agent: 'claude' } }],
    [170, 'operation.ended', { operation: '/~build#1@1/check#1@2/agent:fix#1', result: { status: 'ok', value: 1 } }],
    [170, 'step.ended', { step: '/~build#1@1/check#1', outcome: { status: 'completed', output: null } }],
    [170, 'step.ended', { step: '/~build#1', outcome: { status: 'completed', output: null } }],
    [170, 'comment.added', { operation: '/comment:comment#1', on: 'run', message: 'x' }],
    [170, 'operation.ordered', { operation: '/approve:fedcba9876543210#1', number: 2, args: { question: 'Go?' } }],
  ];
  return facts.map(([at, kind, fields], index) => ({ seq: index + 1, at, kind, ...fields }));
}

function folded(entries: Entry[]): Journal {
  const journal = new Journal();
  for (const entry of entries) journal.apply(entry);
  return journal;
}

describe('paths', () => {
  test('tell what they are about', () => {
    expect(partOf('/~build#1@1/implement api#2')).toEqual({ kind: 'step', operation: null, name: 'implement api', scope: '/~build#1@1' });
    expect(partOf('/~a%2Fb#1')).toEqual({ kind: 'phase', operation: null, name: 'a/b', scope: '' });
    expect(partOf('/x#1@2/shell:echo%3A%23#3')).toEqual({ kind: 'operation', operation: 'shell', name: 'echo:#', scope: '/x#1@2' });
  });
  test('with an escape that is none are shown as they are', () => {
    expect(partOf('/100%#1').name).toBe('100%');
  });
  test('of attempts belong to a step', () => {
    expect([stepOfScope('/a#1@12'), attemptOfScope('/a#1@12'), attemptOfScope('')]).toEqual(['/a#1', 12, 1]);
  });
});

describe('the journal', () => {
  test('knows phases, steps, attempts and operations', () => {
    const journal = folded(log());
    const step = journal.nodes.get('/~build#1@1/check#1');
    expect(step).toMatchObject({ name: 'check', number: 1, site: 'templates/a.ts:3:9', start: 10, end: 170, outcome: 'completed', depth: 1 });
    expect(step?.attempts).toMatchObject([
      { number: 1, start: 10, end: 60, failure: { message: 'no' }, retryAt: 100 },
      { number: 2, start: 110, end: 170, failure: null },
    ]);
    expect(step?.children.map((child) => [child.operation, child.outcome, child.within])).toEqual([['shell', 'failed', 1], ['agent', 'completed', 2]]);
  });
  test('leaves out remarks, which take no time', () => {
    expect([...folded(log()).nodes.keys()].filter((path) => path.includes('comment'))).toEqual([]);
  });
  test('applies each entry once, however often it comes', () => {
    const entries = log();
    const twice = folded(entries.flatMap((entry) => [entry, entry]));
    expect(twice.nodes.get('/~build#1@1/check#1')?.attempts).toHaveLength(2);
    expect(twice.last).toBe(entries.length);
  });
  test('is not confused by what it does not know', () => {
    const journal = folded([...log(), { seq: 99, at: 'never', kind: 'moon.landed', step: 7 }, { seq: 100, at: 200, kind: 'step.ended', step: '/nobody#1' }]);
    expect(journal.last).toBe(100);
  });
  test('ends a question with its answer', () => {
    const answered = folded([...log(), { seq: 16, at: 300, kind: 'approval.given', operation: '/approve:fedcba9876543210#1', approved: false, by: 'me' }]);
    expect(answered.nodes.get('/approve:fedcba9876543210#1')).toMatchObject({ end: 300, outcome: 'completed', value: { approved: false, by: 'me' } });
  });
  test('counts what a fork does from its own beginning, and leaves out the time before', () => {
    // Forked while its step was tried for the second time, a thousand later.
    const fork = folded([...log().slice(0, 10), { seq: 11, at: 1110, kind: 'run.rebased', away_ms: 1000 }, ...log().slice(10).map((entry) => ({ ...entry, seq: entry.seq + 1, at: Number(entry.at) + 1000 }))]);
    const step = fork.nodes.get('/~build#1@1/check#1')!;
    expect(fork.gaps).toEqual([{ from: 110, to: 1110 }]);
    expect(fork.resumesWith).toBe(step);
    expect(fork.nodes.get('/~build#1@1/check#1@2/agent:fix#1')).toMatchObject({ start: 1110, end: 1170 });
    expect(step.attempts.map(({ start, end }) => [start, end])).toEqual([[10, 60], [1110, 1170]]);
    expect(lengthOfNode(step, fork.gaps, 0)).toBe(160);
    expect(cutAt([{ start: step.start, end: step.end }], fork.gaps)).toEqual([{ start: 10, end: 110 }, { start: 1110, end: 1170 }]);
  });
  test('knows why it was cancelled', () => {
    expect(folded([...log(), { seq: 16, at: 300, kind: 'run.cancel_requested', reason: 'enough' }]).cancelled).toEqual({ at: 300, reason: 'enough' });
  });
  test('remembers what held an operation up', () => {
    const entries: Entry[] = [
      { seq: 1, at: 1, kind: 'operation.ordered', operation: '/shell:x#1', number: 1, args: {} },
      { seq: 2, at: 2, kind: 'operation.held', operation: '/shell:x#1', hold: { kind: 'disk', message: 'full' } },
      { seq: 3, at: 9, kind: 'operation.released', operation: '/shell:x#1' },
    ];
    expect(folded(entries).nodes.get('/shell:x#1')?.holds).toEqual([{ kind: 'disk', message: 'full', start: 2, end: 9 }]);
  });
});

describe('rows', () => {
  const journal = folded(log());
  const choice = { chosen: new Map<string, boolean>(), size: journal.nodes.size };
  test('are all open while there are few', () => {
    expect(rowsOf(journal.roots, choice).map((row) => [row.node.name, row.depth])).toEqual([
      ['build', 0], ['check', 1], ['0123456789abcdef', 2], ['fix', 2], ['fedcba9876543210', 0],
    ]);
  });
  test('of steps are closed while there are many', () => {
    expect(rowsOf(journal.roots, { ...choice, size: 5000 }).map((row) => row.node.name)).toEqual(['build', 'check', 'fedcba9876543210']);
  });
  test('are as the user has chosen', () => {
    const chosen = new Map([['/~build#1', false]]);
    expect(rowsOf(journal.roots, { ...choice, chosen })).toHaveLength(2);
  });
  test('that are searched for come with what is around them', () => {
    expect(rowsOf(journal.roots, { ...choice, size: 5000, text: 'FIX' }).map((row) => row.node.name)).toEqual(['build', 'check', 'fix']);
    expect(rowsOf(journal.roots, { ...choice, text: 'nothing like it' })).toEqual([]);
    // By what is read in the row, not only by what the log calls it.
    expect(rowsOf(journal.roots, { ...choice, text: 'go?' }).map((row) => row.node.operation)).toEqual(['approve']);
  });
});

describe('bars', () => {
  const journal = folded(log());
  const step = journal.nodes.get('/~build#1@1/check#1')!;
  test('show attempts, and the pause between them', () => {
    expect(barsOf(step, true).map((bar) => [bar.tone, bar.start, bar.end])).toEqual([
      ['failed', 10, 60], ['gap', 60, 110], ['done', 110, 170],
    ]);
  });
  test('of a closed step tell what agents did in it', () => {
    expect(barsOf(step, false).filter((bar) => bar.inner).map((bar) => [bar.tone, bar.start, bar.end])).toEqual([['agent', 110, 170]]);
  });
  test('of a question are a wait without an end', () => {
    expect(barsOf(journal.nodes.get('/approve:fedcba9876543210#1')!, true)).toMatchObject([{ tone: 'waiting', start: 170, end: null }]);
  });
  test('after a failed attempt are a pause until the next one', () => {
    const early = folded(log().slice(0, 8)).nodes.get('/~build#1@1/check#1')!;
    expect(barsOf(early, true).map((bar) => [bar.tone, bar.end])).toEqual([['failed', 60], ['gap', 100]]);
  });
});

describe('the axis and the overview', () => {
  test('have no marks that stand on each other, on a fold, or beyond the edge', () => {
    const marks = [0, 30, 60, 90, 130].map((from) => ({ from, to: from + 40 }));
    expect(apart(marks, [{ from: 95, to: 120 }], 180).map(({ from }) => from)).toEqual([0, 130]);
    expect(apart(marks, [], 140).map(({ from }) => from)).toEqual([0, 60]);
  });
  test('have few and round marks', () => {
    expect(ticks(0, 6_100, 6)).toEqual([0, 2000, 4000, 6000]);
    expect(ticks(900, 1_100, 4)).toEqual([900, 950, 1000, 1050, 1100]);
    expect(ticks(0, 40 * 86_400_000, 5).length).toBeLessThanOrEqual(6);
  });
  test('put what ran side by side on lanes of its own', () => {
    const steps = [[0, 10], [0, 30], [10, 20], [5, 8]].map(([start, end], index) => ({ ...folded(log()).roots[1]!, path: `/${index}`, number: index, start: start!, end: end!, children: [] }));
    const { bars, lanes } = lanesOf(steps, 8);
    expect([bars.map((bar) => bar.lane), lanes]).toEqual([[0, 1, 0, 2], 3]);
    expect(lanesOf(steps, 2).lanes).toBe(2);
  });
  test('zoom around a moment and never leave the run', () => {
    const whole = { from: 0, to: 1000 };
    expect(zoomed(whole, whole, 0.5, 250)).toEqual({ from: 125, to: 625 });
    expect(zoomed({ from: 0, to: 100 }, whole, 100, 50)).toEqual(whole);
    expect(moved({ from: 0, to: 100 }, whole, -50)).toEqual({ from: 0, to: 100 });
    expect(moved({ from: 0, to: 100 }, whole, 5000)).toEqual({ from: 900, to: 1000 });
  });
});

describe('another source', () => {
  const step = (path: string, number: number, at: number): Entry[] =>
    [
      ['step.requested', { step: path, number }],
      ['attempt.started', { scope: `${path}@1` }],
      ['operation.ordered', { operation: `${path}@1/shell:x#1` }],
      ['operation.ended', { operation: `${path}@1/shell:x#1`, result: { status: 'ok' } }],
      ['step.ended', { step: path, outcome: { status: 'completed' } }],
    ].map(([kind, fields], index) => ({ seq: 0, at: at + index, kind, ...(fields as object) }) as Entry);
  const wait: Entry = { seq: 0, at: 40, kind: 'operation.ordered', operation: '/wait:go#1', number: 3 };
  const switched = (at: number, keeps_numbers = true): Entry => ({ seq: 0, at, kind: 'source.switched', definition: 'x', keeps_numbers });
  const rebased: Entry = { seq: 0, at: 100, kind: 'run.rebased', away_ms: 60 };
  const numbered = (entries: Entry[]) => folded(entries.map((entry, index) => ({ ...entry, seq: index + 1 })));
  const before = [...step('/plan#1', 1, 0), ...step('/implement#1', 2, 20), wait];
  const after = [switched(100), ...step('/plan#1', 1, 0), rebased, ...step('/construct#1', 4, 110)];
  const shape = (journal: Journal) => rowsOf(journal.roots, { chosen: new Map(), size: 10 }).filter(({ node }) => node.operation !== 'shell').map(({ node, depth }) => [node.name, depth, node.isSuperseded]);

  test('leaves what it does not ask for behind everything else', () => {
    const journal = numbered([...before, ...after]);
    expect(shape(journal)).toEqual([['plan', 0, false], ['construct', 0, false], ['Superseded', 0, true], ['implement', 1, true], ['go', 1, true]]);
    // What was under way was stopped; what is asked for again has happened once.
    expect(journal.nodes.get('/wait:go#1')).toMatchObject({ outcome: 'cancelled', end: 100 });
    expect(journal.nodes.get('/implement#1')).toMatchObject({ outcome: 'completed', end: 24 });
    expect(journal.nodes.get('/plan#1')?.attempts).toHaveLength(1);
    expect([journal.gaps, journal.resumesWith]).toEqual([[], null]);
    expect(lanesOf(journal.nodes.values(), 8).bars.map(({ path }) => path)).toEqual(['/plan#1', '/construct#1']);
  });
  test('that asks for it again brings it back', () => {
    const journal = numbered([...before, ...after, switched(200), ...before]);
    expect(shape(journal)).toEqual([['plan', 0, false], ['implement', 0, false], ['go', 0, false], ['Superseded', 0, true], ['construct', 1, true]]);
    expect(journal.nodes.get('/wait:go#1')).toMatchObject({ outcome: 'open', end: null });
  });
  test('in a phase that it keeps, too', () => {
    const phase = (...paths: string[]): Entry[] => [{ seq: 0, at: 0, kind: 'step.requested', step: '/~build#1' }, ...paths.flatMap((path, index) => step(`/~build#1@1/${path}#1`, index + 1, 10))];
    const journal = numbered([...phase('api', 'ui'), switched(100), ...phase('api')]);
    expect(shape(journal)).toEqual([['build', 0, false], ['api', 1, false], ['Superseded', 0, true], ['ui', 1, true]]);
  });
  test('of an earlier version leaves nothing, as steps had other numbers then', () => {
    expect(shape(numbered([...before, switched(100, false), ...step('/plan#1', 1, 0)]))).toEqual([['plan', 0, false]]);
  });
});

test('a sketch shows steps and phases before the log has been read', () => {
  const step = (step_number: number, path: string, completed_at: string | null, superseded = false) => ({
    id: String(step_number), execution_id: '', step_number, name: 'x', path, phase: 'build', status: completed_at ? ('COMPLETED' as const) : ('RUNNING' as const),
    started_at: '2026-01-01T00:00:00Z', completed_at, duration: null, input: null, output: null, error: null, attempt_number: 1, max_attempts: 1,
    log_file_path: null, superseded, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z',
  });
  const { roots, nodes } = sketch([step(1, '/~build#1@1/a#1', '2026-01-01T00:00:05Z'), step(2, '/~build#1@1/b#1', null)]);
  expect(roots.map((root) => [root.name, root.kind, root.children.length, root.end])).toEqual([['build', 'phase', 2, null]]);
  expect(nodes.get('/~build#1@1/a#1')).toMatchObject({ number: 1, outcome: 'completed' });
  // What is superseded is behind everything else, also in a phase that is not.
  const switched = sketch([step(1, '/~build#1@1/a#1', '2026-01-01T00:00:05Z', true), step(2, '/~build#1@1/b#1', null), step(3, '/~old#1@1/c#1', null, true)]);
  expect(switched.roots.map((root) => [root.name, root.children.map(({ name }) => name)])).toEqual([['build', ['b']], ['Superseded', ['a', 'old']]]);
  expect([...switched.nodes.values()].filter((node) => !node.isSuperseded).map(({ name }) => name)).toEqual(['build', 'b']);
});
