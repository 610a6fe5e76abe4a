/**
 * What the runs of a list are about. The list itself does not say, so that each is asked: once, and again when it asks for
 * somebody or is over. In between nobody asks, however many steps it makes.
 */

import { read } from '../api/client';
import type { Page, Run, RunDetail } from '../api/types';
import { aboutOf, subjectOf, type About } from './about';
import { isOver, needsPerson } from './standing';

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
    if (begun) return begun;
    const { items } = await read<Page<{ entry: { input?: unknown } }>>(`/api/executions/${run.id}/events`, { limit: 1 });
    return { subject: subjectOf(items[0]?.entry.input), tokens: 0, cost: null, supersededCost: null, inheritedCost: null };
  }
}

/** It is read again when this has become another. */
function stateOf(run: Run): string {
  return isOver(run.status) ? 'over' : needsPerson(run) ? `asks since ${run.waiting?.since}` : 'goes on';
}

export const abouts = new Abouts();
