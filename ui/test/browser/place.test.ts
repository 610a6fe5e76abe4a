import type { Request } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { PHONE, pressSequence, WatchedPage } from './browser.ts';
import type { RunDocument } from './server.ts';
import { browser, project, server, setUp, showsStatus, watched } from './setup.ts';

/** In the order of the list, but oldest first. */
let runs: RunDocument[];

setUp({ page: { viewport: { width: 1440, height: 600 } } });
beforeAll(async () => {
  runs = await project.completeShort(24, 4);
});

const height = () => watched.page.locator('main').evaluate((main) => main.scrollTop);
/** The name or the text of the element that has the focus. */
const focused = () => watched.page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim() ?? '');
/** Waits until the keyboard is at the row of this run. */
const isAt = (run: RunDocument) => watched.page.locator('tr.at').filter({ hasText: run.run_id }).waitFor();

/** Opens the list, and waits until it is as it will stay. */
async function openList(): Promise<void> {
  await watched.page.goto('/');
  await watched.page.getByRole('row').filter({ hasText: runs.at(-1)!.run_id }).waitFor();
  await watched.settled();
}

describe('the list of runs', () => {
  test('opens a run wherever its row is pressed, and is where it was on the way back', async () => {
    const { page } = watched;
    await openList();
    const row = page.getByRole('row').filter({ hasText: runs[3]!.run_id });
    await row.getByRole('cell').nth(4).scrollIntoViewIfNeeded();
    const before = await height();
    expect(before).toBeGreaterThan(100);
    await row.getByRole('cell').nth(4).click();
    await page.waitForURL(new RegExp(runs[3]!.run_id));
    await page.getByRole('tree', { name: 'Steps' }).waitFor();
    await page.goBack();
    await row.waitFor();
    await expect.poll(async () => Math.abs((await height()) - before)).toBeLessThan(2);
    // The keyboard goes on from there, too.
    await isAt(runs[3]!);
    await page.keyboard.press('j');
    await isAt(runs[2]!);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(runs[2]!.run_id));
  });

  test('begins at its top when it is opened anew', async () => {
    const { page } = watched;
    await pressSequence(page, 'g', 'r');
    await page.getByRole('row').nth(1).waitFor();
    await expect.poll(height).toBe(0);
  });

  test('stays at the run that the keyboard is at when others come', async () => {
    const { page } = watched;
    const last = runs.at(-1)!;
    await openList();
    await page.keyboard.press('j');
    await isAt(last);
    const added = await project.startShort(4);
    await page.getByRole('row').filter({ hasText: added.run_id }).waitFor();
    await isAt(last);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(last.run_id));
  });

  test('obeys keys after a box was clicked, and Esc gives up one thing after the other', async () => {
    const { page } = watched;
    await openList();
    await page.getByLabel(`Select ${runs[23]!.run_id}`).click();
    await page.getByRole('toolbar').getByText('1 run').waitFor();
    for (let time = 0; time < 3; time++) await page.keyboard.press('j');
    // The run that the test before has added is the first.
    await isAt(runs[22]!);
    await page.keyboard.press('x');
    await page.getByRole('toolbar').getByText('2 runs').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('toolbar').waitFor({ state: 'detached' });
    await isAt(runs[22]!);
    await page.keyboard.press('Escape');
    await page.locator('tr.at').waitFor({ state: 'detached' });
  });
});

describe('a run that goes on', () => {
  test('is no reason to read again what was read', async () => {
    const { page } = watched;
    const hold = project.hold();
    const run = await project.start('feature', { title: 'Dark mode', gate: false, hold: hold.file });
    await page.goto(`/runs/${run.run_id}`);
    const asked: string[] = [];
    const record = (request: Request) => void asked.push(new URL(request.url()).pathname);
    page.on('request', record);
    await page.getByRole('treeitem').filter({ hasText: 'plan' }).nth(2).click();
    await page.getByRole('tab', { name: 'Agent' }).click();
    // While the session goes on its log is shown in this place; what is read once is the transcript.
    const turns = page.locator('ol.turns');
    // A text is shown as it was written until its Markdown is rendered, in another element.
    await turns.locator('.markdown li').filter({ hasText: 'API' }).waitFor();
    await turns.locator('.markdown').getByText('I will read the code before I plan.').evaluate((node) => ((globalThis as unknown as { said: Element }).said = node));
    hold.release();
    await page.getByRole('treeitem').filter({ hasText: 'integration tests' }).first().waitFor();
    await showsStatus('Completed');
    await watched.settled();
    // The element is still in the page, and its file was read once.
    expect(await page.evaluate(() => (globalThis as unknown as { said: Element }).said.isConnected)).toBe(true);
    expect(asked.filter((path) => path.startsWith('/api/artifacts/'))).toHaveLength(1);
    page.off('request', record);
  });

  test('has one log, of which only what is new is read', async () => {
    const { page } = watched;
    const hold = project.hold();
    const run = await project.start('feature', { title: 'Dark mode', gate: false, hold: hold.file });
    const asked: string[] = [];
    const record = (request: Request) => {
      if (new URL(request.url()).pathname.endsWith('/logs/download')) asked.push(request.headers()['range'] ?? 'all');
    };
    page.on('request', record);
    await page.goto(`/runs/${run.run_id}?tab=log`);
    // Each part has said something, and waits.
    await page.getByRole('log').getByText('Compiling').nth(2).waitFor();
    await expect.poll(() => asked.at(-1)).toMatch(/^bytes=/);
    hold.release();
    await showsStatus('Completed');
    await page.getByText('live', { exact: true }).waitFor({ state: 'detached' });
    await watched.settled();
    page.off('request', record);
    // As long as there is nothing, everything is asked for; behind the first lines only what is new.
    const first = asked.findIndex((range) => range !== 'all');
    expect(first).toBeGreaterThan(0);
    expect(asked.slice(first)).not.toContain('all');
  });
});

