import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, Watched } from './browser.ts';
import { Stage, until, type RunDocument } from './stage.ts';

let stage: Stage;
let browser: Browser;

beforeAll(async () => {
  stage = await Stage.set();
  await stage.serve();
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  await stage?.strike();
});

/** What the page has told the desktop, which has none here: the browser's own class, with a memory. */
const REMEMBER = `{
  const Real = window.Notification;
  window.told = [];
  window.Notification = class extends Real {
    constructor(title, options) {
      super(title, options);
      window.told.push({ title, body: options.body, note: this });
    }
  };
}`;

describe('somebody who looks elsewhere', () => {
  let seen: Watched;
  const told = () => seen.page.evaluate(() => (window as unknown as { told: { title: string }[] }).told.map(({ title }) => title));
  const reason = (title: string) => seen.page.evaluate((title) => (window as unknown as { told: { title: string; body: string }[] }).told.find((one) => one.title === title)?.body, title);
  const hears = (title: string) => until(`${title} is told`, async () => ((await told()).includes(title) ? true : null));

  beforeAll(async () => {
    seen = await Watched.open(browser, stage.url, { permissions: ['notifications'] });
    await seen.page.addInitScript(REMEMBER);
    await seen.page.goto('/');
  });
  afterAll(async () => {
    seen.expectQuiet();
    await seen.close();
  });

  /** A browser without a screen never hides a page: it is told that somebody looks elsewhere, or here again. */
  function look(here: boolean): Promise<void> {
    return seen.page.evaluate((state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
      document.dispatchEvent(new Event('visibilitychange'));
    }, here ? 'visible' : 'hidden');
  }

  test('is told of nothing that was not asked for', async () => {
    await look(false);
    const run = await stage.start('feature', { title: 'Unasked' });
    await stage.waitFor(run, ({ waiting }) => waiting !== null);
    await seen.page.getByRole('row').filter({ hasText: run.run_id }).getByText('Needs you').waitFor();
    expect(await told()).toEqual([]);
    await look(true);
  });

  test('is told when a run needs a person, and when one ends, and is brought to it', async () => {
    const { page } = seen;
    await page.getByRole('button', { name: 'Notify me when a run needs me or ends' }).click();
    await page.getByText('You are told when a run needs you or ends').waitFor();
    await look(false);
    const asking = await stage.start('feature', { title: 'Dark mode' });
    await hears(`${asking.run_id}: Needs you`);
    expect(await reason(`${asking.run_id}: Needs you`)).toBe('Open a pull request for “Dark mode”?');
    const failing = await stage.start('broken');
    await hears(`${failing.run_id}: Failed`);
    expect(await reason(`${failing.run_id}: Failed`)).toBe('exit 101: error[E0308]: mismatched types');
    // Each is told once.
    expect(await told()).toHaveLength(2);
    await page.evaluate(() => (window as unknown as { told: { note: Notification }[] }).told[0]!.note.dispatchEvent(new Event('click')));
    await page.waitForURL(new RegExp(asking.run_id));
    await look(true);
  });

  test('is told of nothing while the page is looked at, and the wish is remembered', async () => {
    const { page } = seen;
    await page.goto('/');
    const bell = page.getByRole('button', { name: 'Notify me when a run needs me or ends' });
    expect(await bell.getAttribute('aria-pressed')).toBe('true');
    const run = await stage.start('broken');
    await stage.waitFor(run, ({ status }) => status === 'FAILED');
    await page.getByRole('row').filter({ hasText: run.run_id }).getByText('Failed').waitFor();
    expect(await told()).toEqual([]);
  });

  test('is told why not where the browser does not allow it', async () => {
    const refused = await Watched.open(browser, stage.url);
    await refused.page.addInitScript('Notification.requestPermission = () => Promise.resolve("denied")');
    await refused.page.goto('/');
    await refused.page.getByRole('button', { name: 'Notify me when a run needs me or ends' }).click();
    await refused.page.getByText('The browser does not allow this page to notify you').waitFor();
    await refused.close();
  });
});

