import { gzipSync } from 'node:zlib';
import { readdirSync, readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seen, setScene, stage } from './scene.ts';
import { until, type RunDocument } from './stage.ts';

/** What is measured is told; what a slow machine can't keep is not asserted. */
const figures: Record<string, number> = {};
const STEPS = 2000;
const MEGABYTES = 50;

let run: RunDocument;

setScene();
beforeAll(async () => {
  run = await stage.start('steps', { steps: STEPS, megabytes: MEGABYTES });
});
afterAll(() => console.log('figures', figures));

/** How many frames were drawn in each second while something was done, and the longest time without one. */
async function frames(page: Page, work: () => Promise<void>): Promise<{ rate: number; longest: number }> {
  await page.evaluate(() => {
    const measured = { times: [] as number[], isOn: true };
    (globalThis as unknown as { measured: typeof measured }).measured = measured;
    const draw = (at: number) => {
      measured.times.push(at);
      if (measured.isOn) requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  });
  await work();
  return page.evaluate(() => {
    const { measured } = globalThis as unknown as { measured: { times: number[]; isOn: boolean } };
    measured.isOn = false;
    const gaps = measured.times.slice(1).map((at, index) => at - measured.times[index]!);
    const length = (measured.times.at(-1)! - measured.times[0]!) / 1000;
    return { rate: gaps.length / length, longest: Math.max(...gaps) };
  });
}

/** Scrolls a list as a hand does: a little with every frame. */
function scroll(page: Page, selector: string, by: number, times: number): Promise<void> {
  return page.evaluate(
    async ([selector, by, times]) => {
      const view = document.querySelector(selector as string)!;
      for (let time = 0; time < (times as number); time++) {
        view.scrollTop += by as number;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    },
    [selector, by, times],
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
  await seen.page.goto('/');
  await seen.page.getByText(run.run_id).first().waitFor();
  figures['first paint, ms'] = await seen.page.evaluate(() => Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1));
  expect(figures['first paint, ms']).toBeGreaterThan(0);
});

test('a run with 2,000 steps is drawn with few rows, and scrolls', async () => {
  await stage.waitFor(run, ({ status }) => status === 'COMPLETED');
  const { page } = seen;
  const begun = Date.now();
  await page.goto(`/runs/${run.run_id}`);
  await page.getByText('2,001 steps').waitFor();
  figures['2,000 steps shown after, ms'] = Date.now() - begun;
  expect(await page.getByRole('treeitem').count()).toBeLessThan(80);
  const { rate, longest } = await frames(page, () => scroll(page, '[role="tree"]', 120, 240));
  figures['frames/s in the timeline'] = Math.round(rate);
  figures['longest frame in the timeline, ms'] = Math.round(longest);
  await page.getByRole('tree').focus();
  await page.keyboard.press('End');
  await page.getByRole('treeitem', { selected: true }).getByText(`step ${STEPS - 1}`).waitFor();
  expect(rate).toBeGreaterThan(15);
}, 180_000);

test('a log of 50 MB is read, searched and scrolled without being in the page', async () => {
  const { page } = seen;
  await page.goto(`/runs/${run.run_id}?tab=log`);
  const begun = Date.now();
  const lines = await until('all lines are read', async () => {
    const text = (await page.locator('[aria-label="Log"] .foot').textContent().catch(() => '')) ?? '';
    const size = /· ([\d.]+) MB/.exec(text)?.[1];
    return size && Number(size) > MEGABYTES * 0.9 ? text : null;
  });
  figures['log read after, ms'] = Date.now() - begun;
  figures['log, MB'] = Number(/· ([\d.]+) MB/.exec(lines)?.[1]);
  expect(await page.locator('[role="log"] .line').count()).toBeLessThan(150);
  const { rate, longest } = await frames(page, () => scroll(page, '[role="log"]', 400, 200));
  figures['frames/s in the log'] = Math.round(rate);
  figures['longest frame in the log, ms'] = Math.round(longest);
  const searched = Date.now();
  await page.getByPlaceholder('Search the log').fill('needle in the haystack');
  await page.getByText('–/1').waitFor();
  figures['log searched after, ms'] = Date.now() - searched;
  await page.getByPlaceholder('Search the log').press('Enter');
  await page.getByRole('log').locator('mark').waitFor();
  await page.getByRole('button', { name: 'Error' }).click();
  await page.getByRole('log').getByText('the needle in the haystack').waitFor();
  expect(rate).toBeGreaterThan(15);
  seen.expectQuiet();
}, 180_000);