describe('the keyboard', () => {
  test('reaches the link to the content first, then the page in the order in which it is read', async () => {
    const { page } = watched;
    await openList();
    const order: string[] = [];
    for (let time = 0; time < 8; time++) {
      await page.keyboard.press('Tab');
      order.push(await focused());
    }
    expect(order[0]).toBe('Skip to the content');
    expect(order[1]).toContain('AgentOS');
    expect(order.slice(3, 7).join(' ')).toMatch(/Start a run.*Runs.*Workflows.*Workspaces/);
    await page.keyboard.press('Shift+Tab');
    await expect.poll(focused).toContain('Workspaces');
  });

  test('is in the palette while that is there, and where it was before afterwards', async () => {
    const { page } = watched;
    await page.goto('/workflows');
    const start = page.getByRole('link', { name: 'Start feature', exact: true });
    await watched.settled();
    await start.focus();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    // Keys of the page are letters here.
    await page.keyboard.type('gwn');
    await expect.poll(() => page.getByRole('combobox').inputValue()).toBe('gwn');
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'detached' });
    expect(page.url()).toMatch(/\/workflows$/);
    await expect.poll(focused).toBe('Start feature');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('start slow');
    await page.getByRole('option', { name: /Start slow/, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/start\//);
    await page.getByRole('heading', { name: 'slow' }).waitFor();
  });

  test('is in what a dialog asks for, and Esc changes nothing', async () => {
    const { page } = watched;
    const slow = await project.start('slow');
    await page.goto(`/runs/${slow.run_id}`);
    await page.getByRole('treeitem').first().waitFor();
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.keyboard.press('Shift+X');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Why').waitFor();
    await page.keyboard.type('no, wait');
    await expect.poll(() => dialog.getByLabel('Why').inputValue()).toBe('no, wait');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect((await project.api<RunDocument>(`/api/executions/${slow.id}`)).status).toBe('RUNNING');
    await page.keyboard.press('?');
    // This dialog has no field: it has the focus itself, and not the button that closes it.
    await page.getByRole('dialog').getByText('Show a tab').waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('DIALOG');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // A user who opens the field with its key goes on typing into it.
    await page.keyboard.press('c');
    await page.getByLabel('Comment', { exact: true }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type('next, and X');
    await expect.poll(() => page.getByLabel('Comment', { exact: true }).inputValue()).toBe('next, and X');
    await project.api(`/api/executions/${slow.id}/cancel`, {});
  });
});

describe('a small screen', () => {
  test('shows the tab that is chosen, and no text of the timeline beyond its edge', async () => {
    const phone = await WatchedPage.open(browser, server.url, { viewport: PHONE });
    const { page } = phone;
    await page.goto(`/runs/${runs[0]!.run_id}?tab=entries`);
    await page.getByText('run.started').waitFor();
    await phone.settled();
    await expect.poll(async () => {
      const box = await page.getByRole('tab', { selected: true }).boundingBox();
      return box && box.x >= 0 && box.x + box.width <= PHONE.width;
    }).toBe(true);
    // All measured in the same moment: how far the widest text goes beyond the timeline.
    const excess = () => page.locator('.axis .lane').evaluate((lane) => {
      const ends = [...lane.querySelectorAll('.tick')].map((node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect().right;
      });
      return ends.length > 0 ? Math.max(...ends) - lane.getBoundingClientRect().right : null;
    });
    await expect.poll(excess).toBeLessThanOrEqual(1);
    phone.expectQuiet();
    await phone.close();
  });

  test('has long lines of a log beside their numbers', async () => {
    const phone = await WatchedPage.open(browser, server.url, { viewport: PHONE });
    const run = await project.start('feature', { title: 'Dark mode', gate: false });
    await project.waitFor(run, ({ status }) => status === 'COMPLETED');
    await phone.page.goto(`/runs/${run.run_id}?tab=log`);
    const line = phone.page.locator('[role="log"] .line').filter({ hasText: 'What is asked for touches three parts' }).first();
    await line.waitFor();
    await phone.settled();
    const [number, text] = await line.evaluate((node) => ['.number', '.text'].map((part) => node.querySelector(part)!.getBoundingClientRect().toJSON() as DOMRect)) as [DOMRect, DOMRect];
    expect(text.height).toBeGreaterThan(number.height * 0.9);
    expect(text.x).toBeGreaterThanOrEqual(number.x + number.width);
    expect(Math.abs(text.y - number.y)).toBeLessThan(4);
    await phone.close();
  });
});

test('the page has reported no error', () => {
  watched.expectQuiet();
});
