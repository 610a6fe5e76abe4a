import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pressSequence, WatchedPage } from './browser.ts';
import { until, type RunDocument } from './server.ts';
import { browser, project, server, setUp, showsStatus, watched } from './setup.ts';

// These tests kill the server.
setUp({ ownServer: true, page: { viewport: { width: 1440, height: 520 } } });

/** Records what the page has told the desktop, which there is none of here, in a subclass of the browser's own class. */
const RECORD = `{
  const Real = window.Notification;
  window.told = [];
  window.Notification = class extends Real {
    constructor(title, options) {
      super(title, options);
      window.told.push({ title, body: options.body, note: this });
    }
  };
}`;

describe('a user who looks at another window', () => {
  let away: WatchedPage;
  const told = () => away.page.evaluate(() => (window as unknown as { told: { title: string }[] }).told.map(({ title }) => title));
  const reason = (title: string) => away.page.evaluate((title) => (window as unknown as { told: { title: string; body: string }[] }).told.find((one) => one.title === title)?.body, title);
  const isTold = (title: string) => expect.poll(told).toContain(title);

  beforeAll(async () => {
    away = await WatchedPage.open(browser, server.url, { permissions: ['notifications'] });
    await away.page.addInitScript(RECORD);
    await away.page.goto('/');
    // A run counts as new only to a page that was there before it.
    await away.settled();
  });
  afterAll(async () => {
    away.expectQuiet();
    await away.close();
  });

  /** A browser without a screen never hides a page: the page is told that it is hidden, or shown again. */
  function look(here: boolean): Promise<void> {
    return away.page.evaluate((state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
      document.dispatchEvent(new Event('visibilitychange'));
    }, here ? 'visible' : 'hidden');
  }

  test('is told of nothing without having asked for it', async () => {
    await look(false);
    const run = await project.start('feature', { title: 'Unasked' });
    await away.page.getByRole('row').filter({ hasText: run.run_id }).getByText('Needs you').waitFor();
    // The number is shown when the page has looked for something to tell.
    await away.page.getByRole('navigation').getByTitle('1 need a person').waitFor();
    expect(await told()).toEqual([]);
    await look(true);
  });

  test('is told when a run needs a person, and when one ends, and is brought to it', async () => {
    const { page } = away;
    await page.getByRole('button', { name: 'Notify me when a run needs me or ends' }).click();
    await page.getByText('You are told when a run needs you or ends').waitFor();
    await look(false);
    const asking = await project.start('feature', { title: 'Dark mode' });
    await isTold(`${asking.run_id}: Needs you`);
    expect(await reason(`${asking.run_id}: Needs you`)).toBe('Open a pull request for “Dark mode”?');
    const failing = await project.start('broken');
    await isTold(`${failing.run_id}: Failed`);
    expect(await reason(`${failing.run_id}: Failed`)).toBe('exit 101: error[E0308]: mismatched types');
    // Each is told once.
    expect(await told()).toHaveLength(2);
    await page.evaluate(() => (window as unknown as { told: { note: Notification }[] }).told[0]!.note.dispatchEvent(new Event('click')));
    await page.waitForURL(new RegExp(asking.run_id));
    await look(true);
  });

  test('is told of nothing while the page is looked at, and the choice is remembered', async () => {
    const { page } = away;
    await page.goto('/');
    await away.settled();
    await page.getByRole('button', { name: 'Notify me when a run needs me or ends', pressed: true }).waitFor();
    const run = await project.start('broken');
    await page.getByRole('row').filter({ hasText: run.run_id }).getByText('Failed', { exact: true }).waitFor();
    await away.settled();
    // What is told now comes after what the page may have told before.
    await look(false);
    const next = await project.start('broken');
    await isTold(`${next.run_id}: Failed`);
    expect(await told()).toEqual([`${next.run_id}: Failed`]);
    await look(true);
  });

  test('is told why not where the browser does not allow it', async () => {
    const refused = await WatchedPage.open(browser, server.url);
    await refused.page.addInitScript('Notification.requestPermission = () => Promise.resolve("denied")');
    await refused.page.goto('/');
    await refused.page.getByRole('button', { name: 'Notify me when a run needs me or ends' }).click();
    await refused.page.getByText('The browser does not allow this page to notify you').waitFor();
    await refused.close();
  });
});

