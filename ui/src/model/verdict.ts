/** What would be lost with a workspace, in words. */

import type { Finding, Verdict } from '../api/types';
import { bytes, plural } from '../lib/format';

const WHAT: Record<string, string> = {
  staged: 'staged',
  unstaged: 'changed and not staged',
  untracked: 'untracked',
  ignored: 'ignored, and not reproducible',
  reproducible: 'ignored, and reproducible',
  copied: 'ignored, and the same in the main checkout',
  unpushed: 'commits that are on no other branch',
  rewritten: 'commits that only a log knows',
};

/** Where it is when the workspace is gone. */
const KEPT: Record<Finding['kept'], string> = {
  backup: 'goes into a backup',
  archive: 'goes into a backup',
  in_place: 'stays in the repository',
  nowhere: 'goes, and can be made again',
};

export interface Weighed {
  text: string;
  examples: string;
  blocks: boolean;
  /** What becomes of it; null if nothing does. */
  kept: string | null;
}

export function weighed(verdict: Verdict | null): Weighed[] {
  const found: Weighed[] = [];
  for (const finding of verdict?.findings ?? []) {
    const blocks = finding.weight === 'blocks' || finding.weight === 'forbids';
    const weight = { text: textOf(finding), examples: examples(finding), blocks, kept: keptOf(finding) };
    // It may be in use in two ways: that is one thing to say, with two reasons.
    const same = found.find((other) => other.text === weight.text);
    if (same) Object.assign(same, { examples: `${same.examples}, ${weight.examples}`, blocks: same.blocks || weight.blocks });
    else found.push(weight);
  }
  return found;
}

function textOf({ what, count, bytes: size }: Finding): string {
  // It is in use or not; there is nothing to count.
  if (what === 'in_use') return 'in use';
  return `${count} ${WHAT[what] ?? what.replaceAll('_', ' ')}${size ? `, ${bytes(size)}` : ''}`;
}

function keptOf({ what, kept }: Finding): string | null {
  return ['in_use', 'mounted', 'locked'].includes(what) ? null : KEPT[kept];
}

function examples(finding: Finding): string {
  const named = finding.examples.slice(0, 4);
  const rest = finding.count - named.length;
  return named.join(', ') + (rest > 0 && named.length > 0 ? `, and ${plural(rest, 'other')}` : '');
}

/** How it can be removed: as it is, only after a backup, or not at all while it is like this. */
export type Removal = 'free' | 'backup' | 'never';

export function removalOf(verdict: Verdict | null): Removal {
  if (verdict === null || verdict.is_free) return 'free';
  return verdict.findings.some((finding) => finding.weight === 'forbids') ? 'never' : 'backup';
}
