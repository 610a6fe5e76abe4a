/**
 * A run's log, folded into what a timeline shows: phases, steps, attempts, operations, and when each began and ended.
 *
 * The fold is incremental: entries of a live run are applied as they arrive, each once and in order. It never fails;
 * an entry of a kind that it does not know is kept for the raw log and otherwise ignored, so that an older dashboard can
 * look at a newer run.
 */

import { moment } from '../lib/format';
import type { Entry, Failure } from '../api/types';
import { attemptOfScope, partOf, stepOfScope } from './path';

export type Outcome = 'open' | 'completed' | 'failed' | 'skipped' | 'cancelled';

export interface Attempt {
  number: number;
  start: number;
  end: number | null;
  failure: Failure | null;
  /** When the next one was to begin. */
  retryAt: number | null;
}

export interface Hold {
  kind: string;
  message: string;
  start: number;
  end: number | null;
}

export interface Node {
  path: string;
  kind: 'phase' | 'step' | 'operation';
  /** `shell`, `agent`, `approve` …; null for steps and phases. */
  operation: string | null;
  name: string;
  number: number | null;
  /** The line of the workflow that asked for it: `templates/feature.ts:20:55`. */
  site: string | null;
  start: number;
  end: number | null;
  outcome: Outcome;
  failure: Failure | null;
  reason: string | null;
  attempts: Attempt[];
  holds: Hold[];
  args: Record<string, unknown> | null;
  value: unknown;
  child: string | null;
  due: number | null;
  tries: number;
  parent: Node | null;
  children: Node[];
  /** Which attempt of the parent asked for it. */
  within: number;
  depth: number;
  /** Whether only an earlier source of the run has asked for it. */
  isSuperseded: boolean;
}

/** A time in which there was no run: between what a fork was forked from and the fork itself. */
export interface Gap {
  from: number;
  to: number;
}

/** The path of the row under which everything is that is superseded; real paths begin with a slash. */
export const SUPERSEDED = 'superseded';

/** A row for what is superseded, to be shown behind everything else; null if there is nothing. */
export function supersededGroup(children: Node[]): Node | null {
  if (children.length === 0) return null;
  const end = Math.max(...children.map((child) => child.end ?? child.start));
  const start = Math.min(...children.map((child) => child.start));
  const group: Node = {
    path: SUPERSEDED, kind: 'phase', operation: null, name: 'Superseded', number: null, site: null, start, end, outcome: 'completed', failure: null,
    reason: null, attempts: [], holds: [], args: null, value: undefined, child: null, due: null, tries: 1, parent: null, children, within: 1, depth: 0,
    isSuperseded: true,
  };
  for (const child of children) child.parent = group;
  return group;
}

/** Kinds that take no time and would only be noise in a timeline. */
const NOTES = new Set(['set', 'comment']);

export class Journal {
  readonly nodes = new Map<string, Node>();
  #roots: Node[] = [];
  /** Whether the rows of what is superseded have to be found again. */
  #isRegrouped = true;
  start: number | null = null;
  end: number | null = null;
  /** The position of the last entry; they are counted from 1. */
  last = 0;
  lastAt: number | null = null;
  readonly gaps: Gap[] = [];
  /** That somebody has asked for the run's end, and why. */
  cancelled: { at: number; reason: string | null } | null = null;
  /** The first step that this run has done itself, if it goes on from where another one stood. */
  resumesWith: Node | null = null;
  #isFork = false;
  #wasSwitched = false;

  /** What stands at the top: what is superseded is in a group at the end. */
  get roots(): readonly Node[] {
    if (!this.#isRegrouped) {
      this.#isRegrouped = true;
      this.#regroup();
    }
    return this.#roots;
  }

  /** Applies an entry, unless it was applied before. */
  apply(entry: Entry): void {
    if (entry.seq <= this.last) return;
    this.last = entry.seq;
    const at = moment(entry.at) ?? this.lastAt ?? 0;
    this.lastAt = at;
    this.#fold(entry, at);
  }

