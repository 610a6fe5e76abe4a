/**
 * What steps and operations are called. An operation has a name for the log, which may be the hash of what it does;
 * people want to read what it does.
 */

import type { Step } from '../api/types';
import { plainly } from '../lib/format';
import type { Node } from './journal';
import { partOf } from './path';

export function nameOfNode(node: Pick<Node, 'operation' | 'name' | 'args'>): string {
  return plainly(called(node.operation, node.name, node.args));
}

export function nameOfStep(step: Pick<Step, 'name' | 'path' | 'input'>): string {
  const part = partOf(step.path);
  const input = typeof step.input === 'object' && step.input !== null ? (step.input as Record<string, unknown>) : null;
  // The document's name of an operation says its kind, too; that is shown beside it here.
  return plainly(called(part.operation, part.operation === null ? step.name : part.name, input));
}

const HASH = /^[0-9a-f]{16}$/;

function called(operation: string | null, name: string, args: Record<string, unknown> | null): string {
  const text = (key: string) => (typeof args?.[key] === 'string' ? (args[key]) : null);
  switch (operation) {
    case 'shell':
      return HASH.test(name) ? (text('command') ?? 'command') : name;
    case 'approve':
      return text('question') ?? 'approval';
    case 'sleep':
      return HASH.test(name) || name === '' ? 'sleep' : name;
    default:
      return name;
  }
}

/** An error in one line of a list: how a command ended matters more there than the command, which is long. */
export function briefly(message: string): string {
  const told = /^`[^]*?` (exited with|was ended by|timed out|could not)/.exec(message);
  return told ? message.slice(told[0].length - told[1]!.length).replace(/^exited with (\d+): /, 'exit $1: ') : message;
}
