/**
 * The system's Chromium, and pages that record what must not happen: an error on the console, a broken policy, a request
 * to another server.
 */

import { readFileSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type BrowserServer, type Page, type Request } from 'playwright-core';
import { expect } from 'vitest';
import { until } from './server.ts';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
/** Only a test that fails waits as long as that: it is no measure of speed. */
const WAIT_MS = 90_000;

export const WIDE = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** Starts the browser for all test files: they connect to its address. */
export function launchServer(): Promise<BrowserServer> {
  return chromium.launchServer({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: FLAGS });
}

export function connect(address: string): Promise<Browser> {
  return chromium.connect(address);
}

/** Reads a file of the package only when a test needs it. */
let axe: string | undefined;

export class WatchedPage {
  readonly troubles: string[] = [];
  /** While the server is stopped, failed requests are expected. */
  mayBeOffline = false;
  /** Requests without an answer, and how many there were so far. */
  readonly #pending = new Set<Request>();
  #requests = 0;

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    readonly origin: string,
  ) {}

  static async open(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const context = await browser.newContext({ viewport: WIDE, baseURL: origin, acceptDownloads: true, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const watched = new WatchedPage(context, page, origin);
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      if (watched.mayBeOffline && /ERR_CONNECTION|WebSocket|ERR_EMPTY|ERR_SOCKET/.test(message.text())) return;
      watched.troubles.push(`console: ${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => watched.troubles.push(`error: ${error.stack ?? error.message}`));
    page.on('dialog', (dialog) => {
      watched.troubles.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      watched.#requests += 1;
      watched.#pending.add(request);
      const url = new URL(request.url());
      if (!['data:', 'blob:'].includes(url.protocol) && url.host !== new URL(origin).host) watched.troubles.push(`request to ${url.href}`);
    });
    page.on('requestfinished', (request) => watched.#pending.delete(request));
    page.on('requestfailed', (request) => watched.#pending.delete(request));
    return watched;
  }

  /**
   * Waits until the page has drawn everything that it has asked for: it has its live connection, no request is on its way,
   * nothing says that it is being loaded, and the frames drawn since then have asked for nothing more.
   */
  async settled(): Promise<void> {
    await this.page.locator('.link.online').waitFor({ state: 'attached' });
    await until('the page asks for nothing more', async () => {
      const before = this.#requests;
      const isLoading = await this.page.evaluate(async () => {
        const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
        await document.fonts.ready;
        for (let time = 0; time < 3; time++) await frame();
        return document.querySelector('[aria-busy="true"]') !== null;
      });
      return !isLoading && this.#pending.size === 0 && this.#requests === before ? true : null;
    });
  }

  /** Takes back what the browser reports about something that a test has done on purpose. */
  forgive(pattern: RegExp): void {
    this.troubles.splice(0, this.troubles.length, ...this.troubles.filter((trouble) => !pattern.test(trouble)));
  }

  /** Nothing has happened that must not. */
  expectQuiet(): void {
    expect(this.troubles).toEqual([]);
  }

  /** axe finds nothing serious on the page as it is: by all of its rules, or by some. */
  async expectAccessible(what: string, rules?: string[]): Promise<void> {
    // The page's policy would refuse a script; what the browser evaluates is not subject to it.
    axe ??= readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
    await this.page.evaluate(axe);
    const violations = await this.page.evaluate(async (rules) => {
      type Found = { violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[] };
      const { axe } = globalThis as unknown as { axe: { run: (where: Document, options: object) => Promise<Found> } };
      return (await axe.run(document, { resultTypes: ['violations'], preload: false, ...(rules ? { runOnly: rules } : {}) })).violations;
    }, rules);
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    expect(serious.map(({ id, nodes }) => `${what}: ${id}: ${nodes[0]?.target.join(' ')} ${nodes[0]?.failureSummary}`)).toEqual([]);
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

/** Presses the keys of a sequence such as `g r`. They are sent without waiting in between: the page gives up after a while. */
export async function pressSequence(page: Page, ...keys: string[]): Promise<void> {
  await Promise.all(keys.map((key) => page.keyboard.press(key)));
}
