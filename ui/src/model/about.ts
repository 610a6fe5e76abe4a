/** What a run is about, in one line: what it was started with, what it asks, and what its agents have used. */

import type { AgentSession, Run, RunDetail } from '../api/types';
import { needsPerson } from './standing';

export interface About {
  /** Out of its input; null if that says nothing. */
  subject: string | null;
  /** Of its own sessions. */
  tokens: number;
  /** What its own sessions cost, in dollars; null if that is not known. */
  cost: number | null;
  /** What of that superseded sessions cost. */
  supersededCost: number | null;
  /** What sessions cost that it has from the run that it was made out of: they count for that one. */
  inheritedCost: number | null;
}

export function aboutOf(run: Pick<RunDetail, 'input' | 'agent_sessions'>): About {
  const own = run.agent_sessions.filter((one) => !one.inherited);
  return {
    subject: subjectOf(run.input),
    // What was read from a cache is among what was read.
    tokens: own.reduce((sum, one) => sum + (one.input_tokens ?? 0) + (one.output_tokens ?? 0), 0),
    cost: costOf(own),
    supersededCost: costOf(own.filter((one) => one.superseded)),
    inheritedCost: costOf(run.agent_sessions.filter((one) => one.inherited)),
  };
}

function costOf(sessions: readonly AgentSession[]): number | null {
  return sessions.reduce<number | null>((sum, { cost_usd: cost }) => (cost === null ? sum : (sum ?? 0) + cost), null);
}

/** What a person is asked, without the marks of Markdown; null if nobody is. */
export function questionOf(run: Run): string | null {
  return needsPerson(run) && run.waiting?.about ? line(run.waiting.about) : null;
}

/** What people call the field that says what it is about; an earlier one wins. */
const TELLING = ['title', 'subject', 'summary', 'goal', 'task', 'prompt', 'feature', 'issue', 'question', 'name', 'description', 'brief', 'message', 'text'];
/** As many fields as a line has room for. */
const FIELDS = 4;

/** A line out of an input: the field that people write what they want into, or else its short fields with their names. */
export function subjectOf(input: unknown): string | null {
  if (typeof input === 'string') return line(input) || null;
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return null;
  const values = input as Record<string, unknown>;
  const texts = Object.entries(values).flatMap(([name, value]) => (typeof value === 'string' && value.trim() ? [{ name: name.toLowerCase(), text: value }] : []));
  const told = TELLING.map((name) => texts.find((one) => one.name === name)).find((one) => one !== undefined);
  const spoken = texts.filter(({ text }) => /\S\s+\S/.test(text.trim())).sort((one, other) => other.text.length - one.text.length)[0];
  const subject = told ?? spoken;
  if (subject) return line(subject.text);
  const short = Object.entries(values).flatMap(([name, value]) => {
    const text = shortly(value);
    return text ? [`${name}: ${text}`] : [];
  });
  return short.slice(0, FIELDS).join(' · ') || null;
}

/** A switch says little of what a run is about. */
function shortly(value: unknown): string | null {
  if (typeof value === 'string') return line(value);
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.flatMap((one) => shortly(one) ?? []).slice(0, FIELDS).join(', ');
  return subjectOf(value);
}

/** A file that a run was given is kept among its own files: its name is what was meant. */
const KEPT = /^\S*\/executions\/[^/\s]+\/context\/(?:\S*\/)?([^/\s]+)$/;
/** What turns the text around it about, or is not to be seen. */
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** The first line of a text that says something, without the marks of Markdown around it. */
function line(text: string): string {
  const first = text.split('\n').find((one) => one.trim() !== '') ?? '';
  const plain = first.replace(UNSEEN, '').replace(/^\s*(?:#{1,6}|[-*>])\s+/, '').replace(/\*\*(.+?)\*\*|`(.+?)`/g, '$1$2').trim();
  return (KEPT.exec(plain)?.[1] ?? plain).slice(0, 300);
}
