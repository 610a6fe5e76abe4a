/**
 * The lines of a log, kept as the bytes that came: a log of 50 MB costs 50 MB and a few arrays of numbers, and a line
 * becomes text when it is seen. Lines are JSON (`{at, level, step_id, stream, msg}`); their levels are read at the
 * place where the writer puts them, without parsing.
 */

export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type Level = (typeof LEVELS)[number];

export interface Line {
  at: string | null;
  level: Level;
  step: string | null;
  stream: string;
  text: string;
}

interface Chunk {
  bytes: Uint8Array;
  /** Where each line begins; one more than there are lines. */
  starts: Uint32Array;
  /** The number of its first line. */
  first: number;
}

const NEWLINE = 10;
const QUOTE = 34;
const LEVEL_KEY = new TextEncoder().encode('"level":"');
/** How far into a line its level is looked for. */
const LEVEL_WITHIN = 64;

export class Lines {
  #chunks: Chunk[] = [];
  #levels = new Uint8Array(1024);
  #rest: Uint8Array = new Uint8Array(0);
  #decoder = new TextDecoder();
  /** How many whole lines there are. */
  count = 0;
  /** How many bytes have come. */
  bytes = 0;

  /** Takes the next bytes of the log. */
  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.bytes += bytes.length;
    const joined = this.#rest.length ? concat(this.#rest, bytes) : bytes;
    const end = joined.lastIndexOf(NEWLINE) + 1;
    this.#rest = joined.slice(end);
    if (end > 0) this.#index(joined.subarray(0, end));
  }

  #index(bytes: Uint8Array): void {
    const starts: number[] = [0];
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) starts.push(at + 1);
    const chunk = { bytes, starts: Uint32Array.from(starts), first: this.count };
    this.#chunks.push(chunk);
    this.#reserve(this.count + starts.length - 1);
    for (let line = 0; line < starts.length - 1; line++) {
      this.#levels[this.count + line] = levelAt(bytes, starts[line]!, starts[line + 1]!);
    }
    this.count += starts.length - 1;
  }

  #reserve(size: number): void {
    if (size <= this.#levels.length) return;
    const grown = new Uint8Array(Math.max(size, this.#levels.length * 2));
    grown.set(this.#levels);
    this.#levels = grown;
  }

  /** How loud a line is, as a number in `LEVELS`. */
  level(line: number): number {
    return this.#levels[line] ?? 2;
  }

  /** The line as it was written. */
  raw(line: number): string {
    const chunk = this.#chunkOf(line);
    if (!chunk) return '';
    const at = line - chunk.first;
    return this.#decoder.decode(chunk.bytes.subarray(chunk.starts[at], chunk.starts[at + 1]! - 1));
  }

  line(line: number): Line {
    return understood(this.raw(line), LEVELS[this.level(line)] ?? 'info');
  }

  /** The numbers of the lines that are at least so loud and contain the text. */
  *find(text: string, least: number): Generator<number> {
    const wanted = text.toLowerCase();
    // JSON writes quotes and control characters in its own way; the pattern has to as well.
    const escaped = JSON.stringify(wanted).slice(1, -1);
    for (const chunk of this.#chunks) {
      const lines = chunk.starts.length - 1;
      const whole = wanted ? this.#decoder.decode(chunk.bytes).toLowerCase() : '';
      if (wanted && !whole.includes(escaped)) continue;
      for (let at = 0; at < lines; at++) {
        const line = chunk.first + at;
        if (this.level(line) < least) continue;
        if (!wanted || this.line(line).text.toLowerCase().includes(wanted)) yield line;
      }
    }
  }

  /** The numbers of the lines whose text fits a pattern. */
  *matching(pattern: RegExp): Generator<number> {
    for (const chunk of this.#chunks) {
      if (!pattern.test(this.#decoder.decode(chunk.bytes))) continue;
      for (let at = 0; at < chunk.starts.length - 1; at++) {
        if (pattern.test(this.line(chunk.first + at).text)) yield chunk.first + at;
      }
    }
  }

  /** All lines that are at least so loud. */
  louder(least: number): Uint32Array {
    const found = new Uint32Array(this.count);
    let size = 0;
    for (let line = 0; line < this.count; line++) if (this.#levels[line]! >= least) found[size++] = line;
    return found.slice(0, size);
  }

  #chunkOf(line: number): Chunk | undefined {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#chunks[middle]!.first <= line) low = middle;
      else high = middle - 1;
    }
    return this.#chunks[low];
  }
}

function understood(raw: string, level: Level): Line {
  try {
    const parsed = JSON.parse(raw) as Record<string, unknown>;
    if (typeof parsed['msg'] === 'string') {
      const text = (name: string) => (typeof parsed[name] === 'string' ? (parsed[name] as string) : null);
      return { at: text('at'), level, step: text('step_id'), stream: text('stream') ?? 'log', text: parsed['msg'] };
    }
  } catch {
    // Whatever it is, it is shown.
  }
  return { at: null, level, step: null, stream: 'log', text: raw };
}

function levelAt(bytes: Uint8Array, start: number, end: number): number {
  const last = Math.min(end - LEVEL_KEY.length, start + LEVEL_WITHIN);
  outer: for (let at = bytes.indexOf(QUOTE, start); at >= 0 && at <= last; at = bytes.indexOf(QUOTE, at + 1)) {
    for (let index = 1; index < LEVEL_KEY.length; index++) if (bytes[at + index] !== LEVEL_KEY[index]) continue outer;
    switch (bytes[at + LEVEL_KEY.length]) {
      case 116: // t
        return 0;
      case 100: // d
        return 1;
      case 119: // w
        return 3;
      case 101: // e
        return 4;
      case 102: // f
        return 5;
      default:
        return 2;
    }
  }
  return 2;
}

function concat(one: Uint8Array, other: Uint8Array): Uint8Array {
  const joined = new Uint8Array(one.length + other.length);
  joined.set(one);
  joined.set(other, one.length);
  return joined;
}

const TROUBLE = /\b(error|errors|failed|failure|panicked|exception|traceback|fatal)\b/i;

/** The lines that tell of trouble: by their level, or else by their words. */
export function troubles(lines: Lines): number[] {
  const loud = lines.louder(LEVELS.indexOf('error'));
  if (loud.length > 0) return Array.from(loud);
  const found: number[] = [];
  for (const line of lines.matching(TROUBLE)) {
    found.push(line);
    if (found.length >= 1000) break;
  }
  return found;
}
