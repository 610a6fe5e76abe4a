/**
 * Where the user is: the path and the query of the page's address, and how to go elsewhere.
 *
 * Six pages do not need a routing library. Links are plain `<a href>`: they can be opened in a new tab, and `follow`
 * keeps an ordinary click inside the page. Filters and selections are part of the query, so that every view has an
 * address that can be sent to somebody.
 */

import { changed } from './query';

class Place {
  path = $state(location.pathname);
  query = $state(new URLSearchParams(location.search));
  /** Whether it was reached by going back or forth: then one stood somewhere in it before. */
  isKnown = false;

  read(isKnown = false): void {
    this.isKnown = isKnown;
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }
}

export const place = new Place();

addEventListener('popstate', () => place.read(true));

/** Goes to an address of the dashboard. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  place.read();
}

/** The address of this page with parts of the query changed; `null` takes one out. */
export function addressWith(changes: Record<string, string | null>): string {
  const text = changed(place.query, changes);
  return text ? `${place.path}?${text}` : place.path;
}

/** Changes parts of the query. Filters replace the entry, so that "back" leaves the page. */
export function adjust(changes: Record<string, string | null>, options: { push?: boolean } = {}): void {
  const to = addressWith(changes);
  if (to !== location.pathname + location.search) go(to, { replace: !options.push });
}

/** Keeps clicks on links of the dashboard inside the page. */
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname.startsWith('/api/')) return;
  event.preventDefault();
  go(link.pathname + link.search);
}

export type Route =
  | { page: 'runs' }
  | { page: 'run'; id: string }
  | { page: 'start'; workflow: string | null }
  | { page: 'workflows' }
  | { page: 'workflow'; id: string }
  | { page: 'workspaces' }
  | { page: 'nowhere' };

/** The page that an address means. */
export function routeOf(path: string): Route {
  const [first, second, ...rest] = path.split('/').filter(Boolean).map(decode);
  if (rest.length > 0) return { page: 'nowhere' };
  switch (first) {
    case undefined:
      return { page: 'runs' };
    case 'runs':
      return second ? { page: 'run', id: second } : { page: 'runs' };
    case 'start':
      return { page: 'start', workflow: second ?? null };
    case 'workflows':
      return second ? { page: 'workflow', id: second } : { page: 'workflows' };
    case 'workspaces':
      return second ? { page: 'nowhere' } : { page: 'workspaces' };
    default:
      return { page: 'nowhere' };
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
