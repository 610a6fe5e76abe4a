/** How lengths of time, moments, sizes, numbers and money are written; the same everywhere. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `820 ms`, `4.9 s`, `3m 05s`, `2h 10m`, `3d 4h`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
  const length = Math.max(0, ms);
  if (length < SECOND) return `${Math.round(length)} ms`;
  if (length < MINUTE) return `${(Math.floor(length / 100) / 10).toFixed(1)} s`;
  if (length < HOUR) return `${Math.floor(length / MINUTE)}m ${two((length % MINUTE) / SECOND)}s`;
  if (length < DAY) return `${Math.floor(length / HOUR)}h ${two((length % HOUR) / MINUTE)}m`;
  return `${Math.floor(length / DAY)}d ${Math.floor((length % DAY) / HOUR)}h`;
}

/** A length for an axis: as short as it can be without lying. */
export function tick(ms: number): string {
  if (ms === 0) return '0';
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${trim(ms / SECOND)} s`;
  if (ms < HOUR) {
    const seconds = Math.round((ms % MINUTE) / SECOND);
    return seconds ? `${Math.floor(ms / MINUTE)}m ${seconds}s` : `${Math.floor(ms / MINUTE)}m`;
  }
  const minutes = Math.round((ms % HOUR) / MINUTE);
  return minutes ? `${Math.floor(ms / HOUR)}h ${minutes}m` : `${Math.floor(ms / HOUR)}h`;
}

/** `just now`, `4 min ago`, `yesterday`, `3 Nov`. */
export function ago(at: string | number | null | undefined, now: number): string {
  const then = moment(at);
  if (then === null) return '–';
  const passed = now - then;
  if (passed < -5 * SECOND) return `in ${rough(-passed)}`;
  if (passed < 5 * SECOND) return 'just now';
  if (passed < 7 * DAY) return `${rough(passed)} ago`;
  const date = new Date(then);
  const year = date.getFullYear() === new Date(now).getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${MONTHS[date.getMonth()]}${year}`;
}

/** A moment to come, with how far away it is: `in 2 days · Thu 19 Nov 08:21`, `in 9 min · 08:59`, and `now` when it is due. */
export function due(at: string | number | null | undefined, now: number): string {
  const then = moment(at);
  if (then === null) return '–';
  if (then <= now) return 'now';
  const date = new Date(then);
  const today = new Date(now);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const year = date.getFullYear() === today.getFullYear() ? '' : ` ${date.getFullYear()}`;
  const day = date.toDateString() === today.toDateString() ? '' : `${DAYS[date.getDay()]} ${date.getDate()} ${MONTHS[date.getMonth()]}${year} `;
  return `in ${rough(then - now)} · ${day}${time}`;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function rough(ms: number): string {
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  const days = Math.floor(ms / DAY);
  return days === 1 ? '1 day' : `${days} days`;
}

/** Milliseconds since 1970, of whatever a document calls a moment. */
export function moment(at: string | number | null | undefined): number | null {
  if (at === null || at === undefined) return null;
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return Number.isNaN(ms) ? null : ms;
}

/** The clock in the user's own zone, with milliseconds where they matter. */
export function clock(at: string | number | null | undefined, fine = false): string {
  const ms = moment(at);
  if (ms === null) return '–';
  const date = new Date(ms);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return fine ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text;
}

/** Date and clock, for titles. */
export function full(at: string | number | null | undefined): string {
  const ms = moment(at);
  if (ms === null) return '';
  const date = new Date(ms);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(ms, true)}`;
}

/** `558 B`, `1.2 kB`, `412.9 MB`. */
export function bytes(size: number | null | undefined): string {
  if (size === null || size === undefined) return '–';
  if (size < 1000) return `${size} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = size;
  let unit = -1;
  do {
    value /= 1000;
    unit += 1;
  } while (value >= 999.95 && unit < units.length - 1);
  return `${value.toFixed(1)} ${units[unit]}`;
}

/** `820`, `12k`, `1.4M`. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (value < 10_000) return String(value);
  if (value < 999_500) return `${Math.round(value / 1000)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** `$0.04`, `$12.30`, `< $0.01`; nothing for what nobody knows. */
export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return '–';
  if (usd > 0 && usd < 0.01) return '< $0.01';
  return `$${usd.toFixed(2)}`;
}

/** Without the characters that turn the direction of writing around: with them a name reads as another one. */
export function plainly(text: string): string {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** `1 file`, `2 files`. */
export function plural(value: number, word: string): string {
  return `${value.toLocaleString('en')} ${word}${value === 1 ? '' : 's'}`;
}

function two(value: number): string {
  return String(Math.floor(value)).padStart(2, '0');
}

function trim(value: number): string {
  return value.toFixed(2).replace(/\.?0+$/, '');
}
