/** The projects that the server shows, and one live subscription to each: whoever lists runs is told when to look again. */

import { live } from '../api/live.svelte';
import { read } from '../api/client';
import type { Page, Project } from '../api/types';

class Projects {
  list = $state.raw<Project[]>([]);
  isRead = $state(false);
  problem = $state.raw<unknown>(null);
  /** Grows with everything that happens in a project. */
  news = $state(0);
  #stops = new Map<string, () => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  async load(): Promise<void> {
    try {
      this.list = (await read<Page<Project>>('/api/projects')).items;
      this.problem = null;
      this.isRead = true;
    } catch (error) {
      this.problem = error;
    }
    for (const project of this.list) {
      if (this.#stops.has(project.id)) continue;
      this.#stops.set(project.id, live.subscribe({ projectId: project.id }, (message) => this.#hear(message.type)));
    }
    const ids = new Set(this.list.map((project) => project.id));
    for (const [id, stop] of this.#stops) {
      if (!ids.has(id)) {
        stop();
        this.#stops.delete(id);
      }
    }
  }

  name(id: string | null | undefined): string {
    return this.list.find((project) => project.id === id)?.name ?? '';
  }

  /** Many messages in a moment are one reason to look. */
  #hear(type: string): void {
    if (type === 'workflow:subscribed') return;
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.news += 1;
    }, 400);
  }
}

export const projects = new Projects();
