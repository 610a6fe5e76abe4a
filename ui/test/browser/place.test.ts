import { beforeAll, describe, expect, test } from 'vitest';
import { PHONE, Watched } from './browser.ts';
import { browser, seen, setScene, stage } from './scene.ts';
import { until, type RunDocument } from './stage.ts';

let runs: RunDocument[];

setScene({ viewport: { width: 1440, height: 600 } });
beforeAll(async () => {
  runs = [];
  for (let time = 0; time < 24; time++) runs.push(await quick());
  for (const run of runs) await stage.waitFor(run, ({ status }) => status === 'COMPLETED');
}, 180_000);

/** A run that is soon over, in the checkout itself. */
const quick = () => stage.start('steps', { steps: 4 }, { workspace: { kind: 'none' } });
const height = () => seen.page.locator('main').evaluate((main) => main.scrollTop);
/** What has the focus, by its name or its text. */
const focused = () => seen.page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim() ?? '');

describe('the list of runs', () => {
  test('opens a run wherever its row is pressed, and is where it was on the way back', async () => {
    const { page } = seen;
    await page.goto('/');
    const row = page.getByRole('row').filter({ hasText: runs[3]!.run_id });
    await row.scrollIntoViewIfNeeded();
    await row.getByRole('cell').nth(4).scrollIntoViewIfNeeded();
    const before = await height();
    expect(before).toBeGreaterThan(100);
    await row.getByRole('cell').nth(4).click();
    await page.waitForURL(new RegExp(runs[3]!.run_id));
    await page.getByRole('tree', { name: 'Steps' }).waitFor();
    await page.goBack();
    await row.waitFor();
    expect(Math.abs((await height()) - before)).toBeLessThan(2);
    // The keyboard goes on from there, too.
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(runs[2]!.run_id));
  });

  test('begins at its top when it is gone to anew', async () => {
    const { page } = seen;
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('row').nth(1).waitFor();
    expect(await height()).toBe(0);
  });

  test('stays at the run that the keyboard is at when others come', async () => {
    const { page } = seen;
    const last = runs.at(-1)!;
    await page.goto('/');
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('j');
    const added = await quick();
    await page.getByRole('row').filter({ hasText: added.run_id }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(last.run_id));
  });

  test('obeys keys after a box was clicked, and Esc lets go of one thing after the other', async () => {
    const { page } = seen;
    await page.goto('/');
    await page.getByLabel(`Select ${runs[23]!.run_id}`).click();
    await page.getByRole('toolbar').getByText('1 run').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByRole('toolbar').getByText('2 runs').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('toolbar').waitFor({ state: 'detached' });
    expect(await page.locator('tr.at').count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.locator('tr.at').waitFor({ state: 'detached' });
  });
});

