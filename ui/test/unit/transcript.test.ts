import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AgentSession, Step } from '../../src/api/types';
import { Journal } from '../../src/model/journal';
import { promptOf, turnsOf, type Turn } from '../../src/model/transcript';

/** What the real agents wrote, recorded for the tests of the translators. */
const recorded = (name: string) => readFileSync(new URL(`../../../crates/agentos-agent/fixtures/${name}.jsonl`, import.meta.url), 'utf8');
const brief = (turns: Turn[]) => turns.map((turn) => [turn.kind, 'text' in turn ? turn.text : 'name' in turn ? turn.name : '']);

describe('a transcript', () => {
  test('of claude has what was said, and tools with their answers', () => {
    const turns = turnsOf(recorded('claude-e2e-ok'));
    expect(brief(turns).slice(0, 3)).toEqual([['text', 'I will do it.'], ['tool', 'Write'], ['text', 'All done: hello.txt was written.']]);
    expect(turns[1]).toMatchObject({ ok: true, change: { file: '/workspace/hello.txt', before: '', after: 'hello from the fake model\n' } });
    expect(turns.at(-1)).toMatchObject({ kind: 'end', ok: true });
    expect(turns.find((turn) => turn.kind === 'usage')).toMatchObject({ input: 200, output: 50, cached: 60, cost: 0.001518 });
  });
  test('of codex names a call once', () => {
    const turns = turnsOf(recorded('codex-e2e-ok'));
    expect(brief(turns)).toEqual([['text', 'I will do it.'], ['tool', 'file_change'], ['text', 'All done: hello.txt was written.'], ['usage', '']]);
    expect(turns[1]).toMatchObject({ ok: true });
  });
  test('of gemini joins the pieces of a message', () => {
    const turns = turnsOf(recorded('gemini-e2e-ok'));
    expect(brief(turns).filter(([kind]) => kind === 'text')).toEqual([['text', 'I will do it.'], ['text', 'All done: hello.txt was written.']]);
    expect(turns.find((turn) => turn.kind === 'tool')).toMatchObject({ name: 'write_file', ok: true });
  });
  test.each(['claude-E-e400', 'codex-E-e400', 'gemini-E-e400', 'claude-nokey'])('of %s tells that it failed', (name) => {
    expect(turnsOf(recorded(name)).some((turn) => turn.kind === 'end' && !turn.ok)).toBe(true);
  });
  test('of the scripted agent is read in our own words', () => {
    const turns = turnsOf('{"type":"thinking","text":"hm"}\nno json\n{"id":"1","input":{"file":"a","find":"x","replace":"y"},"name":"patch","type":"tool_call"}\n{"id":"1","ok":false,"output":"no","type":"tool_result"}\n');
    expect(turns).toMatchObject([{ kind: 'thinking' }, { kind: 'tool', ok: false, output: 'no', change: { before: 'x', after: 'y' } }]);
  });
});

test('what a session was asked is in the run’s log', () => {
  const journal = new Journal();
  const ask = (seq: number, path: string, prompt: string) => journal.apply({ seq, at: seq, kind: 'operation.ordered', operation: path, args: { agent: 'claude', prompt } });
  ask(1, '/a#1@1/agent:fix#1', 'one');
  ask(2, '/a#1@2/agent:fix#1', 'two');
  ask(3, '/ab#1@1/agent:fix#1', 'other');
  const steps = [{ id: 's', path: '/a#1' }] as Step[];
  const sessions = ['x', 'y'].map((id) => ({ id, name: 'fix', workflow_step_id: 's' })) as AgentSession[];
  expect(sessions.map((session) => promptOf(session, sessions, steps, journal.nodes.values()))).toEqual(['one', 'two']);
  expect(promptOf({ ...sessions[0]!, workflow_step_id: null }, sessions, steps, journal.nodes.values())).toBeNull();
});
