/** The worktrees that runs are started from, as the server lists them with each project. */

import type { Run } from '../api/types';
import { projects } from './projects.svelte';

export interface Worktree {
  /** Its own among all projects: every one of them has a `main`. */
  key: string;
  id: string;
  name: string;
  project: string;
}

class Worktrees {
  /** What was asked for once is not asked for again: its run may be of a project that is not served any more. */
  #missed = new Set<string>();

  get list(): Worktree[] {
    const areMany = projects.list.length > 1;
    const all = projects.list.flatMap(({ id: project, name: of, worktrees }) =>
      worktrees.map(({ id, name }) => ({ key: keyOf(id, project), id, name: areMany ? `${of} · ${name}` : name, project })),
    );
    return all.sort((one, other) => one.name.localeCompare(other.name));
  }

  /** Runs that are shown: if one is of a worktree that came later, the projects are read again. */
  learn(runs: readonly Run[]): void {
    if (!projects.isRead) return;
    const known = new Set(this.list.map(({ key }) => key));
    const unknown = runs.flatMap((run) => (run.worktree_id && run.project_id ? [keyOf(run.worktree_id, run.project_id)] : [])).filter((key) => !known.has(key) && !this.#missed.has(key));
    if (unknown.length === 0) return;
    for (const key of unknown) this.#missed.add(key);
    void projects.load();
  }

  /** The one that an address means. */
  find(id: string, project: string): Worktree | null {
    return this.list.find((one) => one.id === id && (project === '' || one.project === project)) ?? null;
  }
}

function keyOf(id: string, project: string): string {
  return `${project}/${id}`;
}

export const worktrees = new Worktrees();
