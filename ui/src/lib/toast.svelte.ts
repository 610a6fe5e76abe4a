/** Short messages in a corner: what was done, or why not. */

import { words } from '../api/client';

export interface Toast {
  id: number;
  text: string;
  isError: boolean;
  href?: string;
}

class Toasts {
  list = $state<Toast[]>([]);
  #next = 1;

  say(text: string, options: { isError?: boolean; href?: string } = {}): void {
    const toast = { id: this.#next++, text, isError: options.isError ?? false, href: options.href };
    this.list = [...this.list.slice(-3), toast];
    setTimeout(() => this.drop(toast.id), toast.isError ? 9000 : 5000);
  }

  complain(error: unknown): void {
    this.say(words(error), { isError: true });
  }

  drop(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();

/** What was copied is known: enough of it to know it again. */
function briefly(text: string): string {
  const line = text.trim().split('\n', 1)[0]!;
  return line.length > 80 ? `${line.slice(0, 79)}…` : line === text.trim() ? line : `${line} …`;
}

/** Puts a text on the clipboard and says so. */
export async function copy(text: string, what = 'Copied'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.say(`${what}: ${briefly(text)}`);
  } catch {
    toasts.say(text);
  }
}
