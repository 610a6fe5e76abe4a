/**
 * The lines of a log, kept as the bytes that came: a log of 50 MB costs 50 MB and a few arrays of numbers, and a line
 * becomes text when it is seen. Records are JSON (`{at, level, step_id, stream, msg}`); their levels are read at the
 * place where the writer puts them, without parsing. What a command writes without ending the line comes in several
 * records (`goes_on`), and is one line here.
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
  /** Where each record begins; one more than there are records. */
  starts: Uint32Array;
  /** The number of its first record. */
  first: number;
  /** The number of the first line that begins in it. */
  firstLine: number;
  /** Whether a line begins in it that was written in pieces. */
  hasPieces: boolean;
}

/** A line that a command has not finished yet, as far as it is known. */
interface Open {
  line: number;
  length: number;
}

const NEWLINE = 10;
const QUOTE = 34;
const LEVEL_KEY = new TextEncoder().encode('"level":"');
/** How far into a record its level is looked for. */
const LEVEL_WITHIN = 64;
/** How a record ends whose line goes on in another one. */
const GOES_ON = new TextEncoder().encode('"goes_on":true}');
/** A line that is longer than this, or in more pieces, is shown as several. */
export const LONGEST_LINE = 64 * 1024;
export const MOST_PIECES = 1000;

export class Lines {
  #chunks: Chunk[] = [];
  #levels = new Uint8Array(1024);
  /** The record that each line begins with. */
  #heads = new Uint32Array(1024);
  /** The records behind the first one, of lines that were written in pieces. */
  #pieces = new Map<number, number[]>();
  #open = new Map<string, Open>();
  #records = 0;
  #rest: Uint8Array = new Uint8Array(0);
  #decoder = new TextDecoder();
  /** How many lines there are. */
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
    const chunk = { bytes, starts: Uint32Array.from(starts), first: this.#records, firstLine: this.count, hasPieces: false };
    this.#chunks.push(chunk);
    this.#reserve(this.count + starts.length - 1);
    for (let at = 0; at < starts.length - 1; at++) {
      const [start, end] = [starts[at]!, starts[at + 1]!];
      const record = this.#records++;
      if (this.#joins(record, bytes.subarray(start, end - 1))) continue;
      this.#levels[this.count] = levelAt(bytes, start, end);
      this.#heads[this.count] = record;
      this.count += 1;
    }
  }

  /**
   * Whether the record is the next piece of a line that is known. Commands write when they like, so pieces of several may
   * take turns. Nothing is parsed as long as no line is open.
   */
  #joins(record: number, bytes: Uint8Array): boolean {
    const goesOn = endsWith(bytes, GOES_ON);
    if (!goesOn && this.#open.size === 0) return false;
    const told = piece(this.#decoder.decode(bytes));
    if (!told) return false;
    const open = this.#open.get(told.key);
    const line = open ? open.line : this.count;
    const length = (open?.length ?? 0) + told.length;
    const pieces = this.#pieces.get(line);
    if (goesOn && length < LONGEST_LINE && (pieces?.length ?? 0) < MOST_PIECES) this.#open.set(told.key, { line, length });
    else this.#open.delete(told.key);
    if (!open) return false;
    if (pieces) pieces.push(record);
    else {
      this.#pieces.set(line, [record]);
      const chunk = this.#chunkOf(this.#heads[line]!);
      if (chunk) chunk.hasPieces = true;
    }
    return true;
  }

  #reserve(size: number): void {
    if (size <= this.#levels.length) return;
    const length = Math.max(size, this.#levels.length * 2);
    const levels = new Uint8Array(length);
    levels.set(this.#levels);
    this.#levels = levels;
    const heads = new Uint32Array(length);
    heads.set(this.#heads);
    this.#heads = heads;
  }

  /** How loud a line is, as a number in `LEVELS`. */
  level(line: number): number {
    return this.#levels[line] ?? 2;
  }

  /** A record as it was written. */
  #raw(record: number): string {
    const chunk = this.#chunkOf(record);
    if (!chunk) return '';
    const at = record - chunk.first;
    return this.#decoder.decode(chunk.bytes.subarray(chunk.starts[at], chunk.starts[at + 1]! - 1));
  }

  line(line: number): Line {
    const level = LEVELS[this.level(line)] ?? 'info';
    const first = understood(line < this.count ? this.#raw(this.#heads[line]!) : '', level);
    const pieces = this.#pieces.get(line);
    return pieces ? { ...first, text: first.text + pieces.map((record) => understood(this.#raw(record), level).text).join('') } : first;
  }

  /** The numbers of the lines that are at least so loud and contain the text. */
  *find(text: string, least: number): Generator<number> {
    const wanted = text.toLowerCase();
    // JSON writes quotes and control characters in its own way; the pattern has to as well.
    const escaped = JSON.stringify(wanted).slice(1, -1);
    for (const line of this.#among((whole) => !wanted || whole.toLowerCase().includes(escaped))) {
      if (this.level(line) < least) continue;
      if (!wanted || this.line(line).text.toLowerCase().includes(wanted)) yield line;
    }
  }

  /** The numbers of the lines whose text fits a pattern. */
  *matching(pattern: RegExp): Generator<number> {
    for (const line of this.#among((whole) => pattern.test(whole))) {
      if (pattern.test(this.line(line).text)) yield line;
    }
  }

  /** Lines of the parts of the log that are worth a look, and lines in pieces, which no look at a part can judge. */
  *#among(isWorthIt: (whole: string) => boolean): Generator<number> {
    for (const [index, chunk] of this.#chunks.entries()) {
      const end = this.#chunks[index + 1]?.firstLine ?? this.count;
      const isWorth = isWorthIt(this.#decoder.decode(chunk.bytes));
      if (!isWorth && !chunk.hasPieces) continue;
      for (let line = chunk.firstLine; line < end; line++) if (isWorth || this.#pieces.has(line)) yield line;
    }
  }

  /** All lines that are at least so loud. */
  louder(least: number): Uint32Array {
    const found = new Uint32Array(this.count);
    let size = 0;
    for (let line = 0; line < this.count; line++) if (this.#levels[line]! >= least) found[size++] = line;
    return found.slice(0, size);
  }

  #chunkOf(record: number): Chunk | undefined {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#chunks[middle]!.first <= record) low = middle;
      else high = middle - 1;
    }
    return this.#chunks[low];
  }
}

/** Of which command's output a record is a piece, and how long it is; nothing if it is none. */
function piece(raw: string): { key: string; length: number } | null {
  try {
    const parsed = JSON.parse(raw) as Record<string, unknown>;
    if (typeof parsed['command'] !== 'string' || typeof parsed['msg'] !== 'string') return null;
    return { key: `${String(parsed['stream'])} ${parsed['command']}`, length: parsed['msg'].length };
  } catch {
    return null;
  }
}

function endsWith(bytes: Uint8Array, ending: Uint8Array): boolean {
  const from = bytes.length - ending.length;
  return from >= 0 && ending.every((byte, index) => bytes[from + index] === byte);
}

function understood(raw: string, level: Level): Line {
  try {
    const parsed = JSON.parse(raw) as Record<string, unknown>;
    if (typeof parsed['msg'] === 'string') {
      const text = (name: string) => (typeof parsed[name] === 'string' ? (parsed[name]) : null);
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
