/** Which workspaces are looked at, and in which order. */

import type { Workspace, WorkspaceDetail } from '../api/types';
import { moment } from '../lib/format';
import { removalOf } from './verdict';

export interface Wish {
  q: string;
  project: string;
  /** `nothing`, `work`, `used`, or nothing in particular. */
  lost: string;
  /** A column, with a minus for the largest first. */
  sort: string;
}

export const LOST: Record<string, string> = { nothing: 'Nothing would be lost', work: 'Work would be lost', used: 'In use' };

export function wishOf(query: URLSearchParams): Wish {
  const value = (name: string) => query.get(name) ?? '';
  return { q: value('q'), project: value('project'), lost: value('lost'), sort: value('sort') || '-age' };
}

type Detail = (one: Workspace) => WorkspaceDetail | null;

export function wanted(list: readonly Workspace[], wish: Wish, detail: Detail): Workspace[] {
  const text = wish.q.trim().toLowerCase();
  const found = list.filter((one) => `${one.id} ${one.branch ?? ''} ${one.path}`.toLowerCase().includes(text) && (!wish.project || one.project_id === wish.project) && fits(one, wish.lost, detail(one)));
  const sign = wish.sort.startsWith('-') ? -1 : 1;
  const column = wish.sort.replace('-', '');
  return found.sort((one, other) => sign * compare(column, one, other, detail) || one.id.localeCompare(other.id));
}

function fits(one: Workspace, lost: string, detail: WorkspaceDetail | null): boolean {
  if (lost === 'used') return one.status === 'in_use';
  if (lost === 'nothing') return detail?.verdict !== undefined && detail?.verdict !== null && removalOf(detail.verdict) === 'free';
  if (lost === 'work') return detail?.verdict !== undefined && detail?.verdict !== null && removalOf(detail.verdict) !== 'free';
  return true;
}

function compare(column: string, one: Workspace, other: Workspace, detail: Detail): number {
  if (column === 'size') return (detail(one)?.size_bytes ?? -1) - (detail(other)?.size_bytes ?? -1);
  if (column === 'name') return one.id.localeCompare(other.id);
  return (moment(one.updated_at) ?? 0) - (moment(other.updated_at) ?? 0);
}
