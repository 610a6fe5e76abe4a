/**
 * Requests to the server: one function, and errors that say what is wrong in the server's own words.
 *
 * Nothing here retries. What is read again after an interruption is decided where it is shown, because only there is it
 * known whether it still matters.
 */

import { access } from './access.svelte';
import type { Page } from './types';

/** A refusal of the server (RFC 9457), or that it could not be reached (status 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string | null = null,
    readonly fields: { pointer: string; detail: string }[] = [],
  ) {
    super(message);
  }

  get isOffline(): boolean {
    return this.status === 0;
  }
}

/** What is read is read again when the connection is back; what was to be done is not: nobody may want it any more. */
const AGAIN = 'It may be restarting; this page tries again by itself.';
const NOT_AGAIN = 'It may be restarting. This is not sent again by itself: try again when the connection is back.';

export type Query = Record<string, string | number | boolean | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

export interface Asking {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

/** The answer as it came; an error unless it is a success. */
export async function ask(method: string, path: string, asking: Asking = {}): Promise<Response> {
  const { query, body, signal, headers } = asking;
  const { token } = access;
  const answer = await fetch(address(path, query), {
    method,
    signal,
    headers: { Accept: 'application/json', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...access.headers, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(0, 'The server can’t be reached.', method === 'GET' ? AGAIN : NOT_AGAIN);
  });
  if (answer.status === 401) access.refuse(token);
  if (!answer.ok) throw await problem(answer);
  return answer;
}

export async function read<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await (await ask('GET', path, { query, signal })).json()) as T;
}

export async function send<T>(path: string, body: unknown = {}, headers?: Record<string, string>): Promise<T> {
  return (await (await ask('POST', path, { body, headers })).json()) as T;
}

/** All pages of a list, up to a bound: lists that are shown whole are short. */
export async function readAll<T>(path: string, query: Query = {}, most = 2000): Promise<T[]> {
  const items: T[] = [];
  let after: string | null = null;
  do {
    const page: Page<T> = await read<Page<T>>(path, { ...query, ...(after ? { after } : {}) });
    items.push(...page.items);
    after = page.next;
  } while (after && items.length < most);
  return items;
}

async function problem(answer: Response): Promise<Problem> {
  let document: Record<string, unknown> = {};
  try {
    document = (await answer.json()) as Record<string, unknown>;
  } catch {
    // A proxy's page, or nothing: the status has to do.
  }
  const text = (name: string) => (typeof document[name] === 'string' ? document[name] : null);
  const listed = Array.isArray(document['errors']) ? (document['errors'] as Record<string, unknown>[]) : [];
  const word = (value: unknown) => (typeof value === 'string' ? value : '');
  const fields = listed.map((field) => ({ pointer: word(field['pointer']) || word(field['parameter']), detail: word(field['detail']) }));
  const message = text('detail') ?? text('title') ?? `The server answered ${answer.status}.`;
  return new Problem(answer.status, message, text('hint'), fields);
}

/** What went wrong, in words. */
export function words(error: unknown): string {
  if (error instanceof Problem) return error.hint ? `${error.message} ${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}
