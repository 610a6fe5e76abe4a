/**
 * An agent's session, read from the stream that was kept of it (`*.jsonl`): what was said, thought, asked of tools and
 * answered, in the same words for every agent. What a line means depends on who wrote it; a line that nobody knows is
 * left out.
 */

import type { AgentSession, Step } from '../api/types';
import type { Node } from './journal';

export type Turn =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; text: string }
  | { kind: 'prompt'; text: string }
  | { kind: 'tool'; id: string; name: string; input: unknown; output: string | null; ok: boolean | null; change: Change | null }
  | { kind: 'usage'; input: number; output: number; cached: number; cost: number | null }
  | { kind: 'note'; text: string }
  | { kind: 'end'; ok: boolean; text: string | null };

/** What a tool did to a file, where its arguments say it. */
export interface Change {
  file: string;
  before: string;
  after: string;
}

type Fields = Record<string, unknown>;

/**
 * What a session was asked, from the run's log: agents do not repeat it. Sessions of one name in one step follow each
 * other as their operations do.
 */
export function promptOf(session: AgentSession, sessions: readonly AgentSession[], steps: readonly Step[], nodes: Iterable<Node>): string | null {
  const step = steps.find((one) => one.id === session.workflow_step_id);
  if (!step) return null;
  const isSame = (one: AgentSession) => one.workflow_step_id === session.workflow_step_id && one.name === session.name;
  const at = sessions.filter(isSame).findIndex((one) => one.id === session.id);
  const asked: Node[] = [];
  for (const node of nodes) {
    const isWithin = node.path === step.path || node.path.startsWith(`${step.path}@`);
    if (node.operation === 'agent' && node.name === session.name && isWithin) asked.push(node);
  }
  const prompt = asked[at]?.args?.['prompt'];
  return typeof prompt === 'string' && prompt.trim() ? prompt : null;
}

export function turnsOf(stream: string): Turn[] {
  const turns: Turn[] = [];
  for (const line of stream.split('\n')) {
    if (!line.startsWith('{')) continue;
    let fields: Fields;
    try {
      fields = JSON.parse(line) as Fields;
    } catch {
      continue;
    }
    understand(fields, turns);
  }
  return turns;
}

function understand(fields: Fields, turns: Turn[]): void {
  const type = str(fields['type']);
  switch (type) {
    // Our own words: the scripted agent, and commands that speak like it.
    case 'text':
      turns.push({ kind: 'text', text: str(fields['text']) });
      return;
    case 'thinking':
      turns.push({ kind: 'thinking', text: str(fields['text']) });
      return;
    case 'tool_call':
      call(turns, str(fields['id']), str(fields['name']), fields['input']);
      return;
    case 'usage':
      turns.push({ kind: 'usage', input: num(fields['input_tokens']), output: num(fields['output_tokens']), cached: num(fields['cached_tokens']), cost: numOrNull(fields['cost_usd']) });
      return;
    case 'finished':
      turns.push({ kind: 'end', ok: fields['ok'] === true, text: null });
      return;
    case 'retrying':
    case 'denied':
      turns.push({ kind: 'note', text: `${type}: ${str(fields['why']) || str(fields['tool'])}` });
      return;
    case 'tool_result':
      // Gemini names the call `tool_id` and says `status`.
      if (fields['tool_id'] !== undefined) answer(turns, str(fields['tool_id']), str(fields['output']), fields['status'] === 'success');
      else answer(turns, str(fields['id']), str(fields['output']), fields['ok'] !== false);
      return;
    // Claude Code
    case 'assistant':
    case 'user':
      for (const part of list(record(fields['message'])['content'])) claudePart(record(part), turns);
      return;
    case 'result':
      result(fields, turns);
      return;
    // Codex
    case 'item.started':
    case 'item.completed':
      codexItem(record(fields['item']), type === 'item.completed', turns);
      return;
    case 'turn.completed': {
      const usage = record(fields['usage']);
      turns.push({ kind: 'usage', input: num(usage['input_tokens']), output: num(usage['output_tokens']), cached: num(usage['cached_input_tokens']), cost: null });
      return;
    }
    case 'turn.failed':
    case 'error':
      turns.push({ kind: 'end', ok: false, text: str(record(fields['error'])['message']) || str(fields['message']) });
      return;
    // Gemini
    case 'message':
      if (fields['role'] === 'user') turns.push({ kind: 'prompt', text: str(fields['content']) });
      else spoken(turns, str(fields['content']), fields['delta'] === true);
      return;
    case 'tool_use':
      call(turns, str(fields['tool_id']), str(fields['tool_name']), fields['parameters']);
      return;
  }
}

