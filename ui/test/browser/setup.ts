/** What the tests of a file use: a project on the server, a browser, and a page that is watched. */

import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, inject } from 'vitest';
import { connect, WatchedPage } from './browser.ts';
import { TestProject, TestServer } from './server.ts';

export let server: TestServer;
export let project: TestProject;
export let browser: Browser;
export let watched: WatchedPage;

interface Options {
  /** How the page is opened. */
  page?: BrowserContextOptions;
  project?: Parameters<typeof TestProject.create>[1];
  /** For tests that stop the server: a process of the file's own, which no other file uses. */
  ownServer?: boolean;
}

/** To be called once, at the top of a file. */
export function setUp(options: Options = {}): void {
  beforeAll(async () => {
    server = options.ownServer ? await TestServer.create() : TestServer.at(inject('server'));
    // Also if the file before this one has failed half-way.
    if (!options.ownServer) await server.clear();
    project = await TestProject.create(server, options.project);
    browser = await connect(inject('browser'));
    watched = await WatchedPage.open(browser, server.url, options.page);
  });
  afterAll(async () => {
    await browser?.close();
    await (options.ownServer ? server?.remove() : server?.clear());
  });
}

/** Waits until the run that is shown has this status. */
export function showsStatus(status: string): Promise<void> {
  // The run's own header: that of an agent's session has a status, too.
  return watched.page.locator('header.head').getByText(status, { exact: true }).waitFor();
}
