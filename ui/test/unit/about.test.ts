import { describe, expect, test } from 'vitest';
import { aboutOf, questionOf, subjectOf } from '../../src/model/about';

describe('what a run is about', () => {
  test.each([
    [{ gate: true, priority: 'high', title: 'Dark mode' }, 'Dark mode'],
    [{ branch: 'main', wish: 'a page that can be read at night' }, 'a page that can be read at night'],
    [{ brief: '\n# Gift cards\n\nFor **birthdays**' }, 'Gift cards'],
    [{ level: 3, target: 'linux', quick: true }, 'level: 3 · target: linux'],
    [{ author: { name: 'Ada' }, targets: ['linux', 'macos'] }, 'author: Ada · targets: linux, macos'],
    [{ spec: '/home/me/shop/.agent/workflows/executions/01a1-b/context/spec/README.md' }, 'spec: README.md'],
    [{ title: 'safe\u202egnp.exe' }, 'safegnp.exe'],
    ['Just this', 'Just this'],
  ])('is told in a line for %j', (input, line) => {
    expect(subjectOf(input)).toBe(line);
  });
  test('is not made up where the input says nothing', () => {
    expect([{}, null, [], { quick: true }, { title: ' ' }].map(subjectOf)).toEqual([null, null, null, null, null]);
  });
  test('is also what it has used, with what is cached counted once', () => {
    const session = (input_tokens: number | null, cost_usd: number | null) => ({ input_tokens, output_tokens: 10, cached_tokens: 5, cost_usd });
    const about = (...sessions: object[]) => aboutOf({ input: {}, agent_sessions: sessions } as never);
    expect(about(session(100, 0.5), session(null, null))).toMatchObject({ tokens: 120, cost: 0.5 });
    expect(about()).toEqual({ subject: null, tokens: 0, cost: null, supersededCost: null, inheritedCost: null });
  });
  test('is also what it has inherited, and what superseded sessions cost, which are sums of their own', () => {
    const session = (cost_usd: number, more = {}) => ({ input_tokens: 100, output_tokens: 10, cost_usd, ...more });
    const sessions = [session(0.5), session(0.25, { inherited: true }), session(1, { superseded: true }), session(2, { inherited: true, superseded: true })];
    expect(aboutOf({ input: {}, agent_sessions: sessions } as never)).toMatchObject({ tokens: 220, cost: 1.5, supersededCost: 1, inheritedCost: 2.25 });
  });
  test('is what a person is asked, in a line', () => {
    const run = (kind: string) => ({ status: 'RUNNING', interrupted: false, waiting: { kind, since: '', about: 'Ship **it**?\n\n- one' } }) as never;
    expect([questionOf(run('approval')), questionOf(run('timer'))]).toEqual(['Ship it?', null]);
  });
});