/** A piece is joined to what was said right before. */
function spoken(turns: Turn[], text: string, isPiece: boolean): void {
  const last = turns.at(-1);
  if (isPiece && last?.kind === 'text') last.text += text;
  else turns.push({ kind: 'text', text });
}

function call(turns: Turn[], id: string, name: string, input: unknown): void {
  turns.push({ kind: 'tool', id, name, input, output: null, ok: null, change: changeOf(record(input)) });
}

function answer(turns: Turn[], id: string, output: string, ok: boolean): void {
  const found = turns.findLast((turn) => turn.kind === 'tool' && turn.id === id);
  if (found?.kind === 'tool') {
    found.output = output;
    found.ok = ok;
  }
}

function claudePart(part: Fields, turns: Turn[]): void {
  switch (part['type']) {
    case 'text':
      turns.push({ kind: 'text', text: str(part['text']) });
      return;
    case 'thinking':
      turns.push({ kind: 'thinking', text: str(part['thinking']) });
      return;
    case 'tool_use':
      call(turns, str(part['id']), str(part['name']), part['input']);
      return;
    case 'tool_result':
      answer(turns, str(part['tool_use_id']), flat(part['content']), part['is_error'] !== true);
      return;
  }
}

function codexItem(item: Fields, isDone: boolean, turns: Turn[]): void {
  const id = str(item['id']);
  switch (item['type']) {
    case 'agent_message':
      if (isDone) turns.push({ kind: 'text', text: str(item['text']) });
      return;
    case 'reasoning':
      if (isDone) turns.push({ kind: 'thinking', text: str(item['text']) });
      return;
    case 'error':
      turns.push({ kind: 'note', text: str(item['message']) });
      return;
    default: {
      const isKnown = turns.some((turn) => turn.kind === 'tool' && turn.id === id);
      if (!isKnown) call(turns, id, str(item['type']), item['command'] ?? item['changes'] ?? item['arguments'] ?? item);
      if (isDone) answer(turns, id, str(item['aggregated_output']), item['status'] !== 'failed' && (item['exit_code'] ?? 0) === 0);
    }
  }
}

function result(fields: Fields, turns: Turn[]): void {
  const usage = record(fields['usage'] ?? fields['stats']);
  if (Object.keys(usage).length) {
    const cached = num(usage['cache_read_input_tokens'] ?? usage['cached']);
    turns.push({ kind: 'usage', input: num(usage['input_tokens']), output: num(usage['output_tokens']), cached, cost: numOrNull(fields['total_cost_usd']) });
  }
  const ok = fields['is_error'] !== undefined ? fields['is_error'] === false : fields['status'] === 'success';
  turns.push({ kind: 'end', ok, text: ok ? null : str(fields['result']) || str(record(fields['error'])['message']) });
}

/** The arguments of the usual tools that write files, under the names that agents give them. */
function changeOf(input: Fields): Change | null {
  const file = str(input['file_path']) || str(input['file']) || str(input['path']);
  if (!file) return null;
  if (typeof input['old_string'] === 'string') return { file, before: input['old_string'], after: str(input['new_string']) };
  if (typeof input['find'] === 'string') return { file, before: input['find'], after: str(input['replace']) };
  if (typeof input['content'] === 'string') return { file, before: '', after: input['content'] };
  return null;
}

function flat(content: unknown): string {
  if (typeof content === 'string') return content;
  return list(content).map((part) => str(record(part)['text'])).join('\n');
}

function str(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
function num(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
function numOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : typeof value === 'string' ? [{ type: 'text', text: value }] : [];
}
function record(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
