import { mkdirSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, PHONE, Watched, WIDE } from './browser.ts';
import { Stage, type RunDocument } from './stage.ts';

let stage: Stage;
let browser: Browser;
let asking: RunDocument;
let failed: RunDocument;
let done: RunDocument;
let hostile: RunDocument;
/** Where pictures of the pages go, if somebody wants them. */
const pictures = process.env['PICTURES'];

beforeAll(async () => {
  stage = await Stage.set();
  await stage.serve();
  browser = await launch();
  done = await stage.start('feature', { title: 'Search that forgives typos', gate: false });
  failed = await stage.start('broken');
  await stage.agentos(['run', 'broken'], stage.worktree).catch(() => 'it fails, as it should');
  asking = await stage.start('feature', { title: 'Dark mode', pause: 300 });
  await stage.waitFor(done, ({ status }) => status === 'COMPLETED');
  await stage.waitFor(failed, ({ status }) => status === 'FAILED');
  await stage.waitFor(asking, ({ waiting }) => waiting !== null);
  await stage.start('slow');
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    for (const title of ['Faster checkout', 'Gift cards']) await stage.start('feature', { title, gate: false, pause: 400 });
  }
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await stage?.strike();
});

/** Every page, with a text that is there when it is ready. */
function pages(): { name: string; path: string; ready: string }[] {
  const feature = `/runs/${done.run_id}`;
  return [
    { name: 'runs', path: '/', ready: asking.run_id },
    { name: 'question', path: `/runs/${asking.run_id}`, ready: 'hello, world' },
    { name: 'run', path: `${feature}?tab=log`, ready: 'I will read the code' },
    { name: 'overview', path: feature, ready: 'Output' },
    { name: 'agent', path: `${feature}?tab=session`, ready: 'The plan' },
    { name: 'changes', path: `${feature}?tab=diff`, ready: 'files changed' },
    { name: 'artifacts', path: `${feature}?tab=artifacts`, ready: 'junit.xml' },
    { name: 'comments', path: `${feature}?tab=comments`, ready: 'One question' },
    { name: 'entries', path: `${feature}?tab=entries`, ready: 'run.started' },
    { name: 'failed', path: `/runs/${failed.run_id}`, ready: 'mismatched types' },
    { name: 'choose', path: '/start', ready: 'steps' },
    { name: 'start', path: '/start/feature', ready: 'Last inputs' },
    { name: 'workflows', path: '/workflows', ready: 'feature' },
    { name: 'workflow', path: '/workflows/feature', ready: 'createWorkflow' },
    { name: 'workspaces', path: '/workspaces', ready: 'untracked' },
    { name: 'nowhere', path: '/no/such/page', ready: 'There is no such page' },
    { name: 'unknown', path: '/runs/no-such-run', ready: 'There is no such run' },
  ];
}

describe.each([
  { name: 'wide', viewport: WIDE, colorScheme: 'light' as const },
  { name: 'wide', viewport: WIDE, colorScheme: 'dark' as const },
  { name: 'phone', viewport: PHONE, colorScheme: 'light' as const },
  // Its parts were seen in two of the others; only a picture of it is something new.
  ...(pictures ? [{ name: 'phone', viewport: PHONE, colorScheme: 'dark' as const }] : []),
])('on a $name screen, $colorScheme', ({ name, viewport, colorScheme }) => {
  test('every page is accessible, quiet, and no wider than the screen', async () => {
    const seen = await Watched.open(browser, stage.url, { viewport, colorScheme, reducedMotion: 'reduce' });
    for (const { name: what, path, ready } of pages()) {
      await seen.page.goto(path);
      await seen.page.getByText(ready).first().waitFor({ state: 'attached' });
      await seen.page.waitForTimeout(pictures ? 700 : 100);
      await seen.expectAccessible(`${what} ${name} ${colorScheme}`);
      const excess = await seen.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(excess, `${what} is wider than the screen`).toBeLessThanOrEqual(0);
      if (pictures) await seen.page.screenshot({ path: `${pictures}/${what}-${name}-${colorScheme}.png` });
    }
    // The one that is not there is refused by the server, which the browser tells on the console.
    seen.troubles.splice(0, seen.troubles.length, ...seen.troubles.filter((trouble) => !trouble.includes('404')));
    seen.expectQuiet();
    await seen.close();
  }, 240_000);
});

describe('what a run says', () => {
  beforeAll(async () => {
    hostile = await stage.start('hostile');
    await stage.waitFor(hostile, ({ status }) => status === 'COMPLETED');
  });

  test('stays text, in logs, names, comments, artifacts and diffs', async () => {
    const seen = await Watched.open(browser, stage.url);
    const { page } = seen;
    const titles: string[] = [];
    const visit = async (path: string, ready: string) => {
      await page.goto(path);
      await page.getByText(ready).first().waitFor();
      await page.waitForTimeout(300);
      titles.push(await page.title());
    };
    const run = `/runs/${hostile.run_id}`;
    await visit('/', hostile.run_id);
    await visit('/workflows', '<img src=x');
    await visit('/workflows/hostile', 'createWorkflow');
    await visit(run, '<img src=x');
    await visit(`${run}?tab=log`, '<img src=x');
    await visit(`${run}?tab=entries`, 'step.requested');
    await visit(`${run}?tab=diff`, '<img src=x');
    await visit(`${run}?tab=comments`, 'click');
    expect(await page.locator('.markdown a').first().getAttribute('href')).toBeNull();
    expect(await page.locator('.markdown :is(iframe, style, script)').count()).toBe(0);
    expect(await page.locator('.markdown img[src^="http"]').count()).toBe(0);
    await page.goto(`${run}?tab=artifacts`);
    for (const name of ['evil.md', 'evil.svg', 'evil.txt', 'evil.html']) {
      await page.getByRole('button', { name }).click();
      await page.locator('figure').getByText(name).waitFor();
      await page.waitForTimeout(400);
      titles.push(await page.title());
    }
    const frame = page.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'A report' }).waitFor();
    expect(titles.filter((title) => title.includes('pwned'))).toEqual([]);
    // A script in the frame is refused by the frame's own policy, and the browser says so: that is what is wanted.
    seen.troubles.splice(0, seen.troubles.length, ...seen.troubles.filter((trouble) => !/Content Security Policy|sandboxed|Blocked script|ERR_BLOCKED_BY_RESPONSE/.test(trouble)));
    seen.expectQuiet();
    await seen.close();
  });

  test('can’t act as the dashboard, also in a tab of its own', async () => {
    const { artifacts } = await stage.api<{ artifacts: { id: string; name: string }[] }>(`/api/executions/${hostile.id}`);
    const evil = artifacts.find(({ name }) => name === 'evil.html')!;
    const answer = await fetch(`${stage.url}/api/artifacts/${evil.id}/download?inline=true`);
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    const seen = await Watched.open(browser, stage.url);
    await seen.page.goto(`/api/artifacts/${evil.id}/download?inline=true`);
    await seen.page.getByRole('heading', { name: 'A report' }).waitFor();
    expect(await seen.page.title()).not.toContain('pwned');
    await seen.close();
  });
});

test('the page may load and run nothing but its own files', async () => {
  const answer = await fetch(stage.url);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'self'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toContain('unsafe-inline');
  expect(policy).not.toContain('unsafe-eval');
  const html = await answer.text();
  expect(html).not.toMatch(/<script(?![^>]*src=)[^>]*>|style="|<style/);
});
