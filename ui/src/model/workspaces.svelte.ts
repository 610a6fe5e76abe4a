/** Workspaces with what would be lost with each. A look at one walks through its files: a few at once, and none twice for nothing. */

import { SvelteMap, SvelteSet } from 'svelte/reactivity';
import { address, read, readAll } from '../api/client';
import type { Workspace, WorkspaceDetail } from '../api/types';

const SIDE_BY_SIDE = 3;

export const isThere = (one: Workspace) => one.status !== 'gone' && one.status !== 'trashed';

/** The address of a workspace, or of what is done to it. Several projects may have one of the same id. */
export function addressOf(id: string, project: string | null, deed: '' | '/clean' | '/restore' = ''): string {
  return address(`/api/workspaces/${encodeURIComponent(id)}${deed}`, { projectId: project });
}

/** What no other workspace in the list has. */
export const keyOf = (one: Workspace) => `${one.project_id ?? ''} ${one.id} ${one.created_at}`;

export class Workspaces {
  list = $state.raw<Workspace[] | null>(null);
  problem = $state.raw<unknown>(null);
  #details = new SvelteMap<string, WorkspaceDetail>();
  #unknown = new SvelteSet<string>();
  #asked = 0;

  detail(one: Workspace): WorkspaceDetail | null {
    return this.#details.get(keyOf(one)) ?? null;
  }

  /** Whether it could not be looked at. */
  isUnknown(one: Workspace): boolean {
    return this.#unknown.has(keyOf(one));
  }

  async load(withGone: boolean): Promise<void> {
    const number = ++this.#asked;
    try {
      const list = await readAll<Workspace>('/api/workspaces', withGone ? { all: true } : {});
      if (number !== this.#asked) return;
      this.list = list;
      this.problem = null;
    } catch (error) {
      if (number === this.#asked) this.problem = error;
      return;
    }
    const waiting = this.list.filter(isThere);
    const work = async () => {
      // What is asked for anew is looked at by whoever asks: a workspace may be gone meanwhile.
      for (let one = waiting.shift(); one && number === this.#asked; one = waiting.shift()) {
        const key = keyOf(one);
        await this.look(one).catch(() => this.#unknown.add(key));
      }
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
  }

  /** What is in it now. */
  async look(one: Workspace): Promise<WorkspaceDetail> {
    const detail = await read<WorkspaceDetail>(addressOf(one.id, one.project_id));
    this.#details.set(keyOf(one), detail);
    this.#unknown.delete(keyOf(one));
    return detail;
  }

  /** How much all of these take; null until each was looked at, as far as that is possible. */
  size(of: readonly Workspace[]): number | null {
    const sizes = of.filter((one) => !this.isUnknown(one)).map((one) => this.detail(one)?.size_bytes);
    return sizes.some((size) => size === undefined) ? null : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  }
}
