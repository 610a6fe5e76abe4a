/**
 * The layout of a timeline: which rows there are, which bars each has, where the axis has its ticks, and how steps that
 * ran side by side share lanes. Pure functions of the journal, so that they can be tested without a browser; only the
 * rows that can be seen are ever drawn.
 */

import type { Step } from '../api/types';
import { moment } from '../lib/format';
import { isWait, supersededGroup, type Gap, type Node, type Outcome } from './journal';
import { nameOfNode } from './names';
import { partOf, stepOfScope } from './path';

export type Tone = 'running' | 'done' | 'failed' | 'waiting' | 'quiet' | 'phase' | 'agent' | 'gap';

export interface Bar {
  start: number;
  /** Null: it goes on. */
  end: number | null;
  tone: Tone;
  /** Drawn inside of another bar, thinner. */
  inner: boolean;
  title: string;
}

export interface Row {
  node: Node;
  depth: number;
  canOpen: boolean;
  isOpen: boolean;
}

export interface Choice {
  /** What the user has opened or closed; everything else is as `defaultOpen` says. */
  chosen: ReadonlyMap<string, boolean>;
  /** How many nodes there are in all. */
  size: number;
  /** Only what has this in its name, as it is shown or as the log knows it, with what is around it. */
  text?: string;
}

/** Up to so many nodes everything is shown at once. */
const SHOWN_AT_ONCE = 60;

export function isOpen(node: Node, choice: Choice): boolean {
  return choice.chosen.get(node.path) ?? (node.kind === 'phase' || choice.size <= SHOWN_AT_ONCE);
}

/** The rows from top to bottom. */
export function rowsOf(roots: readonly Node[], choice: Choice): Row[] {
  const rows: Row[] = [];
  const wanted = choice.text?.toLowerCase();
  const visit = (node: Node, depth: number): boolean => {
    const at = rows.length;
    const canOpen = node.children.length > 0;
    const open = canOpen && (wanted ? true : isOpen(node, choice));
    rows.push({ node, depth, canOpen, isOpen: open });
    let found = !wanted || [node.name, nameOfNode(node)].some((name) => name.toLowerCase().includes(wanted));
    if (open) for (const child of node.children) found = visit(child, depth + 1) || found;
    if (!found) rows.length = at;
    return found;
  };
  for (const root of roots) visit(root, 0);
  return rows;
}

function toneOf(outcome: Outcome): Tone {
  switch (outcome) {
    case 'open':
      return 'running';
    case 'completed':
      return 'done';
    case 'failed':
      return 'failed';
    default:
      return 'quiet';
  }
}

/** What is drawn in a row. The inner bars of a closed step tell what happened in it. */
export function barsOf(node: Node, isRowOpen: boolean): Bar[] {
  const bars: Bar[] = [];
  const { start, end } = node;
  if (node.kind === 'phase') return [{ start, end, tone: 'phase', inner: false, title: node.name }];
  if (node.kind === 'operation') {
    const tone = isWait(node) && node.outcome !== 'failed' ? 'waiting' : node.operation === 'agent' && node.outcome !== 'failed' ? 'agent' : toneOf(node.outcome);
    bars.push({ start, end, tone, inner: false, title: node.name });
    for (const hold of node.holds) bars.push({ start: hold.start, end: hold.end, tone: 'waiting', inner: true, title: hold.message });
    return bars;
  }
  if (node.attempts.length === 0) return [{ start, end, tone: end === null ? 'quiet' : toneOf(node.outcome), inner: false, title: 'not begun' }];
  node.attempts.forEach((attempt, index) => {
    const next = node.attempts[index + 1];
    const isLast = next === undefined;
    const tone = isLast && !(attempt.failure && node.end === null) ? toneOf(node.outcome) : 'failed';
    bars.push({ start: attempt.start, end: attempt.end, tone, inner: false, title: `attempt ${attempt.number}` });
    // What lies between two attempts is a pause, and so is what comes after a failed one.
    if (attempt.end !== null && (next || (node.end === null && attempt.failure))) {
      bars.push({ start: attempt.end, end: next?.start ?? attempt.retryAt, tone: 'gap', inner: false, title: 'waits to try again' });
    }
  });
  if (!isRowOpen) {
    for (const child of descendants(node)) {
      if (child.kind !== 'operation') continue;
      if (isWait(child)) bars.push({ start: child.start, end: child.end, tone: 'waiting', inner: true, title: child.name });
      else if (child.operation === 'agent') bars.push({ start: child.start, end: child.end, tone: 'agent', inner: true, title: child.name });
    }
  }
  return bars;
}

/** The same without the times in which there was no run. */
export function cutAt<T extends { start: number; end: number | null }>(bars: readonly T[], gaps: readonly Gap[]): T[] {
  return gaps.reduce<T[]>(
    (rest, gap) => rest.flatMap((bar) => (bar.start < gap.from && (bar.end ?? Infinity) > gap.to ? [{ ...bar, end: gap.from }, { ...bar, start: gap.to }] : [bar])),
    [...bars],
  );
}

function* descendants(node: Node): Generator<Node> {
  for (const child of node.children) {
    yield child;
    yield* descendants(child);
  }
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3,
  10800e3, 21600e3, 43200e3, 86400e3,
];

