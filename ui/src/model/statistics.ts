/** How the runs of a workflow went, in figures that people ask for. */

import type { Statistics } from '../api/types';

export interface Success {
  rate: number | null;
  completed: number;
  failed: number;
  other: number;
}

/** Of the runs that came to an end by themselves: how many went well. Cancelled ones say nothing about the workflow. */
export function successOf(statistics: Statistics): Success {
  const number = (status: string) => statistics.by_status[status] ?? 0;
  const completed = number('COMPLETED');
  const failed = number('FAILED') + number('TIMED_OUT');
  const ended = completed + failed;
  return { rate: ended === 0 ? null : completed / ended, completed, failed, other: statistics.runs - ended };
}

export interface Module {
  path: string;
  text: string;
}

/** The modules of a workflow's source, the one that it begins with first. */
export function modulesOf(source: unknown): Module[] {
  if (typeof source !== 'object' || source === null) return [];
  const { entry, modules } = source as { entry?: unknown; modules?: unknown };
  if (typeof modules !== 'object' || modules === null) return [];
  const found = Object.entries(modules).flatMap(([path, text]) => (typeof text === 'string' ? [{ path, text }] : []));
  return found.sort((one, other) => Number(other.path === entry) - Number(one.path === entry));
}

/** `templates/feature.ts:20:55` → its parts. */
export function siteOf(site: string | null): { file: string; line: number } | null {
  const match = /^(.*?):(\d+)(?::\d+)?$/.exec(site ?? '');
  return match ? { file: match[1]!, line: Number(match[2]) } : null;
}

/** The module that a place is in, if it is one of these and long enough. */
export function sourceOf(modules: readonly Module[], place: { file: string; line: number }): Module | null {
  const fits = (one: string, other: string) => one === other || one.endsWith(`/${other}`) || other.endsWith(`/${one}`);
  const found = modules.find((module) => fits(module.path, place.file));
  return found && place.line <= found.text.split('\n').length ? found : null;
}
