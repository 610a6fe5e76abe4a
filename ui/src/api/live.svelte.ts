/**
 * The live connection: one WebSocket for the page, any number of subscriptions, and no gap after an interruption.
 *
 * A subscription remembers the last position that it has seen. When the connection comes back, it is asked for again
 * from there, so that nothing is missed and nothing is seen twice. What the server marks as ephemeral has no position
 * and may be lost. If the socket can't be opened at all, the page still works: whoever shows something reads it again
 * when `live.generation` changes.
 */

import { access } from './access.svelte';
import type { Artifact, Step } from './types';

export interface Message {
  type: string;
  /** Which of the requests it answers: the key of a subscription. */
  id?: unknown;
  execution_id?: string;
  project_id?: string;
  seq?: number;
  at?: string;
  ephemeral?: boolean;
  data?: unknown;
  /** What else it is about. */
  step?: Step;
  artifacts?: Artifact[];
}

export interface Topic {
  executionId?: string;
  projectId?: string;
  after?: number;
  /** Whether log lines are wanted. */
  progress?: boolean;
}

interface Subscription {
  topic: Topic;
  hear: (message: Message) => void;
}

const FIRST_DELAY = 500;
const LONGEST_DELAY = 15_000;

class Live {
  state = $state<'connecting' | 'online' | 'offline'>('connecting');
  /** When the next try is, while there is no connection. */
  retryAt = $state<number | null>(null);
  /** Grows with every connection: a page that shows something without a position reads it again. */
  generation = $state(0);

  #socket: WebSocket | null = null;
  #subscriptions = new Map<string, Subscription>();
  #delay = FIRST_DELAY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Hears everything about a topic until the returned function is called. */
  subscribe(topic: Topic, hear: (message: Message) => void): () => void {
    const key = keyOf(topic);
    if (this.#subscriptions.has(key)) throw new Error(`${key} is already subscribed`);
    this.#subscriptions.set(key, { topic: { ...topic }, hear });
    if (this.#socket?.readyState === WebSocket.OPEN) this.#ask('workflow:subscribe', topic, key);
    return () => {
      this.#subscriptions.delete(key);
      if (this.#socket?.readyState === WebSocket.OPEN) this.#ask('workflow:unsubscribe', { executionId: topic.executionId, projectId: topic.projectId });
    };
  }

  connect(): void {
    clearTimeout(this.#timer);
    this.retryAt = null;
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`, access.protocols);
    this.#socket = socket;
    socket.addEventListener('open', () => {
      this.#delay = FIRST_DELAY;
      this.state = 'online';
      this.generation += 1;
      for (const [key, { topic }] of this.#subscriptions) this.#ask('workflow:subscribe', topic, key);
    });
    socket.addEventListener('message', (event) => this.#hear(event));
    socket.addEventListener('close', () => {
      if (this.#socket === socket) this.#lost();
    });
  }

  /** Tries now instead of when the time has come. */
  hurry(): void {
    if (this.state === 'online' || this.#socket?.readyState === WebSocket.CONNECTING) return;
    this.#delay = FIRST_DELAY;
    this.connect();
  }

  /** Begins anew, as somebody else. */
  again(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.connect();
  }

  #lost(): void {
    this.state = 'offline';
    const wait = this.#delay * (0.75 + Math.random() / 2);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY);
    this.retryAt = Date.now() + wait;
    this.#timer = setTimeout(() => this.connect(), wait);
  }

  #ask(type: string, data: Topic, id?: string): void {
    this.#socket?.send(JSON.stringify({ type, id, data }));
  }

  #hear(event: MessageEvent): void {
    if (typeof event.data !== 'string') return;
    let message: Message;
    try {
      message = JSON.parse(event.data) as Message;
    } catch {
      return;
    }
    for (const [key, subscription] of this.#subscriptions) {
      // An error may name nothing but the request.
      if (message.id !== key && !isAbout(subscription.topic, message)) continue;
      const { topic } = subscription;
      if (topic.executionId && message.seq !== undefined && !message.ephemeral) {
        topic.after = Math.max(topic.after ?? 0, message.seq);
      }
      subscription.hear(message);
    }
  }
}

function isAbout(topic: Topic, message: Message): boolean {
  if (topic.projectId) return topic.projectId === message.project_id;
  return topic.executionId === message.execution_id && message.project_id === undefined;
}

function keyOf(topic: Topic): string {
  return topic.executionId ? `run ${topic.executionId}` : `project ${topic.projectId}`;
}

export const live = new Live();