/** How far apart round marks are if at most so many fit into a length. */
export function stepFor(length: number, most: number): number {
  let step = STEPS.find((candidate) => length / candidate <= most) ?? 86400e3;
  while (length / step > most) step *= 2;
  return step;
}

/** Round offsets from the beginning that lie in a window: at most `most`. */
export function ticks(from: number, to: number, most: number, step = stepFor(Math.max(to - from, 1), most)): number[] {
  const marks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) marks.push(at);
  return marks;
}

interface Room {
  from: number;
  to: number;
}

/** Those that have room: from left to right, not on what is taken, and not beyond the edge. */
export function apart<T extends Room>(marks: readonly T[], taken: readonly Room[], edge: number): T[] {
  let free = -Infinity;
  return marks.filter((mark) => {
    const fits = mark.from >= free && mark.to <= edge && taken.every((room) => mark.to <= room.from || mark.from >= room.to);
    if (fits) free = mark.to;
    return fits;
  });
}

export interface Lane {
  lane: number;
  start: number;
  end: number | null;
  tone: Tone;
  path: string;
}

/** Puts everything with a step number on as few lanes as it takes; what does not fit goes on the last one. */
export function lanesOf(nodes: Iterable<Node>, most: number): { bars: Lane[]; lanes: number } {
  const free: number[] = [];
  const bars: Lane[] = [];
  for (const node of nodes) {
    if (node.number === null || node.isSuperseded) continue;
    let lane = free.findIndex((until) => until <= node.start);
    if (lane < 0) lane = free.length < most ? free.length : most - 1;
    free[lane] = Math.max(free[lane] ?? 0, node.end ?? Infinity);
    const waits = isWait(node) || node.children.some((child) => isWait(child) && child.end === null);
    const tone = waits && node.outcome !== 'failed' && (isWait(node) || node.outcome === 'open') ? 'waiting' : toneOf(node.outcome);
    bars.push({ lane, start: node.start, end: node.end, tone, path: node.path });
  }
  return { bars, lanes: Math.max(free.length, 1) };
}

/** A part of the time that a run took. */
export interface Window {
  from: number;
  to: number;
}

/** Nearer or farther, around a moment, and never out of the run's own time. */
export function zoomed(window: Window, whole: Window, factor: number, around: number): Window {
  const length = Math.min(Math.max((window.to - window.from) * factor, 5), whole.to - whole.from);
  const share = (around - window.from) / Math.max(window.to - window.from, 1);
  return moved({ from: around - share * length, to: around + (1 - share) * length }, whole, 0);
}

/** Earlier or later, as far as the run's own time goes. */
export function moved(window: Window, whole: Window, by: number): Window {
  const length = window.to - window.from;
  const from = Math.min(Math.max(window.from + by, whole.from), Math.max(whole.to - length, whole.from));
  return { from, to: from + length };
}

/**
 * The tree as far as the steps' own documents tell it. It is shown until the log has been read, and for logs that are
 * too long to be read.
 */
export function sketch(steps: readonly Step[]): { roots: Node[]; nodes: Map<string, Node> } {
  const nodes = new Map<string, Node>();
  const roots: Node[] = [];
  const superseded: Node[] = [];
  const place = (path: string, start: number, isSuperseded: boolean): Node => {
    const known = nodes.get(path);
    if (known) return known;
    const part = partOf(path);
    const above = stepOfScope(part.scope);
    const around = above ? place(above, start, isSuperseded) : null;
    // What is superseded in a phase that is not stands in the group by itself.
    const parent = around?.isSuperseded === isSuperseded ? around : null;
    const node: Node = {
      path, kind: part.kind, operation: part.operation, name: part.name, number: null, site: null, start, end: null, outcome: 'open',
      failure: null, reason: null, attempts: [], holds: [], args: null, value: undefined, child: null, due: null, tries: 1, parent,
      children: [], within: 1, depth: parent ? parent.depth + 1 : 0, isSuperseded,
    };
    nodes.set(path, node);
    (parent?.children ?? (isSuperseded ? superseded : roots)).push(node);
    return node;
  };
  // What is not superseded comes first: it decides which phases are.
  for (const step of [...steps].sort((one, other) => Number(one.superseded) - Number(other.superseded))) {
    const start = moment(step.started_at ?? step.created_at) ?? 0;
    const node = place(step.path, start, step.superseded);
    node.number = step.step_number;
    node.end = moment(step.completed_at);
    node.outcome = OUTCOMES[step.status] ?? 'open';
    node.failure = step.error;
    if (step.started_at) node.attempts.push({ number: step.attempt_number, start, end: node.end, failure: null, retryAt: null });
    for (let above = node.parent; above?.kind === 'phase'; above = above.parent) {
      above.start = Math.min(above.start, start);
      const ends = above.children.map((child) => child.end);
      above.end = ends.some((end) => end === null) ? null : Math.max(...(ends as number[]));
      above.outcome = above.end === null ? 'open' : 'completed';
    }
  }
  const group = supersededGroup(superseded);
  if (group) {
    nodes.set(group.path, group);
    roots.push(group);
  }
  return { roots, nodes };
}

const OUTCOMES: Record<string, Outcome> = { COMPLETED: 'completed', FAILED: 'failed', SKIPPED: 'skipped', CANCELLED: 'cancelled' };
