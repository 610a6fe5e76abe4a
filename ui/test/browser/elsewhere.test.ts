import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Proxy } from './proxy.ts';
import { WatchedPage } from './browser.ts';
import type { RunDocument } from './server.ts';
import { browser, project, server, setUp } from './setup.ts';

let proxy: Proxy;
let run: RunDocument;

setUp();
beforeAll(async () => {
  proxy = await Proxy.before(server.port);
  run = await project.start('slow');
});
afterAll(() => proxy?.close());

const token = async (name: string, scope: string) => (await project.agentos(['token', 'create', '--name', name, '--scope', scope])).trim().split(/\s+/).find((word) => word.startsWith('agentos_'))!;

describe('a user of another machine', () => {
  let remote: WatchedPage;
  beforeAll(async () => {
    remote = await WatchedPage.open(browser, proxy.url);
  });
  afterAll(async () => {
    // The browser reports what the server has refused.
    remote.forgive(/\b(401|403)\b|WebSocket connection/);
    remote.expectQuiet();
    await remote.close();
  });

  test('is asked for a token, sees nothing without one, and is told when it is wrong', async () => {
    const { page } = remote;
    await page.goto('/');
    const dialog = page.getByRole('dialog', { name: 'Who are you?' });
    await dialog.waitFor();
    await page.locator('button', { hasText: 'Give a token' }).waitFor({ state: 'attached' });
    expect(await page.getByText(run.run_id).count()).toBe(0);
    expect(await page.getByText('No connection to the server').count()).toBe(0);
    await remote.expectAccessible('token');
    await dialog.getByLabel('Token').fill('agentos_00000000_nonsense');
    await dialog.getByRole('button', { name: 'Go on' }).click();
    await dialog.getByText('The server does not take this token').waitFor();
    // A user who has closed it finds a way back to it.
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Give a token' }).click();
    await dialog.waitFor();
  });

  test('sees everything with a token, live, for as long as the tab is open', async () => {
    const { page } = remote;
    await page.getByLabel('Token').fill(await token('reader', 'read'));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: run.run_id }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: run.run_id }).waitFor();
    await page.goto(`/runs/${run.run_id}?tab=log`);
    await page.getByRole('log').getByText(/^tick \d+$/).first().waitFor();
    const other = await remote.context.newPage();
    await other.goto('/');
    await other.getByRole('dialog', { name: 'Who are you?' }).waitFor();
    await other.close();
  });

  test('may not do what the token is not for, and is told so', async () => {
    const { page } = remote;
    await page.getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel the run' }).click();
    await dialog.getByRole('alert').getByText(/scope|run/).waitFor();
    expect((await project.api<RunDocument>(`/api/executions/${run.id}`)).status).toBe('RUNNING');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('saves a log although a link can’t carry a token', async () => {
    const { page } = remote;
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download the log' }).click()]);
    expect(await download.failure()).toBeNull();
  });

  test('is asked again when the token is revoked', async () => {
    const { page } = remote;
    await project.agentos(['token', 'revoke', 'reader']);
    await page.goto('/');
    await page.getByText('The server does not take this token').waitFor();
    await page.getByLabel('Token').fill(await token('owner', 'run'));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: run.run_id }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
    await page.locator('header.head').getByText('Cancelled', { exact: true }).waitFor();
  });
});
