/**
 * The keyboard: whatever page is shown binds its keys while it is shown, and the help lists exactly those.
 *
 * Keys without a modifier are for the page and are left alone while somebody types. `g` begins a sequence.
 */

export interface Key {
  /** `j`, `g r`, `mod+k`, `?`, `Escape`. */
  keys: string;
  about: string;
  group: string;
  run: (event: KeyboardEvent) => void;
  /** Also while somebody types. */
  everywhere?: boolean;
}

let bound: Key[] = [];
/** The first key of a sequence, and when it was pressed. */
let begun: { key: string; at: number } | null = null;
/** As long is the second key waited for, in milliseconds. */
const SEQUENCE = 1200;

/** Binds keys for as long as the component lives: `$effect(() => bind([...]))`. */
export function bind(keys: Key[]): () => void {
  bound = [...keys, ...bound];
  return () => {
    bound = bound.filter((key) => !keys.includes(key));
  };
}

/** All keys that do something now, for the help. */
export function boundKeys(): Key[] {
  return bound;
}

const isMac = navigator.platform.startsWith('Mac');

/** How a key is shown: `⌘K` on a Mac, `Ctrl K` elsewhere. */
export function shown(keys: string): string[] {
  return keys.split(' ').map((key) => {
    if (key.startsWith('mod+')) return `${isMac ? '⌘' : 'Ctrl '}${key.slice(4).toUpperCase()}`;
    return key === 'Escape' ? 'Esc' : key === 'ArrowDown' ? '↓' : key === 'ArrowUp' ? '↑' : key;
  });
}

export function listen(event: KeyboardEvent): void {
  if (event.defaultPrevented) return;
  const pressed = `${event.metaKey || event.ctrlKey ? 'mod+' : ''}${event.key.length === 1 && (event.metaKey || event.ctrlKey) ? event.key.toLowerCase() : event.key}`;
  const isTyping = isEditable(event.target) || document.querySelector('dialog[open]') !== null;
  if (event.altKey) return;
  // What has the focus knows better what this key means.
  if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && event.target instanceof Element && event.target.closest('a, button, summary')) return;
  // When the keys were pressed counts, not when a busy page gets to them.
  const wanted = begun && event.timeStamp - begun.at < SEQUENCE ? `${begun.key} ${pressed}` : pressed;
  const found = bound.find((key) => key.keys === wanted && (key.everywhere || !isTyping));
  begun = null;
  if (found) {
    event.preventDefault();
    found.run(event);
  } else if (!isTyping && pressed === 'g') {
    begun = { key: 'g', at: event.timeStamp };
  }
}

function isEditable(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // After a click a checkbox has the focus: nobody types into it.
  if (target instanceof HTMLInputElement && ['checkbox', 'radio', 'button', 'submit'].includes(target.type)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}
