/**
 * Who the page speaks for. On the same machine the server knows that by itself and there is nothing here. From elsewhere
 * it asks for a token, which is kept for as long as the tab is open, and only there.
 */

const KEY = 'agentos.token';

class Access {
  /** The server has refused us because nobody has said who we are. */
  isAsked = $state(false);
  /** It has refused the token that it was given. */
  isWrong = $state(false);
  token = $state<string | null>(kept());

  get headers(): Record<string, string> {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  /** A WebSocket can't have headers of its own: the token is named among its protocols. */
  get protocols(): string[] {
    return this.token ? ['agentos', `agentos.token.${this.token}`] : [];
  }

  give(token: string): void {
    this.token = token.trim() || null;
    this.isAsked = false;
    this.isWrong = false;
    try {
      if (this.token) sessionStorage.setItem(KEY, this.token);
      else sessionStorage.removeItem(KEY);
    } catch {
      // Then it has to be given again in the next page.
    }
  }

  /** A refusal of a request that was made with `token`: an answer that is late says nothing about a newer one. */
  refuse(token = this.token): void {
    if (token !== this.token) return;
    this.isAsked = true;
    this.isWrong = token !== null;
  }
}

function kept(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const access = new Access();

/**
 * Saves a file under its name. A plain link does that by itself; with a token it can't, so the file is fetched first.
 * Use as `onclick` of the link.
 */
export async function save(event: MouseEvent): Promise<void> {
  const link = event.currentTarget as HTMLAnchorElement;
  if (!access.token) return;
  event.preventDefault();
  const answer = await fetch(link.href, { headers: access.headers });
  if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
  const url = URL.createObjectURL(await answer.blob());
  const copy = document.createElement('a');
  copy.href = url;
  copy.download = link.download || 'file';
  copy.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
