import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, PHONE, Watched, WIDE } from './browser.ts';
import { Stage, type RunDocument } from './stage.ts';

let stage: Stage;
let browser: Browser;
let asking: RunDocument;
let failed: RunDocument;
let done: RunDocument;
let hostile: RunDocument;
let steps: RunDocument;
/** Where pictures of the pages go, if somebody wants them, and of which. */
const pictures = process.env['PICTURES'];
const only = process.env['ONLY'] ?? '';

beforeAll(async () => {
  stage = await Stage.set();
  // What it calls itself is for a test, and for nobody's eyes.
  if (pictures) rmSync(join(stage.repository, '.agent/workflows/templates/hostile.ts'));
  await stage.serve();
  browser = await launch();
  done = await stage.start('feature', { title: 'Search that forgives typos', gate: false });
  failed = await stage.start('broken');
  await stage.agentos(['run', 'broken'], stage.worktree).catch(() => 'it fails, as it should');
  asking = await stage.start('feature', { title: 'Dark mode', pause: 300 });
  await stage.waitFor(done, ({ status }) => status === 'COMPLETED');
  await stage.waitFor(failed, ({ status }) => status === 'FAILED');
  await stage.waitFor(asking, ({ waiting }) => waiting !== null);
  steps = await stage.start('steps', { steps: 400 });
  await stage.waitFor(steps, ({ status }) => status === 'COMPLETED');
  await stage.start('slow');
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    const given = await stage.start('slow');
    await stage.api(`/api/executions/${given.id}/cancel`, {});
    await stage.start('feature', { title: 'Gift cards', gate: false, pause: 200_000 });
  }
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await stage?.strike();
});

interface Shown {
  name: string;
  path: string;
  /** A text that is there when it is ready. */
  ready: string;
  /** What is done there before it is looked at. */
  then?: (page: Page) => Promise<void>;
  /** Whether the documentation has a picture of it. */
  isPictured?: boolean;
}

/** Every page, and what opens above one. */
function pages(): Shown[] {
  const feature = `/runs/${done.run_id}`;
  const isPictured = true;
  return [
    { name: 'runs', path: '/', ready: asking.run_id, isPictured },
    { name: 'chosen', path: '/', ready: asking.run_id, then: (page) => press(page, 'j', 'x', 'j', 'x') },
    { name: 'palette', path: '/', ready: asking.run_id, then: (page) => press(page, 'Control+k'), isPictured },
    { name: 'question', path: `/runs/${asking.run_id}`, ready: 'hello, world', isPictured },
    { name: 'run', path: `${feature}?tab=log`, ready: 'I will read the code', isPictured },
    { name: 'overview', path: feature, ready: 'Output', isPictured },
    { name: 'agent', path: `${feature}?tab=session`, ready: 'The plan', then: (page) => page.locator('summary').first().click(), isPictured },
    { name: 'changes', path: `${feature}?tab=diff`, ready: 'files changed', isPictured },
    { name: 'artifacts', path: `${feature}?tab=artifacts`, ready: 'junit.xml', then: (page) => preview(page, 'report.md', 'All parts of'), isPictured },
    { name: 'report', path: `${feature}?tab=artifacts`, ready: 'junit.xml', then: (page) => preview(page, 'junit.xml', '1 failed'), isPictured },
    { name: 'comments', path: `${feature}?tab=comments`, ready: 'One question' },
    { name: 'entries', path: `${feature}?tab=entries`, ready: 'run.started' },
    { name: 'keys', path: feature, ready: 'Output', then: (page) => press(page, '?') },
    { name: 'fork', path: feature, ready: 'Output', then: (page) => page.getByRole('button', { name: 'Fork' }).click() },
    { name: 'failed', path: `/runs/${failed.run_id}`, ready: 'mismatched types', isPictured },
    { name: 'steps', path: `/runs/${steps.run_id}`, ready: 'step 3' },
    { name: 'choose', path: '/start', ready: 'steps' },
    { name: 'start', path: '/start/feature', ready: 'Last inputs', isPictured },
    { name: 'workflows', path: '/workflows', ready: 'went well', isPictured },
    { name: 'workflow', path: '/workflows/feature', ready: 'createWorkflow', isPictured },
    { name: 'workspaces', path: '/workspaces', ready: 'untracked', isPictured },
    { name: 'verdict', path: '/workspaces', ready: 'untracked', then: judge, isPictured },
    { name: 'nowhere', path: '/no/such/page', ready: 'There is no such page' },
    { name: 'unknown', path: '/runs/no-such-run', ready: 'There is no such run' },
  ];
}

async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

async function preview(page: Page, name: string, ready: string): Promise<void> {
  await page.getByRole('button', { name }).click();
  await page.locator('figure').getByText(ready).first().waitFor();
}

async function judge(page: Page): Promise<void> {
  await page.getByRole('button', { name: `Clean ${done.run_id}` }).click();
  await page.getByRole('dialog').getByText('src/api.rs').waitFor();
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
    for (const { name: what, path, ready, then, isPictured } of pages()) {
      if (pictures && (!isPictured || !what.match(only))) continue;
      await seen.page.goto(path);
      await seen.page.getByText(ready).first().waitFor({ state: 'attached' });
      await then?.(seen.page);
      await seen.page.waitForTimeout(pictures ? 900 : 100);
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

describe.skipIf(pictures)('what a run says', () => {
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
