/**
 * The worktrees that runs were started from. Nobody lists them, so that they are learnt: from the projects, and from every
 * run that was seen. What is known stays known, whatever is filtered.
 */

import type { Run } from '../api/types';
import { projects } from './projects.svelte';

/** What the main checkout of every repository is called. */
const MAIN = 'main';

export interface Worktree {
  /** Its own among all projects. */
  key: string;
  id: string;
  name: string;
  /** Where its id is not its own: `main` is in every project. */
  project: string | null;
}

class Worktrees {
  #names = $state.raw<ReadonlyMap<string, { id: string; name: string; project: string | null }>>(new Map());

  learn(runs: readonly Run[]): void {
    const found = runs.flatMap((run) => (run.worktree_id ? [[keyOf(run.worktree_id, run.project_id), { id: run.worktree_id, name: run.worktree ?? run.worktree_id, project: run.project_id }] as const] : []));
    if (found.some(([key, { name }]) => this.#names.get(key)?.name !== name)) this.#names = new Map([...this.#names, ...found]);
  }

  get list(): Worktree[] {
    const ours = projects.list.map(({ id: project, worktree_id: id }) => [keyOf(id, project), { id, name: id, project }] as const);
    const unseen = ours.filter(([key]) => !this.#names.has(key));
    const areMany = projects.list.length > 1;
    const all = [...this.#names, ...unseen].map(([key, { id, name, project }]) => {
      const of = areMany ? projects.name(project) : '';
      return { key, id, name: of ? `${of} · ${name}` : name, project: areMany && id === MAIN ? project : null };
    });
    return all.sort((one, other) => one.name.localeCompare(other.name));
  }

  /** The one that an address means. */
  find(id: string, project: string): Worktree | null {
    return this.list.find((one) => one.id === id && (one.project === null || one.project === project)) ?? null;
  }
}

function keyOf(id: string, project: string | null): string {
  return id === MAIN ? `${project ?? ''}/${id}` : id;
}

export const worktrees = new Worktrees();