describe('a server that goes away', () => {
  let runs: RunDocument[];

  beforeAll(async () => {
    runs = await project.completeShort(16, 4);
    watched.mayBeOffline = true;
  });

  test('leaves the list where it is: scrolled, selected, filtered', async () => {
    const { page } = watched;
    await page.goto(`/?q=steps`);
    const row = page.getByRole('row').filter({ hasText: runs[4]!.run_id });
    await page.getByLabel(`Select ${runs[4]!.run_id}`).check();
    await page.getByLabel(`Select ${runs[5]!.run_id}`).check();
    await page.getByRole('toolbar').getByText('2 runs').waitFor();
    await watched.settled();
    const height = () => page.locator('main').evaluate((main) => main.scrollTop);
    const before = await height();
    expect(before).toBeGreaterThan(50);
    await server.stop('SIGKILL');
    await page.getByText('No connection to the server').waitFor();
    await row.waitFor();
    await page.getByRole('toolbar').getByText('2 runs').waitFor();
    // An attempt to do something meanwhile fails with a message, and what is shown stays.
    await pressSequence(page, 'g', 's');
    await page.getByText('The server can’t be reached.').waitFor();
    await page.goBack();
    await row.waitFor();
    await server.start();
    // The page also tries by itself: the button may be gone before it is pressed.
    const isLive = page.getByText('Live', { exact: true });
    await until('the page is connected', async () => {
      if (await isLive.isVisible()) return true;
      await page.getByRole('button', { name: 'Try now' }).click({ timeout: 1000 }).catch(() => null);
      return null;
    });
    await page.getByText('No connection to the server').waitFor({ state: 'detached' });
    expect(page.url()).toContain('q=steps');
    await row.waitFor();
    await expect.poll(async () => Math.abs((await height()) - before)).toBeLessThan(60);
    const added = await project.startShort(4);
    await page.getByRole('row').filter({ hasText: added.run_id }).waitFor();
  });

  test('leaves a run where it is: the row, the tab, the place in the log', async () => {
    const { page } = watched;
    const run = await project.start('slow', { lines: 100 });
    await page.goto(`/runs/${run.run_id}?tab=log`);
    await page.getByRole('treeitem').filter({ hasText: 'ticking' }).click();
    await page.waitForURL(/at=/);
    const log = page.getByRole('log');
    const lines = async () => Number(/([\d,]+) lines/.exec((await page.locator('[aria-label="Log"] .foot').textContent({ timeout: 1000 }).catch(() => '')) ?? '')?.[1]?.replace(',', '') ?? 0);
    await expect.poll(lines).toBeGreaterThan(100);
    // Lines that come in the same moment may take the log to its end once more.
    await until('the log does not follow any more', async () => {
      await log.evaluate((view) => (view.scrollTop = 200));
      return (await page.getByRole('button', { name: 'Follow' }).getAttribute('aria-pressed')) === 'false' ? true : null;
    });
    const height = () => log.evaluate((view) => view.scrollTop);
    await expect.poll(height).toBe(200);
    const address = page.url();
    await server.stop('SIGKILL');
    await page.getByText('No connection to the server').waitFor();
    await page.getByRole('treeitem', { selected: true }).filter({ hasText: 'ticking' }).waitFor();
    // What the user asks for now is not sent later, and the page says that.
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
    await page.getByRole('dialog').getByText('This is not sent again by itself').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await server.start();
    await page.getByText('Live', { exact: true }).waitFor();
    // The run goes on, and so does what is shown of it.
    const before = await lines();
    await expect.poll(lines).toBeGreaterThan(before);
    expect(page.url()).toBe(address);
    expect(await height()).toBe(200);
    await page.getByRole('treeitem', { selected: true }).filter({ hasText: 'ticking' }).waitFor();
    await project.api(`/api/executions/${run.id}/cancel`, {});
    await showsStatus('Cancelled');
  });

  test('is no error on the page', () => {
    watched.expectQuiet();
  });
});
