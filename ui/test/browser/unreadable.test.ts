import { beforeAll, expect, test } from 'vitest';
import type { RunDocument } from './server.ts';
import { project, setUp, watched } from './setup.ts';

let done: RunDocument;

setUp();
beforeAll(async () => {
  done = await project.start('broken');
  await project.waitFor(done, ({ status }) => status === 'FAILED');
});

/** Refuses requests, as a server does whose disk is broken. */
const broken = { status: 500, contentType: 'application/problem+json', body: JSON.stringify({ title: 'Internal', detail: 'The disk is broken.', hint: 'Run agentos doctor.' }) };
const EVENTS = '**/api/executions/*/events*';
const LOG = '**/api/executions/*/logs/download*';

test.each([
  { what: 'the server can’t read', answer: 'refused', said: 'The disk is broken. Run agentos doctor.' },
  { what: 'a connection that breaks takes away', answer: 'broken off', said: 'The server can’t be reached.' },
])('a log that $what is told of, with what is known without it', async ({ answer, said }) => {
  const { page } = watched;
  await page.route(EVENTS, (route) => (answer === 'refused' ? route.fulfill(broken) : route.abort('connectionreset')));
  await page.goto(`/runs/${done.run_id}?tab=entries`);
  const alert = page.locator('.left').getByRole('alert');
  await alert.getByText('The log can’t be read, so only the steps are shown').waitFor();
  await alert.getByText(said).waitFor();
  // The steps have documents of their own; operations are only in the log.
  const tree = page.getByRole('tree', { name: 'Steps' });
  await tree.getByRole('treeitem').filter({ hasText: 'compile' }).waitFor();
  expect(await tree.getByRole('treeitem').filter({ hasText: 'cargo build' }).count()).toBe(0);
  // Nothing says that it is still being loaded.
  await expect.poll(() => page.locator('[aria-busy="true"]').count()).toBe(0);
  const entries = page.getByRole('region', { name: 'Raw log' });
  await entries.getByRole('alert').getByText(said).waitFor();
  await watched.expectAccessible('unreadable');

  await page.unroute(EVENTS);
  await entries.getByRole('button', { name: 'Try again' }).click();
  await entries.getByText('run.started').waitFor();
  await tree.getByRole('treeitem').filter({ hasText: 'cargo build' }).first().waitFor();
  await alert.waitFor({ state: 'detached' });
});

test('the lines of a log that can’t be read are tried again when the user says so', async () => {
  const { page } = watched;
  await page.route(LOG, (route) => route.fulfill(broken));
  await page.goto(`/runs/${done.run_id}?tab=log`);
  const log = page.getByRole('region', { name: 'Log', exact: true });
  await log.getByRole('alert').getByText('The disk is broken. Run agentos doctor.').waitFor();
  await page.unroute(LOG);
  await log.getByRole('button', { name: 'Try again' }).click();
  await log.getByText('Compiling shop').first().waitFor();
  expect(await log.getByRole('alert').count()).toBe(0);
});

test('the page has reported no error but those', () => {
  watched.forgive(/status of 500|ERR_CONNECTION_RESET/);
  watched.expectQuiet();
});
