/**
 * What the runs of a list are about. The list itself does not say, so that each is asked: once, and again when it is at
 * something else. That is as fast as the list, unless a run has a very long log; of such a one only the input is read.
 */

import { read } from '../api/client';
import type { Page, Run, RunDetail } from '../api/types';
import { aboutOf, subjectOf, type About } from './about';

const SIDE_BY_SIDE = 4;
/** More entries than that are not read for a line in a list. */
const LONG = 5_000;
/** As many are remembered: more than anybody unfolds. */
const KEPT = 2_000;

class Abouts {
  #known = $state.raw<ReadonlyMap<string, About>>(new Map());
  #state = new Map<string, string>();
  #waiting: Run[] = [];
  #readers = 0;

  of(run: Run): About | null {
    return this.#known.get(run.id) ?? null;
  }

  /** These are shown: what is not known of them, or not any more, is read. */
  look(runs: readonly Run[]): void {
    this.#waiting = runs.filter((run) => this.#state.get(run.id) !== stateOf(run));
    for (; this.#readers < SIDE_BY_SIDE && this.#readers < this.#waiting.length; this.#readers++) void this.#work();
  }

  async #work(): Promise<void> {
    const found: [string, About][] = [];
    for (let run = this.#waiting.shift(); run; run = this.#waiting.shift()) {
      this.#state.set(run.id, stateOf(run));
      try {
        found.push([run.id, await this.#about(run)]);
      } catch {
        // Its row says what the list knows; it is asked again when the list is read again.
        this.#state.delete(run.id);
      }
    }
    this.#known = new Map([...this.#known, ...found].slice(-KEPT));
    this.#readers -= 1;
  }

  async #about(run: Run): Promise<About> {
    if (run.seq <= LONG) return aboutOf(await read<RunDetail>(`/api/executions/${run.id}`));
    const begun = this.#known.get(run.id);
    if (begun) return { ...begun, question: null };
    const { items } = await read<Page<{ entry: { input?: unknown } }>>(`/api/executions/${run.id}/events`, { limit: 1 });
    return { subject: subjectOf(items[0]?.entry.input), question: null, tokens: 0, cost: null };
  }
}

/** What it depends on how far a run has come: it is the same as long as this is. */
function stateOf(run: Run): string {
  return [run.status, run.waiting?.since, run.current_step?.id, run.current_step?.status, run.current_step?.attempt_number].join();
}

export const abouts = new Abouts();
