/**
 * Paths of a run: who is who in its log.
 *
 * `/implement#1` is a step, `/implement#1@2` its second attempt, `/~build#1` a phase, `/implement#1@2/shell:test#3` an
 * operation. Names are escaped with `%XX`.
 */

export interface Part {
  kind: 'phase' | 'step' | 'operation';
  /** `shell`, `agent` …: only of an operation. */
  operation: string | null;
  name: string;
  /** The path of the scope that it was asked for in: an attempt, or the run (the empty path). */
  scope: string;
}

/** What the last part of a path means. */
export function partOf(path: string): Part {
  const cut = path.lastIndexOf('/');
  const scope = path.slice(0, Math.max(cut, 0));
  const text = path.slice(cut + 1).replace(/@\d+$/, '').replace(/#\d+$/, '');
  if (text.startsWith('~')) return { kind: 'phase', operation: null, name: unescape(text.slice(1)), scope };
  const colon = text.indexOf(':');
  if (colon < 0) return { kind: 'step', operation: null, name: unescape(text), scope };
  return { kind: 'operation', operation: text.slice(0, colon), name: unescape(text.slice(colon + 1)), scope };
}

/** The step or phase that an attempt belongs to: `/a#1@2` → `/a#1`. */
export function stepOfScope(scope: string): string {
  return scope.replace(/@\d+$/, '');
}

/** Which attempt a scope is: `/a#1@2` → 2. */
export function attemptOfScope(scope: string): number {
  return Number(/@(\d+)$/.exec(scope)?.[1] ?? 1);
}

function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
