import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PHONE, WatchedPage, WIDE } from './browser.ts';
import type { RunDocument } from './server.ts';
import { browser, project, server, setUp, showsStatus, watched } from './setup.ts';

setUp();

let run: RunDocument;
const tree = () => watched.page.getByRole('tree', { name: 'Steps' });
const step = (name: string) => tree().locator('.row.step').filter({ hasText: name });
/** The names of all rows but operations. */
const rows = () => tree().locator('.row:not(.operation) .name').allTextContents();
const facts = () => watched.page.locator('header.head .facts');

/** Builds other parts with the template of the workflow from now on. */
function rewrite(parts: string[]): void {
  const file = join(project.repository, '.agent/workflows/templates/changing.ts');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/const PARTS = .*;/, `const PARTS = ${JSON.stringify(parts)};`));
}

test('what another source does not ask for is shown behind the steps of the run, while it is looked at', async () => {
  const { page } = watched;
  run = await project.start('changing');
  await project.waitFor(run, ({ waiting }) => waiting !== null);
  await page.goto(`/runs/${run.run_id}`);
  await showsStatus('Waiting for go');
  await watched.settled();
  await expect.poll(rows).toEqual(['plan', 'build', 'implement api', 'implement docs']);

  rewrite(['api', 'ui']);
  await project.api(`/api/executions/${run.id}/resume`, { latest: true });
  await expect.poll(rows).toEqual(['plan', 'build', 'implement api', 'implement ui', 'Superseded', 'implement docs, superseded']);
  await page.getByText('4 steps + 1 superseded').waitFor();
  await showsStatus('Waiting for go');
  // What was done for it was paid for.
  await facts().getByText('$0.27 $0.02 of it superseded').waitFor();
  expect(await facts().getByText('inherited').count()).toBe(0);
});

test('it can be looked at with all that belongs to it, and is marked everywhere', async () => {
  const { page } = watched;
  await step('implement docs').click();
  const about = page.getByRole('region', { name: 'About implement docs' });
  await about.locator('.what').getByText('superseded').waitFor();
  await page.getByRole('tab', { name: 'Overview' }).click();
  await about.getByText('the run’s present source does not ask for it').waitFor();
  await page.getByRole('tab', { name: 'Agent' }).click();
  await about.locator('header').getByText('superseded').waitFor();
  await page.getByRole('tab', { name: 'Artifacts' }).click();
  await page.getByRole('button', { name: 'docs.md' }).waitFor();
  // Among those of the whole run it is the last.
  await page.getByRole('button', { name: 'Select the whole run' }).click();
  await page.getByRole('heading', { name: 'The whole run' }).waitFor();
  await page.getByRole('tab', { name: 'Artifacts' }).click();
  await page.getByText(/\d files? of superseded steps/).click();
  const superseded = page.locator('details.superseded');
  await superseded.getByRole('button', { name: 'docs.md' }).waitFor();
  expect(await superseded.getByRole('button', { name: 'api.md' }).count()).toBe(0);
  await page.getByRole('tab', { name: 'Comments' }).click();
  await page.getByRole('listitem').filter({ hasText: 'Built docs' }).getByText('superseded').waitFor();
  expect(await page.getByRole('listitem').filter({ hasText: 'Built api' }).getByText('superseded').count()).toBe(0);
  // A fork begins with what the present source asks for: the server refuses others.
  await page.getByRole('button', { name: 'Fork' }).click();
  const choices = page.getByRole('dialog').getByLabel('From step').locator('option');
  await expect.poll(() => choices.allTextContents()).toEqual(['1 plan', '2 implement api', '4 go', '5 implement ui']);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('a run tells what it has inherited from what it has paid for', async () => {
  const { page } = watched;
  await project.api(`/api/executions/${run.id}/signal`, { event: 'go' });
  await project.waitFor(run, ({ status }) => status === 'COMPLETED');
  const fork = await project.api<RunDocument>(`/api/executions/${run.id}/fork`, { fromStep: 5 });
  await project.waitFor(fork, ({ waiting }) => waiting !== null);
  await page.goto(`/runs/${fork.run_id}?tab=session`);
  await facts().getByText('$0.09 own').waitFor();
  await facts().getByText('+ $0.16 inherited').waitFor();
  await page.getByRole('group', { name: 'Session' }).getByRole('button', { name: 'plan' }).getByText('inherited').waitFor();
  expect(await page.getByRole('group', { name: 'Session' }).getByRole('button', { name: 'implement ui' }).getByText('inherited').count()).toBe(0);
  await page.getByRole('definition').filter({ hasText: '$0.04' }).waitFor();
  await page.getByText('Cost, inherited').waitFor();
  await project.api(`/api/executions/${fork.id}/signal`, { event: 'go' });
  await page.goto('/');
  // The list shows what each has paid for itself, and the sum counts each session once.
  await page.getByRole('row').filter({ hasText: fork.run_id }).getByText('$0.09').waitFor();
  await page.getByRole('row').filter({ hasText: run.run_id }).getByText('$0.27').waitFor();
  const cost = page.locator('.totals li').filter({ hasText: 'Cost' });
  await expect.poll(() => cost.locator('.value').textContent()).toMatch(/^\$0\.36/);
  expect(await cost.getAttribute('title')).toContain('each session counts once');
  watched.expectQuiet();
});

test.each([{ name: 'wide', viewport: WIDE }, { name: 'phone', viewport: PHONE }])('is accessible and has room on a $name screen', async ({ name, viewport }) => {
  const looked = await WatchedPage.open(browser, server.url, { viewport, reducedMotion: 'reduce' });
  const { page } = looked;
  const path = `/runs/${run.run_id}`;
  for (const [what, query] of Object.entries({ step: '?at=/~build%231@1/implement%20docs%231&tab=facts', comments: '?tab=comments', sessions: '?tab=session' })) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(path + query);
      await page.locator('.row.step').filter({ hasText: 'implement docs' }).waitFor();
      await looked.settled();
      await looked.expectAccessible(`${what} ${name} ${colorScheme}`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), what).toBeLessThanOrEqual(0);
    }
  }
  looked.expectQuiet();
  await looked.close();
});
