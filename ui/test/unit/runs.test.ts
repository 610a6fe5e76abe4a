import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Page, Run } from '../../src/api/types';
import { filtersOf } from '../../src/model/filters';
import { Runs } from '../../src/model/runs.svelte';

/** A request that waits for its answer. */
interface Request {
  url: URL;
  answer: (page: Partial<Page<unknown>>) => void;
}

let requests: Request[];
const filters = filtersOf(new URLSearchParams());

beforeEach(() => {
  requests = [];
  vi.stubGlobal('fetch', (path: string, { signal }: RequestInit) => {
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      const answer: Request['answer'] = (page) => resolve(new Response(JSON.stringify({ total: 500, next: null, ...page })));
      requests.push({ url: new URL(path, 'http://server'), answer });
    });
  });
});
afterEach(() => vi.unstubAllGlobals());

/** Runs from the latest to the first of these numbers. */
function runs(from: number, to: number): Run[] {
  return Array.from({ length: from - to + 1 }, (_, index) => ({ id: `run-${from - index}` }) as Run);
}
const request = (number: number) => vi.waitFor(() => requests[number] ?? Promise.reject(new Error(`request ${number} is not sent`)));
const names = (list: Runs) => list.items.map(({ id }) => id);

test('one page more during a refresh neither loses runs nor shows one twice', async () => {
  const list = new Runs();
  const opened = list.load(filters);
  (await request(0)).answer({ items: runs(100, 51), next: 'after 51' });
  await opened;
  const refreshed = list.load(filters);
  const more = list.more(filters);
  (await request(1)).answer({ items: runs(101, 52), next: 'after 52' });
  // All that is to be shown comes with one answer: run 52 can't be on two pages, or on none.
  const second = await request(2);
  expect(second.url.searchParams.get('limit')).toBe('100');
  expect(second.url.searchParams.get('after')).toBeNull();
  second.answer({ items: runs(102, 3), next: 'after 3' });
  await Promise.all([refreshed, more]);
  expect(names(list)).toEqual(names({ items: runs(102, 3) } as Runs));
  expect([list.next, requests.length]).toEqual(['after 3', 3]);
});

test('a run that comes to a later page while that is read is shown once', async () => {
  const list = new Runs();
  const opened = list.load(filters);
  (await request(0)).answer({ items: runs(2050, 2001), next: 'after' });
  await opened;
  Object.assign(list, { items: runs(2050, 1051) });
  const more = list.more(filters);
  (await request(1)).answer({ items: runs(2050, 1051), next: 'after 1051' });
  const rest = await request(2);
  expect(rest.url.searchParams.get('limit')).toBe('50');
  // Run 2000 has begun between the two answers: it is behind those that wait to begin.
  rest.answer({ items: [{ id: 'run-2000' }, ...runs(1050, 1002)] });
  await more;
  expect(new Set(names(list)).size).toBe(names(list).length);
  expect(names(list)).toHaveLength(1049);
});

test('news that keep coming do not keep an answer from being shown', async () => {
  const list = new Runs();
  void list.load(filters);
  const first = await request(0);
  void list.load(filters);
  const last = list.load(filters);
  expect(requests).toHaveLength(1);
  first.answer({ items: runs(10, 1) });
  await vi.waitFor(() => expect(names(list)).toHaveLength(10));
  // What has come meanwhile is one reason to read again.
  (await request(1)).answer({ items: runs(12, 1) });
  await last;
  expect([names(list).length, requests.length]).toEqual([12, 2]);
});

test('an answer for earlier filters is not shown', async () => {
  const list = new Runs();
  void list.load(filters);
  const earlier = await request(0);
  const other = list.load({ ...filters, workflow: 'build' });
  const later = await request(1);
  earlier.answer({ items: runs(10, 1) });
  later.answer({ items: runs(3, 3) });
  await other;
  expect(names(list)).toEqual(['run-3']);
  expect([list.isOutdated, list.problem]).toEqual([false, null]);
});
