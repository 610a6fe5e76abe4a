import type { Route } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { pressSequence } from './browser.ts';
import { until, type RunDocument } from './server.ts';
import { project, setUp, watched } from './setup.ts';

let done: RunDocument;

setUp();
beforeAll(async () => {
  done = await project.start('feature', { title: 'Dark mode', gate: false });
  await project.waitFor(done, ({ status }) => status === 'COMPLETED');
});

/** Keeps requests waiting until `answer` is called. */
async function held(url: string): Promise<{ isAsked: () => Promise<true>; answer: (how: (route: Route) => Promise<void>) => Promise<void> }> {
  const waiting: Route[] = [];
  await watched.page.route(url, (route) => void waiting.push(route));
  return {
    isAsked: () => until(`${url} is asked for`, () => Promise.resolve(waiting.length > 0 ? true : null)),
    answer: async (how) => {
      await watched.page.unroute(url);
      // The page may not wait for it any more.
      await Promise.all(waiting.map((route) => how(route).catch(() => null)));
      await watched.settled();
    },
  };
}
const goOn = (route: Route) => route.continue();
const refuse = (status: number) => (route: Route) => route.fulfill({ status, contentType: 'application/problem+json', body: JSON.stringify({ title: 'No', detail: 'It is refused.' }) });

/** Leaves the page by the keyboard for one with another address and another query. */
async function leave(): Promise<void> {
  await pressSequence(watched.page, 'g', 's');
  await watched.page.getByRole('heading', { name: 'Workspaces' }).waitFor();
}

/** The page has read nothing of what was left: the framework warns of that. */
function expectQuiet(): void {
  // The browser reports what the server has refused.
  watched.forgive(/the server responded with a status of (409|422)/);
  watched.expectQuiet();
}

describe('a page that is left', () => {
  test('while a file is read', async () => {
    const { page } = watched;
    for (const name of ['report.md', 'result.json']) {
      await page.goto(`/runs/${done.run_id}?tab=artifacts`);
      const request = await held('**/api/artifacts/*/download');
      await page.getByRole('button', { name }).click();
      await request.isAsked();
      await leave();
      await request.answer(goOn);
      expectQuiet();
    }
  });

  test('while Markdown is rendered', async () => {
    const { page } = watched;
    await page.goto('/workspaces');
    await watched.settled();
    const request = await held('**/assets/marked*.js');
    await page.goto(`/runs/${done.run_id}?tab=comments`);
    await page.getByText('One question').waitFor();
    await request.isAsked();
    await leave();
    await request.answer(goOn);
    expectQuiet();
  });

  test('while files are compared', async () => {
    const { page } = watched;
    const request = await held('**/api/executions/*/diff*');
    await page.goto(`/runs/${done.run_id}?tab=diff`);
    await request.isAsked();
    await leave();
    await request.answer(refuse(409));
    expectQuiet();
  });

  test('while runs are cancelled', async () => {
    const { page } = watched;
    const slow = await project.start('slow');
    await page.goto('/?workflow=slow');
    await page.getByLabel(`Select ${slow.run_id}`).check();
    const request = await held('**/api/executions/*/cancel');
    await page.getByRole('toolbar').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click();
    await request.isAsked();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await leave();
    await request.answer(goOn);
    await page.getByText('Cancel: 1 run').waitFor();
    await watched.settled();
    expectQuiet();
  });

  test('while a run is started, which is refused', async () => {
    const { page } = watched;
    await page.goto('/start/feature');
    await page.getByLabel('Title').fill('Dark mode');
    const request = await held('**/api/workflows/*/execute');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await request.isAsked();
    await page.getByRole('link', { name: 'Workspaces' }).click();
    await page.getByRole('heading', { name: 'Workspaces' }).waitFor();
    await request.answer(refuse(422));
    expectQuiet();
  });

  test('by pressing a link while the keyboard is in a field', async () => {
    const { page } = watched;
    await page.goto('/start/feature');
    await page.getByLabel('Title').fill('ab');
    await page.getByRole('link', { name: 'Workspaces' }).click();
    await page.getByRole('heading', { name: 'Workspaces' }).waitFor();
    await watched.settled();
    expectQuiet();
  });

  test('while something is typed that would be searched for', async () => {
    const { page } = watched;
    // Its clock stands still: what was typed is searched for only if the page was not left before.
    await page.clock.install();
    await page.goto('/');
    await page.getByLabel('Search runs').fill('slow');
    await page.getByRole('link', { name: 'Workspaces' }).click();
    await page.getByRole('heading', { name: 'Workspaces' }).waitFor();
    await page.clock.runFor(1000);
    await watched.settled();
    expect(new URL(page.url()).search).toBe('');
    expectQuiet();
  });
});
