/** A list of runs that stays true: what the filters say, read again when something has happened. */

import { read } from '../api/client';
import type { Page, Run, Sums } from '../api/types';
import { moment } from '../lib/format';
import { queryOf, STATUSES, totalsOf, type Filters, type Totals } from './filters';

const AT_ONCE = 50;

export class Runs {
  items = $state.raw<Run[]>([]);
  total = $state(0);
  next = $state<string | null>(null);
  unreadable = $state.raw<{ path: string; reason: string }[]>([]);
  totals = $state.raw<Totals | null>(null);
  isRead = $state(false);
  /** Whether other filters were chosen, and what is shown are still the runs that the earlier ones found. */
  isOutdated = $state(true);
  problem = $state.raw<unknown>(null);
  #asked = 0;
  /** How many runs are shown at least, if there are so many. */
  #wanted = AT_ONCE;
  #key = '';
  #summed = 0;

  async load(filters: Filters): Promise<void> {
    const key = JSON.stringify(filters);
    const isOther = key !== this.#key;
    this.#key = key;
    if (isOther) {
      this.isOutdated = true;
      this.#wanted = AT_ONCE;
    }
    const number = ++this.#asked;
    try {
      const pages: Run[] = [];
      let page = await this.#page(filters, null);
      pages.push(...page.items);
      while (page.next && pages.length < this.#wanted) {
        page = await this.#page(filters, page.next);
        pages.push(...page.items);
      }
      // An older answer must not take the place of a newer one.
      if (number !== this.#asked) return;
      this.items = pages;
      this.total = page.total;
      this.next = page.next;
      this.unreadable = page.unreadable ?? [];
      this.problem = null;
      this.isRead = true;
      this.isOutdated = false;
    } catch (error) {
      if (number === this.#asked) this.problem = error;
    }
  }

  /** Shows one page more. A refresh that is under way starts again, so that neither undoes the other. */
  async more(filters: Filters): Promise<void> {
    this.#wanted = this.items.length + AT_ONCE;
    await this.load(filters);
  }

  /** The sums of what the filters show, whatever its status. */
  async loadTotals(filters: Filters): Promise<void> {
    const number = ++this.#summed;
    const sums = (since: string) => read<Sums>('/api/totals', queryOf({ ...filters, since }, Date.now()));
    try {
      const isEver = filters.since === '';
      const [all, recent] = isEver ? await Promise.all([sums(''), sums('today')]) : Array<Sums>(2).fill(await sums(filters.since));
      if (number === this.#summed && all && recent) this.totals = totalsOf(all, recent, isEver);
    } catch {
      // The list says what is wrong.
    }
  }

  #page(filters: Filters, after: string | null): Promise<Page<Run>> {
    const { statuses: status, waiting } = STATUSES[filters.status] ?? {};
    return read<Page<Run>>('/api/executions', { ...queryOf(filters, Date.now()), status, waiting, limit: AT_ONCE, after });
  }
}

/** How long a run takes or took. */
export function lengthOf(run: Run, now: number): number | null {
  if (run.duration !== null) return run.duration;
  const start = moment(run.started_at);
  return start === null ? null : Math.max(0, now - start);
}
