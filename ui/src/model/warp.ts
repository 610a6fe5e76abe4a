/**
 * Time as the timeline shows it: long stretches in which a run only waits are folded to a narrow gap, so that a night
 * before somebody answers does not make everything else a hair's breadth. So is, always, the time between a run and its
 * fork, which is nobody's. Moments are milliseconds since 1970; places
 * are milliseconds of shown time since the run began.
 */

import { isWait, type Node } from './journal';

export interface Fold {
  /** What is folded, as moments. */
  from: number;
  to: number;
  /** Where it is, as places. */
  start: number;
  end: number;
  /** Whether another run ended at its beginning, and this one began at its end. */
  isFork: boolean;
}

interface Span {
  from: number;
  to: number;
}

/** A wait is folded if it is longer than this, and than this share of all the work. */
const LONG_MS = 3000;
const LONG_SHARE = 0.4;
/** So wide is a fold, as a share of all the work. */
const WIDTH = 0.09;

export class Warp {
  readonly folds: Fold[] = [];
  readonly #spans: { from: number; to: number; start: number; end: number }[] = [];
  readonly length: number;

  constructor(start: number, end: number, busy: readonly Span[], gaps: readonly Span[] = []) {
    const sum = (spans: readonly Span[]) => spans.reduce((sum, span) => sum + span.to - span.from, 0);
    const work = sum(busy);
    const width = Math.max((work || end - start - sum(gaps)) * WIDTH, 1);
    const long = Math.max(LONG_MS, work * LONG_SHARE);
    let from = start;
    let place = 0;
    const plain = (to: number) => {
      if (to <= from) return;
      this.#spans.push({ from, to, start: place, end: place + to - from });
      place += to - from;
      from = to;
    };
    const fold = (to: number, isFork: boolean) => {
      const folded = { from, to, start: place, end: place + width, isFork };
      this.#spans.push(folded);
      this.folds.push(folded);
      place += width;
      from = to;
    };
    let free = start;
    const spans = [...busy, ...gaps].sort((one, other) => one.from - other.from);
    for (const span of [...spans, { from: end, to: end }]) {
      // Without work there is nothing to make room for.
      if (work > 0 && span.from - free > long) {
        plain(free);
        fold(span.from, false);
      }
      if (gaps.includes(span) && span.to > free) {
        plain(Math.max(span.from, free));
        fold(span.to, true);
      }
      free = Math.max(free, span.to);
    }
    plain(end);
    this.length = Math.max(place, 1);
  }

  /** Where a moment is shown. */
  place(moment: number): number {
    const first = this.#spans[0];
    if (!first || moment <= first.from) return first ? moment - first.from : 0;
    for (const span of this.#spans) {
      if (moment <= span.to) return span.start + ((moment - span.from) / (span.to - span.from)) * (span.end - span.start);
    }
    return this.length + (moment - this.#spans.at(-1)!.to);
  }

  /** When the run whose time a moment belongs to began: this one, or the one that it was forked from. */
  beginning(moment: number): number {
    return this.folds.findLast((fold) => fold.isFork && fold.to <= moment)?.to ?? this.#spans[0]?.from ?? moment;
  }

  /** The stretches that are not folded, as places, with the moment at which each begins. */
  get plain(): { start: number; end: number; from: number }[] {
    return this.#spans.filter((span) => !this.folds.some((fold) => fold === span)).map(({ start, end, from }) => ({ start, end, from }));
  }
}

/** When a run was at work, as far as its tree tells: not while it waited for a time, a person, a signal or another run. */
export function busySpans(nodes: Iterable<Node>, now: number): Span[] {
  const spans: Span[] = [];
  for (const node of nodes) {
    const isWork = node.kind === 'operation' ? !isWait(node) : node.kind === 'step' && node.children.length === 0;
    if (isWork) spans.push({ from: node.start, to: Math.max(node.end ?? now, node.start) });
  }
  spans.sort((one, other) => one.from - other.from);
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ ...span });
  }
  return merged;
}
