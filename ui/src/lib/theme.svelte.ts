/** Light or dark: as the system says, unless the user has said something else. */

export type Choice = 'system' | 'light' | 'dark';
const KEY = 'agentos.theme';

class Theme {
  choice = $state<Choice>(kept());

  constructor() {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.apply());
    this.apply();
  }

  apply(): void {
    const isDark = this.choice === 'dark' || (this.choice === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
  }

  next(): void {
    const order: Choice[] = ['system', 'light', 'dark'];
    this.choice = order[(order.indexOf(this.choice) + 1) % order.length]!;
    keep(KEY, this.choice);
    this.apply();
  }
}

function kept(): Choice {
  const value = recall(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}

/** What this browser remembers; nothing where it is not allowed to. */
export function recall(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It works without a memory, too.
  }
}

export const theme = new Theme();
