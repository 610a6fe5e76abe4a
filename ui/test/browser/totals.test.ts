import { beforeAll, expect, test } from 'vitest';
import { seen, setScene, stage } from './scene.ts';
import { until, type RunDocument } from './stage.ts';

let asking: RunDocument;
const HERE = { workspace: { kind: 'none' } };
/** More than fit on one page of anything. */
const MANY = 130;

setScene();
beforeAll(async () => {
  asking = await stage.start('feature', { title: 'Dark mode' });
  await stage.waitFor(asking, ({ waiting }) => waiting !== null);
  const failed = await stage.start('broken');
  await stage.agentos(['run', 'broken'], stage.worktree).catch(() => 'it fails, as it should');
  await stage.waitFor(failed, ({ status }) => status === 'FAILED');
  let last = asking;
  for (let time = 0; time < MANY; time++) last = await stage.start('steps', { steps: 1 }, HERE);
  await stage.waitFor(last, ({ status }) => status === 'COMPLETED');
  await stage.start('slow');
}, 240_000);

const value = (label: string) => seen.page.locator('.totals li').filter({ hasText: label }).locator('.value').first();
const says = (label: string, wanted: string) => until(`${label} is ${wanted}`, async () => ((await value(label).textContent())?.startsWith(wanted) ? true : null));

test('a question is counted and found, however many runs came after it', async () => {
  const { page } = seen;
  await page.goto('/');
  await says('Need you', '1');
  // What waits for somebody is not at work.
  await says('Running', '1+ 1 waiting');
  await says('Failed today', '2');
  await page.getByRole('navigation').getByTitle('1 need a person').waitFor();
  await page.getByRole('link', { name: /Need you/ }).click();
  await page.waitForURL(/status=waiting/);
  await page.getByRole('link', { name: asking.run_id }).waitFor();
  expect(await page.getByRole('row').count()).toBe(2);
  // It says what it is about, and what is asked, and what that has cost.
  const row = page.getByRole('row').filter({ hasText: asking.run_id });
  await row.getByText('Dark mode', { exact: true }).waitFor();
  await row.getByText('Open a pull request for “Dark mode”?').waitFor();
  await row.getByText('$0.27').waitFor();
  // Running is another matter: the filter is the server's, not a sieve over a page of the list.
  expect(await page.locator('.page-head .num').textContent()).toBe('1');
});

test('what was used is counted for today, and in all', async () => {
  const { page } = seen;
  await page.goto('/');
  await says('Tokens today', '80k');
  await says('Cost today', '$0.27');
  expect(await page.locator('.totals li').filter({ hasText: 'Cost' }).getAttribute('title')).toBe('$0.27 in all');
});

test('sums are those of the runs that the filters show, and lead to them', async () => {
  const { page } = seen;
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
  const query = new URL(page.url()).searchParams;
  expect([query.get('workflow'), query.get('status'), query.get('since')]).toEqual(['broken', 'failed', 'hour']);
  expect(query.get('worktree')).toBeTruthy();
  await until('one run is left', async () => ((await page.getByRole('row').count()) === 2 ? true : null));
});

test('they stay true while somebody looks', async () => {
  const { page } = seen;
  await page.goto('/');
  await says('Need you', '1');
  await stage.api(`/api/executions/${asking.id}/approve`, { approved: false });
  await says('Need you', '0');
  await says('Failed today', '3');
  seen.expectQuiet();
});
