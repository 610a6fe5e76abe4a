import { beforeAll, expect, test } from 'vitest';
import type { RunDocument } from './server.ts';
import { project, setUp, watched } from './setup.ts';

let asking: RunDocument;
/** More than the page reads at once of anything. */
const MANY = 110;

/** It is about noon there: what has failed today has not failed yesterday when the test ends. */
function zoneAtNoon(): string {
  const hours = 12 - new Date().getUTCHours();
  // In these names the sign is that of the way back to Greenwich.
  return `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`;
}

setUp({ page: { timezoneId: zoneAtNoon() } });
beforeAll(async () => {
  asking = await project.start('feature', { title: 'Dark mode' });
  await project.waitFor(asking, ({ waiting }) => waiting !== null);
  const failed = await project.start('broken');
  await project.agentos(['run', 'broken'], project.worktree).catch(() => 'it fails, which is its purpose');
  await project.waitFor(failed, ({ status }) => status === 'FAILED');
  await project.completeShort(MANY, 1);
  await project.start('slow');
});

const value = (label: string) => watched.page.locator('.totals li').filter({ hasText: label }).locator('.value').first();
const says = (label: string, wanted: string) => expect.poll(() => value(label).textContent(), { message: label }).toMatch(new RegExp(`^${wanted.replace(/[+$.]/g, '\\$&')}`));

test('a question is counted and found, however many runs came after it', async () => {
  const { page } = watched;
  await page.goto('/');
  await says('Need you', '1');
  // A run that waits for an answer is not counted as running.
  await says('Running', '1+ 1 waiting');
  await says('Failed today', '2');
  await page.getByRole('navigation').getByTitle('1 need a person').waitFor();
  await page.getByRole('link', { name: /Need you/ }).click();
  await page.waitForURL(/status=waiting/);
  await page.getByRole('link', { name: asking.run_id }).waitFor();
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  // The row says what the run is about, what it asks, and what it has cost.
  const row = page.getByRole('row').filter({ hasText: asking.run_id });
  await row.getByText('Dark mode', { exact: true }).waitFor();
  await row.getByText('Open a pull request for “Dark mode”?').waitFor();
  await row.getByText('$0.27').waitFor();
  // The server filters all runs, not the page those that it has read.
  await expect.poll(() => page.locator('.page-head .num').textContent()).toBe('1');
});

test('what was used is counted for today, and in all', async () => {
  const { page } = watched;
  await page.goto('/');
  await says('Tokens today', '80k');
  await says('Cost today', '$0.27');
  await expect.poll(() => page.locator('.totals li').filter({ hasText: 'Cost' }).getAttribute('title')).toBe('$0.27 in all; each session counts once, for the run that paid for it');
});

test('sums are those of the runs that the filters show, and lead to them', async () => {
  const { page } = watched;
  await page.goto('/');
  await page.getByLabel('Workflow').selectOption({ label: 'broken' });
  await says('Failed today', '2');
  await says('Need you', '0');
  await says('Tokens today', '0');
  await page.getByLabel('Worktree').selectOption({ label: 'shop-hotfix' });
  await says('Failed today', '1');
  await page.getByLabel('Time').selectOption({ label: 'Last hour' });
  await says('Failed in an hour', '1');
  await page.getByRole('link', { name: /Failed in an hour/ }).click();
  await page.waitForURL(/status=failed/);
  const query = new URL(page.url()).searchParams;
  expect([query.get('workflow'), query.get('status'), query.get('since')]).toEqual(['broken', 'failed', 'hour']);
  expect(query.get('worktree')).toBeTruthy();
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
});

test('they change while the page is open', async () => {
  const { page } = watched;
  await page.goto('/');
  await says('Need you', '1');
  await project.api(`/api/executions/${asking.id}/approve`, { approved: false });
  await says('Need you', '0');
  await says('Failed today', '3');
  watched.expectQuiet();
});
