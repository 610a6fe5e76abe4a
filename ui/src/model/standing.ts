/** How runs, steps and sessions stand, in one vocabulary of words, colours and shapes. Never a colour alone. */

import type { Run, RunDetail, Waiting } from '../api/types';
import { plainly } from '../lib/format';
import type { Node, Outcome } from './journal';

export type Shade = 'running' | 'done' | 'failed' | 'waiting' | 'quiet';
export interface Standing {
  label: string;
  shade: Shade;
  icon: string;
  moves?: boolean;
}

const STATUS: Record<string, Standing> = {
  PENDING: { label: 'Pending', shade: 'quiet', icon: 'dashed' },
  RUNNING: { label: 'Running', shade: 'running', icon: 'spinner', moves: true },
  COMPLETED: { label: 'Completed', shade: 'done', icon: 'check' },
  FAILED: { label: 'Failed', shade: 'failed', icon: 'cross' },
  RETRYING: { label: 'Retrying', shade: 'waiting', icon: 'again' },
  SKIPPED: { label: 'Skipped', shade: 'quiet', icon: 'skip' },
  CANCELLED: { label: 'Cancelled', shade: 'quiet', icon: 'slash' },
  TIMED_OUT: { label: 'Timed out', shade: 'failed', icon: 'clock' },
};

const WAITING: Record<Waiting['kind'], Standing> = {
  approval: { label: 'Needs you', shade: 'waiting', icon: 'hand' },
  timer: { label: 'Sleeping', shade: 'running', icon: 'clock' },
  signal: { label: 'Waiting for a signal', shade: 'waiting', icon: 'pause' },
  child: { label: 'Waiting for a child', shade: 'running', icon: 'pause' },
  retry: { label: 'Retrying', shade: 'waiting', icon: 'again' },
  slot: { label: 'Waiting for a slot', shade: 'waiting', icon: 'pause' },
  disk: { label: 'Waiting for disk', shade: 'waiting', icon: 'pause' },
};

export function standingOf(status: string): Standing {
  return STATUS[status] ?? { label: status, shade: 'quiet', icon: 'dashed' };
}

export function standingOfRun(run: Pick<Run, 'status' | 'waiting' | 'interrupted' | 'elsewhere'>): Standing {
  if (run.elsewhere) return { label: run.elsewhere.reason === 'moved' ? 'Moved' : 'Held copy', shade: 'quiet', icon: 'pause' };
  if (run.interrupted) return { label: 'Interrupted', shade: 'waiting', icon: 'bolt' };
  if (run.status === 'RUNNING' && run.waiting) return WAITING[run.waiting.kind] ?? standingOf(run.status);
  return standingOf(run.status);
}

/** The same of a run of which more is known: which event it waits for. */
export function standingOfDetail(run: Pick<RunDetail, 'status' | 'waiting' | 'interrupted' | 'elsewhere' | 'operations'>): Standing {
  const standing = standingOfRun(run);
  const events = run.operations.filter((one) => one.kind === 'wait');
  if (standing !== WAITING.signal || events.length !== 1) return standing;
  const name = plainly(events[0]!.name);
  return { ...standing, label: `Waiting for ${name.length > 40 ? `${name.slice(0, 39)}…` : name}` };
}

const OUTCOME: Record<Outcome, string> = { open: 'RUNNING', completed: 'COMPLETED', failed: 'FAILED', skipped: 'SKIPPED', cancelled: 'CANCELLED' };

/** The same of a row of the timeline. */
export function standingOfNode(node: Pick<Node, 'outcome' | 'operation' | 'attempts' | 'holds'>): Standing {
  const isOpen = node.outcome === 'open';
  if (isOpen && node.attempts.at(-1)?.failure) return standingOf('RETRYING');
  if (isOpen && (node.operation === 'approve' || node.holds.some((hold) => hold.end === null))) return { label: 'Waiting', shade: 'waiting', icon: 'hand' };
  if (isOpen && (node.operation === 'sleep' || node.operation === 'wait')) return { label: 'Waiting', shade: 'waiting', icon: 'clock' };
  return standingOf(OUTCOME[node.outcome]);
}

/** Where a run goes on that does not go on in this database. */
export function whereabouts(run: Pick<Run, 'elsewhere'>): string | null {
  if (!run.elsewhere) return null;
  const { reason, database } = run.elsewhere;
  return reason === 'moved' ? `Moved to ${database}` : `Held: goes on in ${database}`;
}

export function isOver(status: string): boolean {
  return status !== 'RUNNING' && status !== 'PENDING' && status !== 'RETRYING';
}

export function needsPerson(run: Pick<Run, 'status' | 'waiting'>): boolean {
  return run.status === 'RUNNING' && run.waiting?.kind === 'approval';
}
