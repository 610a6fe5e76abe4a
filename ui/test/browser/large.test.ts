import { gzipSync } from 'node:zlib';
import { readdirSync, readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until, type RunDocument } from './server.ts';
import { project, setUp, watched } from './setup.ts';

/** Measured and printed. No test asserts a time: that would be a test of the machine, and of what else it does. */
const figures: Record<string, number> = {};
const STEPS = 2000;
const MEGABYTES = 50;

let run: RunDocument;

setUp();
beforeAll(async () => {
  run = await project.start('steps', { steps: STEPS, megabytes: MEGABYTES });
});
afterAll(() => console.log('figures', figures));

/** How many frames the page draws in each second during some work, and the longest time without one. */
async function frames<T>(page: Page, work: () => Promise<T>): Promise<{ result: T; rate: number; longest: number }> {
  await page.evaluate(() => {
    const measured = { times: [] as number[], isOn: true };
    (globalThis as unknown as { measured: typeof measured }).measured = measured;
    const draw = (at: number) => {
      measured.times.push(at);
      if (measured.isOn) requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  });
  const result = await work();
  const measured = await page.evaluate(() => {
    const { measured } = globalThis as unknown as { measured: { times: number[]; isOn: boolean } };
    measured.isOn = false;
    const gaps = measured.times.slice(1).map((at, index) => at - measured.times[index]!);
    const length = (measured.times.at(-1)! - measured.times[0]!) / 1000;
    return { rate: gaps.length / length, longest: Math.max(...gaps) };
  });
  return { result, ...measured };
}

/** Scrolls a list as a user does: a little with every frame. Returns how many rows were in the page at most. */
function scroll(page: Page, selector: string, row: string, by: number, times: number): Promise<number> {
  return page.evaluate(
    async ({ selector, row, by, times }) => {
      const view = document.querySelector(selector)!;
      let most = 0;
      for (let time = 0; time < times; time++) {
        view.scrollTop += by;
        await new Promise((resolve) => requestAnimationFrame(resolve));
        most = Math.max(most, view.querySelectorAll(row).length);
      }
      return most;
    },
    { selector, row, by, times },
  );
}

test('the dashboard is small', () => {
  const dist = new URL('../../dist/', import.meta.url);
  const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((file) => file.isFile() && file.name !== '.stamp');
  const size = files.reduce((sum, file) => sum + gzipSync(readFileSync(`${file.parentPath}/${file.name}`)).length, 0);
  figures['kB gzipped'] = Math.round(size / 100) / 10;
  expect(size).toBeLessThan(300_000);
});

test('the first thing is painted soon', async () => {
  await watched.page.goto('/');
  await watched.page.getByText(run.run_id).first().waitFor();
  figures['first paint, ms'] = await watched.page.evaluate(() => Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1));
  expect(figures['first paint, ms']).toBeGreaterThan(0);
});

test('a run with 2,000 steps is drawn with few rows, and scrolls', async () => {
  await project.waitFor(run, ({ status }) => status === 'COMPLETED');
  const { page } = watched;
  const begun = Date.now();
  await page.goto(`/runs/${run.run_id}`);
  await page.getByText('2,001 steps').waitFor();
  figures['2,000 steps shown after, ms'] = Date.now() - begun;
  // Before that the rows are those of the steps' documents, without what is in the log.
  await watched.settled();
  const { result: rows, rate, longest } = await frames(page, () => scroll(page, '[role="tree"]', '[role="treeitem"]', 400, 80));
  expect(rows).toBeGreaterThan(10);
  expect(rows).toBeLessThan(80);
  figures['frames/s in the timeline'] = Math.round(rate);
  figures['longest frame in the timeline, ms'] = Math.round(longest);
  await page.getByRole('tree').focus();
  await page.keyboard.press('End');
  await page.getByRole('treeitem', { selected: true }).getByText(`step ${STEPS - 1}`).waitFor();
});

test('a log of 50 MB is read, searched and scrolled without being in the page', async () => {
  const { page } = watched;
  await page.goto(`/runs/${run.run_id}?tab=log`);
  const begun = Date.now();
  const lines = await until('all lines are read', async () => {
    const text = (await page.locator('[aria-label="Log"] .foot').textContent({ timeout: 1000 }).catch(() => '')) ?? '';
    const size = /· ([\d.]+) MB/.exec(text)?.[1];
    return size && Number(size) > MEGABYTES * 0.9 ? text : null;
  });
  figures['log read after, ms'] = Date.now() - begun;
  figures['log, MB'] = Number(/· ([\d.]+) MB/.exec(lines)?.[1]);
  const { result: rows, rate, longest } = await frames(page, () => scroll(page, '[role="log"]', '.line', 1000, 80));
  expect(rows).toBeGreaterThan(10);
  expect(rows).toBeLessThan(150);
  figures['frames/s in the log'] = Math.round(rate);
  figures['longest frame in the log, ms'] = Math.round(longest);
  const searched = Date.now();
  await page.getByPlaceholder('Search the log').fill('needle in the haystack');
  await page.getByText('1/1').waitFor();
  figures['log searched after, ms'] = Date.now() - searched;
  await page.getByRole('log').locator('mark').waitFor();
  await page.getByRole('button', { name: 'Error' }).click();
  await page.getByRole('log').getByText('the needle in the haystack').waitFor();
  watched.expectQuiet();
});
