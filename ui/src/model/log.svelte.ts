/**
 * A log that is read in ranges as it grows: what is there at once, then only what has come since. A poll costs one
 * request without an answer; a stream would have to be found again after every interruption.
 */

import { ask, Problem, type Query } from '../api/client';
import { Lines } from './lines';

const LOOK_MS = 1000;
/** A page that holds more than this is no help to anybody; the download has all of it. */
export const MOST_BYTES = 256 * 1024 * 1024;

export class LiveLog {
  readonly lines = new Lines();
  /** Grows when there are more lines. */
  version = $state(0);
  isRead = $state(false);
  problem = $state.raw<unknown>(null);
  isTooLong = $state(false);
  #stopped = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #drawn = 0;

  constructor(
    readonly path: string,
    readonly query: Query,
  ) {}

  /** Reads what there is; with `isLive` again and again. */
  async read(isLive: () => boolean): Promise<void> {
    // Whether it goes on is asked before reading: what was written up to its end is then read in any case.
    const goesOn = isLive();
    if (document.visibilityState === 'visible' || !this.isRead) await this.#readOn();
    if (goesOn && !this.#stopped.signal.aborted && !this.isTooLong) {
      this.#timer = setTimeout(() => void this.read(isLive), LOOK_MS);
    }
  }

  stop(): void {
    this.#stopped.abort();
    clearTimeout(this.#timer);
  }

  async #readOn(): Promise<void> {
    const from = this.lines.bytes;
    try {
      // The last byte is asked for again: there is always something to answer then, and nothing new is no error. A browser
      // that has kept that byte would answer with it alone, so that every other look would find nothing.
      const headers: Record<string, string> = { Accept: '*/*', 'Cache-Control': 'no-cache', ...(from > 0 ? { Range: `bytes=${from - 1}-` } : {}) };
      const answer = await ask('GET', this.path, { query: this.query, headers, signal: this.#stopped.signal });
      // A server that does not know ranges sends everything again.
      await this.#take(answer, from === 0 ? 0 : answer.status === 206 ? 1 : from);
      this.problem = null;
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      if (!(error instanceof Problem && error.status === 416)) this.problem = error;
    }
    this.isRead = true;
    this.#show();
  }

  async #take(answer: Response, skip: number): Promise<void> {
    const reader = answer.body?.getReader();
    if (!reader) return;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const fresh = skip < value.length ? value.subarray(skip) : null;
      skip = Math.max(0, skip - value.length);
      if (fresh) this.lines.push(fresh);
      if (performance.now() - this.#drawn > 120) this.#show();
      if (this.lines.bytes > MOST_BYTES) {
        this.isTooLong = true;
        await reader.cancel();
        return;
      }
    }
  }

  #show(): void {
    this.#drawn = performance.now();
    this.version += 1;
  }
}
