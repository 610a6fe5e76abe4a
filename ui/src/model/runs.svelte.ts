/** A list of runs that stays true: what the filters say, read again when something has happened. */

import { read } from '../api/client';
import type { Page, Run, Sums } from '../api/types';
import { moment } from '../lib/format';
import { queryOf, STATUSES, totalsOf, type Filters, type Totals } from './filters';

const AT_ONCE = 50;
/** The server gives no more with one answer. */
const MOST_AT_ONCE = 1000;

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
  #filters: Filters | null = null;
  #key = '';
  /** How many runs are shown at least, if there are so many. */
  #wanted = AT_ONCE;
  /** Whether something has been asked for since the request that is on its way was sent. */
  #isStale = false;
  #request: AbortController | null = null;
  #reading: Promise<void> | null = null;
  #summed = 0;

  /**
   * Reads what these filters find. What is asked for while it reads is read afterwards, with one request for all of it:
   * requests that overtake each other would show nothing for as long as there is news.
   */
  load(filters: Filters): Promise<void> {
    const key = JSON.stringify(filters);
    if (key !== this.#key) {
      this.#key = key;
      this.isOutdated = true;
      this.#wanted = AT_ONCE;
      this.#request?.abort();
    }
    this.#filters = filters;
    this.#isStale = true;
    return (this.#reading ??= this.#readWhileStale());
  }

  /** Shows one page more. */
  more(filters: Filters): Promise<void> {
    if (!this.isOutdated) this.#wanted = this.items.length + AT_ONCE;
    return this.load(filters);
  }

  /** Reads the same again. */
  async reload(): Promise<void> {
    if (this.#filters) await this.load(this.#filters);
  }

  async #readWhileStale(): Promise<void> {
    while (this.#isStale && this.#filters) {
      this.#isStale = false;
      const { signal } = (this.#request = new AbortController());
      try {
        await this.#read(this.#filters, signal);
      } catch (error) {
        if (!signal.aborted) this.problem = error;
      }
    }
    this.#reading = null;
  }

  async #read(filters: Filters, signal: AbortSignal): Promise<void> {
    // Runs change their places while they are read: between two requests one may come to another page. So there is one
    // request for all that is shown, and what a second one shows again counts once.
    let found: Run[] = [];
    const wanted = this.#wanted;
    let page: Page<Run> | null = null;
    do {
      page = await this.#page(filters, page?.next ?? null, Math.min(wanted - found.length, MOST_AT_ONCE), signal);
      const known = found;
      found = [...known, ...page.items.filter(({ id }) => !known.some((run) => run.id === id))];
    } while (page.next && found.length < wanted);
    if (signal.aborted) return;
    this.items = found;
    this.total = page.total;
    this.next = page.next;
    this.unreadable = page.unreadable ?? [];
    this.problem = null;
    this.isRead = true;
    this.isOutdated = false;
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

  #page(filters: Filters, after: string | null, limit: number, signal: AbortSignal): Promise<Page<Run>> {
    const { statuses: status, waiting } = STATUSES[filters.status] ?? {};
    return read<Page<Run>>('/api/executions', { ...queryOf(filters, Date.now()), status, waiting, limit, after }, signal);
  }
}

/** How long a run takes or took. */
export function lengthOf(run: Run, now: number): number | null {
  if (run.duration !== null) return run.duration;
  const start = moment(run.started_at);
  return start === null ? null : Math.max(0, now - start);
}
