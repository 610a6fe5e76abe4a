import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, Watched } from './browser.ts';
import { NAME, Proxy } from './proxy.ts';
import { Stage, type RunDocument } from './stage.ts';

let stage: Stage;
let browser: Browser;
let proxy: Proxy;
let run: RunDocument;

beforeAll(async () => {
  stage = await Stage.set();
  stage.configure(`[server]\nhosts = ["${NAME}"]\n`);
  await stage.serve();
  browser = await launch();
  proxy = await Proxy.before(stage.port);
  run = await stage.start('slow');
});
afterAll(async () => {
  await browser?.close();
  proxy?.close();
  await stage?.strike();
});

const token = async (name: string, scope: string) => (await stage.agentos(['token', 'create', '--name', name, '--scope', scope])).trim().split(/\s+/).find((word) => word.startsWith('agentos_'))!;

/** What is refused is told on the console, by the browser itself. */
function forgive(seen: Watched): void {
  seen.troubles.splice(0, seen.troubles.length, ...seen.troubles.filter((trouble) => !/\b(401|403)\b|WebSocket connection/.test(trouble)));
}

describe('somebody from another machine', () => {
  let seen: Watched;
  beforeAll(async () => {
    seen = await Watched.open(browser, proxy.url);
  });
  afterAll(async () => {
    forgive(seen);
    seen.expectQuiet();
    await seen.close();
  });

  test('is asked for a token, sees nothing without one, and is told when it is wrong', async () => {
    const { page } = seen;
    await page.goto('/');
    const dialog = page.getByRole('dialog', { name: 'Who are you?' });
    await dialog.waitFor();
    expect(await page.getByText(run.run_id).count()).toBe(0);
    expect(await page.getByText('No connection to the server').count()).toBe(0);
    await seen.expectAccessible('token');
    await dialog.getByLabel('Token').fill('agentos_00000000_nonsense');
    await dialog.getByRole('button', { name: 'Go on' }).click();
    await dialog.getByText('The server does not take this token').waitFor();
    // Whoever closes it finds a way back to it.
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Give a token' }).click();
    await dialog.waitFor();
  });

  test('sees everything with a token, live, for as long as the tab is open', async () => {
    const { page } = seen;
    await page.getByLabel('Token').fill(await token('reader', 'read'));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: run.run_id }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: run.run_id }).waitFor();
    await page.goto(`/runs/${run.run_id}?tab=log`);
    await page.getByRole('log').getByText('tick 3', { exact: true }).waitFor();
    const other = await seen.context.newPage();
    await other.goto('/');
    await other.getByRole('dialog', { name: 'Who are you?' }).waitFor();
    await other.close();
  });

  test('may not do what the token is not for, and is told so', async () => {
    const { page } = seen;
    await page.getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel the run' }).click();
    await dialog.getByRole('alert').getByText(/scope|run/).waitFor();
    expect((await stage.api<RunDocument>(`/api/executions/${run.id}`)).status).toBe('RUNNING');
    await page.keyboard.press('Escape');
  });

  test('saves a log although a link can’t carry a token', async () => {
    const { page } = seen;
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download the log' }).click()]);
    expect(await download.failure()).toBeNull();
  });

  test('is asked again when the token is revoked', async () => {
    const { page } = seen;
    await stage.agentos(['token', 'revoke', 'reader']);
    await page.goto('/');
    await page.getByText('The server does not take this token').waitFor();
    await page.getByLabel('Token').fill(await token('owner', 'run'));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: run.run_id }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
    await page.locator('header').getByText('Cancelled', { exact: true }).waitFor();
  });
});