describe('a run that goes on', () => {
  test('is no reason to read again what was read', async () => {
    const { page } = seen;
    const run = await stage.start('feature', { title: 'Dark mode', gate: false, pause: 4000 });
    await page.goto(`/runs/${run.run_id}`);
    const row = page.getByRole('treeitem').filter({ hasText: 'plan' });
    await row.nth(2).click();
    await page.getByText('I will read the code before I plan.').first().waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.headers()['range'] ?? 'all'} ${new URL(request.url()).pathname}`));
    await page.getByRole('tab', { name: 'Agent' }).click();
    await page.getByRole('listitem').filter({ hasText: 'API' }).first().waitFor();
    // While the session goes on its log is shown in this place; what is read once is the transcript.
    const turns = page.locator('ol.turns');
    await turns.waitFor();
    const said = await turns.getByText('I will read the code before I plan.').elementHandle();
    await page.getByRole('treeitem').filter({ hasText: 'integration tests' }).first().waitFor();
    await page.locator('header').getByText('Completed', { exact: true }).waitFor();
    // What stood there stands there, and was asked for once at most.
    expect(await said.evaluate((node) => node.isConnected)).toBe(true);
    expect(asked.filter((one) => one.includes('/api/artifacts/')).length).toBeLessThanOrEqual(1);
    page.removeAllListeners('request');
  });

  test('has one log, of which only what is new is read', async () => {
    const { page } = seen;
    const run = await stage.start('feature', { title: 'Dark mode', gate: false, pause: 1500 });
    await page.goto('/');
    const asked: string[] = [];
    page.on('request', (request) => new URL(request.url()).pathname.endsWith('/logs/download') && asked.push(request.headers()['range'] ?? 'all'));
    await page.goto(`/runs/${run.run_id}?tab=log`);
    await page.locator('header').getByText('Completed', { exact: true }).waitFor();
    page.removeAllListeners('request');
    // As long as there is nothing, everything is asked for; behind the first lines only what is new.
    const first = asked.findIndex((range) => range !== 'all');
    expect(first).toBeGreaterThan(0);
    expect(asked.slice(first)).not.toContain('all');
  });
});

describe('the keyboard', () => {
  test('comes to the content first, then through the page in the order in which it is read', async () => {
    const { page } = seen;
    await page.goto('/');
    await page.getByRole('row').nth(1).waitFor();
    const order: string[] = [];
    for (let time = 0; time < 8; time++) {
      await page.keyboard.press('Tab');
      order.push(await focused());
    }
    expect(order[0]).toBe('Skip to the content');
    expect(order[1]).toContain('AgentOS');
    expect(order.slice(3, 7).join(' ')).toMatch(/Start a run.*Runs.*Workflows.*Workspaces/);
    await page.keyboard.press('Shift+Tab');
    expect(await focused()).toContain('Workspaces');
  });

  test('is in the palette while that is there, and where it was before afterwards', async () => {
    const { page } = seen;
    await page.goto('/workflows');
    const start = page.getByRole('link', { name: 'Start feature', exact: true });
    await start.focus();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    // Keys of the page are letters here.
    await page.keyboard.type('gwn');
    expect(await page.getByRole('combobox').inputValue()).toBe('gwn');
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'detached' });
    expect(page.url()).toMatch(/\/workflows$/);
    expect(await focused()).toBe('Start feature');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('start slow');
    await page.getByRole('option', { name: /Start slow/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/start\//);
    await page.getByRole('heading', { name: 'slow' }).waitFor();
  });

  test('is in what a dialog asks for, and Esc changes nothing', async () => {
    const { page } = seen;
    const slow = await stage.start('slow');
    await page.goto(`/runs/${slow.run_id}`);
    await page.getByRole('treeitem').first().waitFor();
    await page.keyboard.press('Shift+X');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Why').waitFor();
    await page.keyboard.type('no, wait');
    expect(await dialog.getByLabel('Why').inputValue()).toBe('no, wait');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect((await stage.api<RunDocument>(`/api/executions/${slow.id}`)).status).toBe('RUNNING');
    await page.keyboard.press('?');
    // Nothing is to be filled in there: the button that closes it is not what one comes for.
    await page.getByRole('dialog').getByText('Show a tab').waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('DIALOG');
    await page.keyboard.press('Escape');
    await stage.api(`/api/executions/${slow.id}/cancel`, {});
  });
});

describe('a small screen', () => {
  test('shows the tab that is chosen, and the whole of the timeline’s words', async () => {
    const phone = await Watched.open(browser, stage.url, { viewport: PHONE });
    const { page } = phone;
    await page.goto(`/runs/${runs[0]!.run_id}?tab=entries`);
    await page.getByText('run.started').waitFor();
    const tab = page.getByRole('tab', { selected: true });
    await until('the tab is in sight', async () => {
      const box = await tab.boundingBox();
      return box && box.x >= 0 && box.x + box.width <= PHONE.width ? true : null;
    });
    const edge = (await page.locator('.axis .lane').boundingBox())!;
    for (const tick of await page.locator('.axis .tick').all()) {
      const end = await tick.evaluate((node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect().right;
      });
      expect(end).toBeLessThanOrEqual(edge.x + edge.width + 1);
    }
    phone.expectQuiet();
    await phone.close();
  });

  test('has long lines of a log beside their numbers', async () => {
    const phone = await Watched.open(browser, stage.url, { viewport: PHONE });
    const run = await stage.start('feature', { title: 'Dark mode', gate: false });
    await stage.waitFor(run, ({ status }) => status === 'COMPLETED');
    await phone.page.goto(`/runs/${run.run_id}?tab=log`);
    const line = phone.page.locator('[role="log"] .line').filter({ hasText: 'What is asked for touches three parts' }).first();
    await line.waitFor();
    const [number, text] = [(await line.locator('.number').boundingBox())!, (await line.locator('.text').boundingBox())!];
    expect(text.height).toBeGreaterThan(number.height * 0.9);
    expect(text.x).toBeGreaterThanOrEqual(number.x + number.width);
    expect(Math.abs(text.y - number.y)).toBeLessThan(4);
    await phone.close();
  });
});

test('nobody has seen an error', () => {
  seen.expectQuiet();
});