  #fold(entry: Entry, at: number): void {
    switch (entry.kind) {
      case 'run.started':
        this.start ??= at;
        return;
      case 'source.switched':
        this.#supersede(at, entry['keeps_numbers'] === true);
        return;
      case 'run.ended':
        this.end = at;
        return;
      case 'run.rebased':
        // Under another source it is the same run that goes on.
        if (!this.#wasSwitched) this.#live(at, Number(entry['away_ms'] ?? 0));
        return;
      case 'run.cancel_requested':
        this.cancelled ??= { at, reason: text(entry, 'reason') || null };
        return;
      case 'step.requested':
        this.#open(text(entry, 'step'), entry, at);
        return;
      case 'attempt.started': {
        const scope = text(entry, 'scope');
        const number = attemptOfScope(scope);
        this.nodes.get(stepOfScope(scope))?.attempts.push({ number, start: at, end: null, failure: null, retryAt: null });
        return;
      }
      case 'attempt.failed': {
        const attempt = this.nodes.get(stepOfScope(text(entry, 'scope')))?.attempts.at(-1);
        if (attempt) {
          attempt.end = at;
          attempt.failure = (entry['failure'] as Failure | undefined) ?? null;
          attempt.retryAt = moment(entry['retry_at'] as string | number | null);
        }
        return;
      }
      case 'step.ended':
        this.#close(text(entry, 'step'), record(entry['outcome']), at);
        return;
      case 'operation.ordered':
        this.#open(text(entry, 'operation'), entry, at);
        return;
      case 'operation.retried': {
        const node = this.nodes.get(text(entry, 'operation'));
        if (node) node.tries = Number(entry['try'] ?? node.tries + 1);
        return;
      }
      case 'operation.held': {
        const hold = record(entry['hold']);
        const held = { kind: text(hold, 'kind'), message: text(hold, 'message'), start: at, end: null };
        this.nodes.get(text(entry, 'operation'))?.holds.push(held);
        return;
      }
      case 'operation.released': {
        const hold = this.nodes.get(text(entry, 'operation'))?.holds.at(-1);
        if (hold) hold.end ??= at;
        return;
      }
      case 'operation.ended':
        this.#close(text(entry, 'operation'), record(entry['result']), at);
        return;
      case 'child.ended':
        this.#close(text(entry, 'operation'), record(entry['outcome']), at);
        return;
      case 'timer.fired':
      case 'signal.consumed':
        this.#close(text(entry, 'operation'), { status: 'ok' }, at);
        return;
      case 'approval.given': {
        const { approved, by, comment } = entry;
        this.#close(text(entry, 'operation'), { status: 'ok', value: { approved, by, comment } }, at);
        return;
      }
    }
  }

