/** A list of runs that stays true: what the filters say, read again when something has happened. */

import { ask, read } from '../api/client';
import type { Page, Run } from '../api/types';
import { moment } from '../lib/format';
import { figuresOf, type Figures } from './figures';
import { needsPerson } from './standing';

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

export const STATUSES: Record<string, { label: string; statuses: string }> = {
  all: { label: 'All', statuses: '' },
  running: { label: 'Running', statuses: 'RUNNING,PENDING' },
  waiting: { label: 'Needs you', statuses: 'RUNNING' },
  failed: { label: 'Failed', statuses: 'FAILED,TIMED_OUT' },
  done: { label: 'Completed', statuses: 'COMPLETED' },
  cancelled: { label: 'Cancelled', statuses: 'CANCELLED' },
};

const AT_ONCE = 50;
const FRESH_MS = 10_000;

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

export interface Totals {
  running: number;
  waiting: number;
  failed: number;
  tokens: number | null;
  cost: number | null;
}

export class Runs {
  items = $state.raw<Run[]>([]);
  total = $state(0);
  next = $state<string | null>(null);
  unreadable = $state.raw<{ path: string; reason: string }[]>([]);
  totals = $state.raw<Totals | null>(null);
  isRead = $state(false);
  problem = $state.raw<unknown>(null);
  #asked = 0;
  #key = '';
  #counted: Figures | null = null;
  #countedAt = 0;

  async load(filters: Filters): Promise<void> {
    const key = JSON.stringify(filters);
    const isOther = key !== this.#key;
    this.#key = key;
    const number = ++this.#asked;
    // What was unfolded stays unfolded when it is read again.
    const wanted = isOther ? AT_ONCE : Math.max(AT_ONCE, this.items.length);
    try {
      const pages: Run[] = [];
      let page = await this.#page(filters, null);
      pages.push(...page.items);
      while (page.next && pages.length < wanted) {
        page = await this.#page(filters, page.next);
        pages.push(...page.items);
      }
      // An older answer must not take the place of a newer one.
      if (number !== this.#asked) return;
      this.items = this.#only(filters, pages);
      this.total = filters.status === 'waiting' ? this.items.length : page.total;
      this.next = page.next;
      this.unreadable = page.unreadable ?? [];
      this.problem = null;
      this.isRead = true;
    } catch (error) {
      if (number === this.#asked) this.problem = error;
    }
  }

  async more(filters: Filters): Promise<void> {
    if (!this.next) return;
    const page = await this.#page(filters, this.next);
    const known = new Set(this.items.map((run) => run.id));
    this.items = [...this.items, ...this.#only(filters, page.items).filter((run) => !known.has(run.id))];
    this.next = page.next;
  }

  async loadTotals(project: string): Promise<void> {
    const today = sinceOf('today', Date.now());
    const projectId = project || null;
    try {
      const [running, failed] = await Promise.all([
        read<Page<Run>>('/api/executions', { status: 'RUNNING', limit: 100, projectId }),
        read<Page<Run>>('/api/executions', { status: 'FAILED,TIMED_OUT', since: today, limit: 1, projectId }),
      ]);
      const figures = await this.#figures();
      this.totals = { running: running.total, waiting: running.items.filter(needsPerson).length, failed: failed.total, tokens: figures?.tokens ?? null, cost: figures?.cost ?? null };
    } catch {
      // The list says what is wrong.
    }
  }

  /** They are counted row by row, so not with every message. */
  async #figures(): Promise<Figures | null> {
    if (Date.now() - this.#countedAt < FRESH_MS) return this.#counted;
    this.#countedAt = Date.now();
    try {
      this.#counted = figuresOf(await (await ask('GET', '/metrics', { headers: { Accept: 'text/plain' } })).text());
    } catch {
      // A list without them is still a list.
    }
    return this.#counted;
  }

  #page(filters: Filters, after: string | null): Promise<Page<Run>> {
    return read<Page<Run>>('/api/executions', {
      status: STATUSES[filters.status]?.statuses,
      workflowId: filters.workflow,
      projectId: filters.project,
      worktreeId: filters.worktree,
      q: filters.q,
      since: sinceOf(filters.since, Date.now()),
      limit: AT_ONCE,
      after,
    });
  }

  #only(filters: Filters, runs: Run[]): Run[] {
    return filters.status === 'waiting' ? runs.filter(needsPerson) : runs;
  }
}

/** How long a run takes or took. */
export function lengthOf(run: Run, now: number): number | null {
  if (run.duration !== null) return run.duration;
  const start = moment(run.started_at);
  return start === null ? null : Math.max(0, now - start);
}
