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
  /** Projects whose subscriptions the server has not answered yet. */
  #unanswered = $state.raw<readonly string[]>([]);
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
      this.#unanswered = [...this.#unanswered, project.id];
      this.#stops.set(project.id, live.subscribe({ projectId: project.id }, () => this.#hear(project.id)));
    }
    const ids = new Set(this.list.map((project) => project.id));
    for (const [id, stop] of this.#stops) {
      if (!ids.has(id)) {
        stop();
        this.#stops.delete(id);
        this.#answer(id);
      }
    }
  }

  name(id: string | null | undefined): string {
    return this.list.find((project) => project.id === id)?.name ?? '';
  }

  /** Whether the server tells of everything that happens in the projects from now on. */
  get isListening(): boolean {
    return this.isRead && this.#unanswered.length === 0;
  }

  #answer(id: string): void {
    if (this.#unanswered.includes(id)) this.#unanswered = this.#unanswered.filter((other) => other !== id);
  }

  /** Many messages in a moment are one reason to look. */
  #hear(project: string): void {
    const wasListening = this.isListening;
    this.#answer(project);
    if (!wasListening && this.isListening) {
      // A list that was read before may lack what was committed in between.
      this.news += 1;
      return;
    }
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.news += 1;
    }, 400);
  }
}

export const projects = new Projects();
