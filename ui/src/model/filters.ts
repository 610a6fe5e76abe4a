/** Which runs are looked at: as the address says it, as the server is asked for it, and what they add up to. */

import type { Query } from '../api/client';
import type { Sums } from '../api/types';

export interface Filters {
  /** `all`, `running`, `waiting`, `failed`, `done`, `cancelled`. */
  status: string;
  workflow: string;
  project: string;
  worktree: string;
  q: string;
  /** `hour`, `today`, `week`, or nothing. */
  since: string;
}

/** What can be looked at: runs of these statuses, or that wait for something of this kind. */
export const STATUSES: Record<string, { label: string; statuses: string; waiting?: string }> = {
  all: { label: 'All', statuses: '' },
  running: { label: 'Running', statuses: 'RUNNING,PENDING' },
  waiting: { label: 'Needs you', statuses: '', waiting: 'approval' },
  failed: { label: 'Failed', statuses: 'FAILED,TIMED_OUT' },
  done: { label: 'Completed', statuses: 'COMPLETED' },
  cancelled: { label: 'Cancelled', statuses: 'CANCELLED' },
};

export function filtersOf(query: URLSearchParams): Filters {
  const status = query.get('status') ?? 'all';
  const value = (name: string) => query.get(name) ?? '';
  return {
    status: status in STATUSES ? status : 'all',
    workflow: value('workflow'),
    project: value('project'),
    worktree: value('worktree'),
    q: value('q'),
    since: value('since'),
  };
}

/** The moment that `since` means. */
export function sinceOf(since: string, now: number): string | null {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const moments: Record<string, number> = { hour: now - 3_600_000, today: midnight, week: now - 7 * 86_400_000 };
  const at = moments[since];
  return at === undefined ? null : new Date(at).toISOString();
}

/** What the server is asked for with these filters: a list and its sums are then about the same runs. */
export function queryOf(filters: Filters, now: number): Query {
  return {
    workflowId: filters.workflow,
    projectId: filters.project,
    worktreeId: filters.worktree,
    q: filters.q,
    since: sinceOf(filters.since, now),
  };
}

export interface Totals {
  /** At work, or about to be. */
  running: number;
  /** Begun, and at nothing: asleep, or waiting for a person, a signal, another run. */
  resting: number;
  /** For a person. */
  waiting: number;
  /** In the time that is chosen, or today. */
  failed: number;
  tokens: number;
  cost: number;
  /** Since ever, if no time is chosen. */
  ever: { tokens: number; cost: number } | null;
}

/** What is counted of all that the filters show, and of what is recent among it. */
export function totalsOf(all: Sums, recent: Sums, isEver: boolean): Totals {
  const number = (sums: Sums, ...names: string[]) => names.reduce((sum, name) => sum + (sums.runs[name] ?? 0), 0);
  // What was read from a cache is among what was read.
  const tokens = (sums: Sums) => sums.tokens.input + sums.tokens.output;
  const resting = Object.values(all.waiting).reduce((sum, waiting) => sum + waiting, 0);
  return {
    running: Math.max(0, number(all, 'RUNNING', 'PENDING') - resting),
    resting,
    waiting: all.waiting['approval'] ?? 0,
    failed: number(recent, 'FAILED', 'TIMED_OUT'),
    tokens: tokens(recent),
    cost: recent.cost_usd,
    ever: isEver ? { tokens: tokens(all), cost: all.cost_usd } : null,
  };
}
