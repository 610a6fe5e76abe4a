/** Workflows as somebody looks for one: each project's own under its name, and what comes with the program once. */

import type { Workflow } from '../api/types';

export interface Entry {
  name: string;
  about: string;
  /** The same one in each project that has it. */
  of: Workflow[];
}

export interface Shelf {
  name: string;
  entries: Entry[];
}

export function shelvesOf(workflows: readonly Workflow[], nameOf: (project: string) => string, text = ''): Shelf[] {
  const wanted = text.trim().toLowerCase();
  const shelves = new Map<string, Map<string, Entry>>();
  const isOwn = ({ file_path }: Workflow) => file_path !== null;
  const own = workflows.filter(isOwn).sort((one, other) => nameOf(one.project_id).localeCompare(nameOf(other.project_id)));
  for (const one of [...own, ...workflows.filter((one) => !isOwn(one))]) {
    const about = one.description ?? one.file_path ?? 'built in';
    if (!`${one.name} ${about} ${nameOf(one.project_id)}`.toLowerCase().includes(wanted)) continue;
    const shelf = isOwn(one) ? `Of ${nameOf(one.project_id) || 'your projects'}` : 'Built in';
    const entries = shelves.get(shelf) ?? new Map<string, Entry>();
    shelves.set(shelf, entries);
    const entry = entries.get(one.name) ?? { name: one.name, about, of: [] };
    entries.set(one.name, entry);
    entry.of.push(one);
  }
  return [...shelves].map(([name, entries]) => ({ name, entries: [...entries.values()].sort((one, other) => one.name.localeCompare(other.name)) }));
}