describe('a server that goes away', () => {
  let seen: Watched;
  let runs: RunDocument[];

  beforeAll(async () => {
    runs = [];
    for (let time = 0; time < 16; time++) runs.push(await stage.start('steps', { steps: 4 }, { workspace: { kind: 'none' } }));
    for (const run of runs) await stage.waitFor(run, ({ status }) => status === 'COMPLETED');
    seen = await Watched.open(browser, stage.url, { viewport: { width: 1440, height: 520 } });
    seen.mayBeOffline = true;
  }, 120_000);
  afterAll(async () => {
    seen.expectQuiet();
    await seen.close();
  });

  test('leaves the list where it is: scrolled, selected, filtered', async () => {
    const { page } = seen;
    await page.goto(`/?q=steps`);
    const row = page.getByRole('row').filter({ hasText: runs[4]!.run_id });
    await page.getByLabel(`Select ${runs[4]!.run_id}`).check();
    await page.getByLabel(`Select ${runs[5]!.run_id}`).check();
    const height = () => page.locator('main').evaluate((main) => main.scrollTop);
    const before = await height();
    expect(before).toBeGreaterThan(50);
    await stage.halt('SIGKILL');
    await page.getByText('No connection to the server').waitFor();
    await row.waitFor();
    await page.getByRole('toolbar').getByText('2 runs').waitFor();
    // What is done meanwhile fails in words, and what is shown stays.
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByText('The server can’t be reached.').waitFor();
    await page.goBack();
    await row.waitFor();
    await stage.serve();
    await page.getByRole('button', { name: 'Try now' }).click({ timeout: 3000 }).catch(() => 'it has tried by itself');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByText('No connection to the server').waitFor({ state: 'detached' });
    expect(page.url()).toContain('q=steps');
    await row.waitFor();
    expect(Math.abs((await height()) - before)).toBeLessThan(60);
    const added = await stage.start('steps', { steps: 4 }, { workspace: { kind: 'none' } });
    await page.getByRole('row').filter({ hasText: added.run_id }).waitFor();
  });

  test('leaves a run where it is: the row, the tab, the place in the log', async () => {
    const { page } = seen;
    const run = await stage.start('slow');
    await page.goto(`/runs/${run.run_id}?tab=log`);
    await page.getByRole('log').getByText('tick 60', { exact: true }).waitFor();
    await page.getByRole('treeitem').filter({ hasText: 'ticking' }).click();
    const log = page.getByRole('log');
    const lines = async () => Number(/([\d,]+) lines/.exec((await page.locator('[aria-label="Log"] .foot').textContent().catch(() => '')) ?? '')?.[1]?.replace(',', '') ?? 0);
    await until('the log of the row is read', async () => ((await lines()) > 60 ? true : null));
    await log.evaluate((view) => (view.scrollTop = 200));
    await until('it does not follow any more', async () => ((await page.getByRole('button', { name: 'Follow' }).getAttribute('aria-pressed')) === 'false' ? true : null));
    const [address, height] = [page.url(), await log.evaluate((view) => view.scrollTop)];
    await stage.halt('SIGKILL');
    await page.getByText('No connection to the server').waitFor();
    // What is to be done now is not done later by itself, and that is said.
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
    await page.getByRole('dialog').getByText('This is not sent again by itself').waitFor();
    await page.keyboard.press('Escape');
    await stage.serve();
    await page.getByText('Live', { exact: true }).waitFor();
    const before = await lines();
    await until('more lines come', async () => ((await lines()) > before ? true : null));
    expect(page.url()).toBe(address);
    expect(await log.evaluate((view) => view.scrollTop)).toBe(height);
    expect(await page.getByRole('treeitem', { selected: true }).textContent()).toContain('ticking');
    await stage.api(`/api/executions/${run.id}/cancel`, {});
  });
});
