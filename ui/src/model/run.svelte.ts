/**
 * One run, live: its document, its log folded into a journal, and everything that arrives while somebody looks.
 *
 * The document and the log are read once; then the live connection says what has changed. Messages are gathered and
 * applied together, at most once for each frame that is drawn. What messages do not carry (open questions, entries of
 * the log) is read again shortly after, from the position that is known. After an interruption the same happens, so
 * nothing is lost and the place that the user looks at stays.
 */

import { live, type Message } from '../api/live.svelte';
import { ask, Problem, read, send } from '../api/client';
import type { AgentSession, Artifact, Comment, Entry, Page, Run, RunDetail, Step } from '../api/types';
import { Journal } from './journal';
import { isOver } from './standing';

/** An entry with its place in the log. */
interface Event {
  seq: number;
  at: string;
  entry: { kind: string; [field: string]: unknown };
}

/** Logs that are longer are not read whole: the timeline then shows the steps alone. */
const ENTRIES = 60_000;
const ENTRIES_AT_ONCE = 1000;

export class LiveRun {
  doc = $state.raw<RunDetail | null>(null);
  problem = $state.raw<unknown>(null);
  /** Grows when the journal has changed. */
  version = $state(0);
  /** The log as it was written, for those who want to see that. */
  entries: Entry[] = [];
  journal = new Journal();
  isLogRead = $state(false);
  /** Why the last attempt to read the log failed. */
  logProblem = $state.raw<unknown>(null);
  isLogTooLong = $state(false);

  #id: string;
  #stop: (() => void) | null = null;
  #closed = new AbortController();
  #waiting: Message[] = [];
  #frame = 0;
  #again: ReturnType<typeof setTimeout> | undefined;
  #reading: Promise<void> | null = null;
  #isStale = false;

  constructor(id: string) {
    this.#id = id;
  }

  async open(): Promise<void> {
    await this.refresh();
    const run = this.doc;
    if (!run || this.#closed.signal.aborted) return;
    this.#stop ??= live.subscribe({ executionId: run.id, after: run.seq, progress: false }, (message) => this.#hear(message));
    await this.#readLog();
  }

  close(): void {
    this.#closed.abort();
    clearTimeout(this.#again);
    cancelAnimationFrame(this.#frame);
    this.#stop?.();
  }

  get path(): string {
    return `/api/executions/${encodeURIComponent(this.doc?.id ?? this.#id)}`;
  }

  /** Reads the run's document. */
  async refresh(): Promise<void> {
    try {
      const doc = await read<RunDetail>(this.path, {}, this.#closed.signal);
      this.doc = doc;
      this.problem = null;
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      // What is shown stays while the server is away.
      if (!this.doc || !(error instanceof Problem && error.isOffline)) this.problem = error;
    }
  }

  /** Does something to the run: `cancel`, `approve` … The run that it is about afterwards. */
  async act(verb: string, body: unknown = {}): Promise<RunDetail> {
    const answer = await send<RunDetail>(`${this.path}/${verb}`, body);
    if (answer.id === this.doc?.id) this.#later(0);
    return answer;
  }

  /** Reads document and log again, now. */
  readAgain(): void {
    this.#later(0);
  }

  /** Reads everything again that may have been missed while there was no connection. */
  catchUp(): void {
    if (this.doc) this.#later(0);
    else void this.open();
  }

  #hear(message: Message): void {
    if (message.ephemeral) return;
    this.#waiting.push(message);
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#apply(this.#waiting.splice(0));
    });
  }

  #apply(messages: Message[]): void {
    const doc = this.doc;
    if (!doc) return;
    const changed = { ...doc };
    for (const message of messages) merge(changed, message);
    this.doc = changed;
    // Runs with thousands of steps have documents of megabytes: those are read less often.
    this.#later(changed.steps.length > 300 ? 3000 : 250);
  }

  /** Reads document and log again, after a moment in which more may come. */
  #later(wait: number): void {
    if (this.#reading) {
      this.#isStale = true;
      return;
    }
    clearTimeout(this.#again);
    this.#again = setTimeout(() => {
      this.#reading = Promise.all([this.refresh(), this.#readLog()]).then(() => {
        this.#reading = null;
        if (this.#isStale) {
          this.#isStale = false;
          this.#later(wait);
        }
      });
    }, wait);
  }

  async #readLog(): Promise<void> {
    if (this.isLogTooLong) return;
    try {
      let more = true;
      while (more && !this.#closed.signal.aborted) {
        const query = { after: this.journal.last || null, limit: ENTRIES_AT_ONCE };
        const page = await read<Page<Event>>(`${this.path}/events`, query, this.#closed.signal);
        for (const { seq, at, entry: fields } of page.items) {
          const entry: Entry = { ...fields, seq, at };
          if (entry.seq <= this.journal.last) continue;
          this.journal.apply(entry);
          this.entries.push(entry);
        }
        more = page.items.length > 0 && page.next !== null;
        if (this.entries.length > ENTRIES) {
          this.isLogTooLong = true;
          more = false;
        }
        this.version += 1;
      }
      this.isLogRead = true;
      this.logProblem = null;
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      // What is shown stays while the server is away.
      if (!this.isLogRead || !(error instanceof Problem && error.isOffline)) this.logProblem = error;
    }
  }

  get isOver(): boolean {
    return this.doc !== null && isOver(this.doc.status);
  }

  /** A text that was kept with the run, as far as it is not too long. */
  async text(artifact: string, most: number): Promise<{ text: string; isCut: boolean }> {
    const answer = await ask('GET', `/api/artifacts/${artifact}/download`, { headers: { Range: `bytes=0-${most - 1}`, Accept: '*/*' }, signal: this.#closed.signal });
    const text = await answer.text();
    const whole = Number(/\/(\d+)$/.exec(answer.headers.get('Content-Range') ?? '')?.[1] ?? 0);
    return { text, isCut: whole > most };
  }
}

function merge(doc: RunDetail, message: Message): void {
  const data = message.data as Record<string, unknown> | null | undefined;
  if (!data) return;
  if (message.seq !== undefined) doc.seq = Math.max(doc.seq, message.seq);
  if (message.step) mergeStep(doc, message.step);
  for (const artifact of message.artifacts ?? []) doc.artifacts = put(doc.artifacts, artifact);
  switch (message.type) {
    case 'workflow:step:updated':
      mergeStep(doc, data as unknown as Step);
      return;
    case 'workflow:comment:added':
      doc.comments = put(doc.comments, data as unknown as Comment);
      return;
    case 'workflow:artifact:created':
      doc.artifacts = put(doc.artifacts, data as unknown as Artifact);
      return;
    case 'workflow:agent:updated':
      doc.agent_sessions = put(doc.agent_sessions, data as unknown as AgentSession);
      return;
    case 'workflow:execution:started':
    case 'workflow:execution:completed':
    case 'workflow:execution:updated': {
      const { steps: _steps, comments: _comments, artifacts: _artifacts, agent_sessions: _sessions, operations: _operations, ...run } = data;
      Object.assign(doc, run as Partial<Run>);
    }
  }
}

function mergeStep(doc: RunDetail, step: Step): void {
  const steps = put(doc.steps, step);
  doc.steps = steps.length === doc.steps.length ? steps : steps.sort((one, other) => one.step_number - other.step_number);
}

/** The list with an item in the place of the one with the same id, or at the end. */
function put<T extends { id: string }>(list: readonly T[], item: T): T[] {
  if (typeof item.id !== 'string') return [...list];
  const at = list.findIndex((one) => one.id === item.id);
  return at < 0 ? [...list, item] : list.with(at, { ...list[at]!, ...item });
}
