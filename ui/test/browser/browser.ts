/**
 * The system's Chromium, and pages that notice what must not happen: an error on the console, a policy that was broken,
 * a request that leaves the server.
 */

import { readFileSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { expect } from 'vitest';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
const axe = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

export const WIDE = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: FLAGS });
}

export class Watched {
  readonly troubles: string[] = [];
  /** While the server is away, failed requests are no news. */
  mayBeOffline = false;

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    readonly origin: string,
  ) {}

  static async open(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Watched> {
    const context = await browser.newContext({ viewport: WIDE, baseURL: origin, acceptDownloads: true, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    const watched = new Watched(context, page, origin);
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
      const url = new URL(request.url());
      if (!['data:', 'blob:'].includes(url.protocol) && url.host !== new URL(origin).host) watched.troubles.push(`request to ${url.href}`);
    });
    return watched;
  }

  /** Nothing has happened that must not. */
  expectQuiet(): void {
    expect(this.troubles).toEqual([]);
  }

  /** axe finds nothing serious on the page as it is. */
  async expectAccessible(what: string): Promise<void> {
    // It is put in by the browser's own door, which the page's policy does not guard.
    await this.page.evaluate(axe);
    const violations = await this.page.evaluate(async () => {
      type Found = { violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[] };
      const { axe } = globalThis as unknown as { axe: { run: (where: Document) => Promise<Found> } };
      return (await axe.run(document)).violations;
    });
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    expect(serious.map(({ id, nodes }) => `${what}: ${id}: ${nodes[0]?.target.join(' ')} ${nodes[0]?.failureSummary}`)).toEqual([]);
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}