  /**
   * What stands before was taken over from another run; from here on this one does its own work. What was open is done
   * anew from here, unless a part of it was taken over as well: then the time in between is cut out of it.
   */
  #live(at: number, away: number): void {
    if (away > 0) this.gaps.push({ from: at - away, to: at });
    this.#isFork = true;
    this.resumesWith = null;
    for (const node of this.nodes.values()) {
      if (node.end !== null) continue;
      const isBegun = node.kind === 'phase' || node.children.some((child) => child.end !== null) || node.attempts.some((attempt) => attempt.end !== null);
      if (!isBegun) node.start = at;
      if (node.number !== null) this.resumesWith ??= node;
      const attempt = node.attempts.at(-1);
      if (attempt && attempt.end === null && !node.children.some((child) => child.end !== null && child.within === attempt.number)) attempt.start = at;
    }
  }

  /**
   * The log begins anew under another source. What that asks for as well stands there again; the rest is superseded, and
   * what was under way was stopped. Logs of earlier versions number their steps anew: of those nothing earlier is shown.
   */
  #supersede(at: number, keepsNumbers: boolean): void {
    this.#roots = [];
    this.#isRegrouped = false;
    this.#wasSwitched = true;
    this.end = null;
    if (!keepsNumbers) this.nodes.clear();
    for (const node of this.nodes.values()) {
      node.isSuperseded = true;
      if (node.end === null) this.#close(node.path, { status: 'cancelled' }, at);
    }
  }

  #regroup(): void {
    this.nodes.delete(SUPERSEDED);
    this.#roots = this.#roots.filter((node) => node.path !== SUPERSEDED);
    const superseded = [...this.nodes.values()].filter((node) => node.isSuperseded);
    const isTop = (node: Node) => node.parent === null || node.parent.path === SUPERSEDED || this.nodes.get(node.parent.path) !== node.parent;
    const group = supersededGroup(superseded.filter(isTop));
    if (!group) return;
    this.nodes.set(SUPERSEDED, group);
    this.#roots.push(group);
  }

  #open(path: string, entry: Entry, at: number): void {
    const part = partOf(path);
    if (part.operation !== null && NOTES.has(part.operation)) return;
    const known = this.nodes.get(path);
    if (known && !known.isSuperseded) return;
    if (known) {
      this.nodes.delete(path);
      this.#isRegrouped = false;
    }
    const parent = this.nodes.get(stepOfScope(part.scope)) ?? null;
    const node: Node = {
      path,
      kind: part.kind,
      operation: part.operation,
      name: part.name,
      number: typeof entry['number'] === 'number' ? entry['number'] : null,
      site: typeof entry['site'] === 'string' ? entry['site'] : null,
      start: at,
      end: null,
      outcome: 'open',
      failure: null,
      reason: null,
      attempts: [],
      holds: [],
      args: entry['args'] === undefined ? null : record(entry['args']),
      value: undefined,
      child: typeof entry['child'] === 'string' ? entry['child'] : null,
      due: moment(entry['due'] as string | number | null),
      tries: 1,
      parent,
      children: [],
      within: attemptOfScope(part.scope),
      depth: parent ? parent.depth + 1 : 0,
      isSuperseded: false,
    };
    this.nodes.set(path, node);
    (parent?.children ?? this.#roots).push(node);
    if (this.#isFork && node.number !== null) this.resumesWith ??= node;
  }

  #close(path: string, outcome: Record<string, unknown>, at: number): void {
    const node = this.nodes.get(path);
    if (!node || node.end !== null) return;
    node.end = at;
    node.outcome = OUTCOMES[String(outcome['status'])] ?? 'completed';
    node.failure = (outcome['failure'] as Failure | undefined) ?? null;
    node.reason = typeof outcome['reason'] === 'string' ? outcome['reason'] : null;
    node.value = outcome['value'] ?? outcome['output'];
    const attempt = node.attempts.at(-1);
    if (attempt && attempt.end === null) {
      attempt.end = at;
      attempt.failure = node.failure;
    }
    const hold = node.holds.at(-1);
    if (hold) hold.end ??= at;
  }
}

const OUTCOMES: Record<string, Outcome> = {
  ok: 'completed',
  completed: 'completed',
  failed: 'failed',
  timed_out: 'failed',
  skipped: 'skipped',
  cancelled: 'cancelled',
};

function text(entry: Record<string, unknown>, name: string): string {
  const value = entry[name];
  return typeof value === 'string' ? value : '';
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** How long something took, without the times in which there was no run. */
export function lengthOfNode(node: Pick<Node, 'start' | 'end'>, gaps: readonly Gap[], now: number): number {
  const end = node.end ?? now;
  return gaps.reduce((rest, gap) => rest - Math.max(0, Math.min(gap.to, end) - Math.max(gap.from, node.start)), end - node.start);
}

/** Whether an operation only waits: for a time, a signal, a person or another run. */
export function isWait(node: Node): boolean {
  return node.operation === 'sleep' || node.operation === 'wait' || node.operation === 'approve' || node.operation === 'invoke';
}
