/**
 * What the tests of a file share: a stage with its server, a browser, and a page that is watched. There before the first
 * of them, and gone after the last.
 */

import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { launch, Watched } from './browser.ts';
import { Stage } from './stage.ts';

export let stage: Stage;
export let browser: Browser;
export let seen: Watched;

/** To be called once, at the top of a file. */
export function setScene(page: BrowserContextOptions = {}): void {
  beforeAll(async () => {
    stage = await Stage.set();
    await stage.serve();
    browser = await launch();
    seen = await Watched.open(browser, stage.url, page);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.strike();
  });
}

/** The run that is looked at stands like this. */
export function stands(how: string): Promise<void> {
  return seen.page.locator('header').getByText(how, { exact: true }).waitFor();
}
