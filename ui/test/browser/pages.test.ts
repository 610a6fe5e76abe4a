import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PHONE, WatchedPage, WIDE } from './browser.ts';
import type { RunDocument } from './server.ts';
import { browser, project, server, setUp } from './setup.ts';

let asking: RunDocument;
let failed: RunDocument;
let done: RunDocument;
let hostile: RunDocument;
let steps: RunDocument;
/** The folder for pictures of the pages, if they are wanted (`npm run pictures`), and of which pages. */
const pictures = process.env['PICTURES'];
const only = process.env['ONLY'] ?? '';

// The workflow `hostile` has a description that is no good in a picture, and `changing` is of no use in one.
setUp({ project: pictures ? { isSlow: true, without: ['hostile', 'changing'] } : {} });
beforeAll(async () => {
  done = await project.start('feature', { title: 'Search that forgives typos', gate: false });
  failed = await project.start('broken');
  await project.agentos(['run', 'broken'], project.worktree).catch(() => 'it fails, which is its purpose');
  asking = await project.start('feature', { title: 'Dark mode' });
  steps = await project.start('steps', { steps: 400 });
  await project.waitFor(done, ({ status }) => status === 'COMPLETED');
  await project.waitFor(failed, ({ status }) => status === 'FAILED');
  await project.waitFor(asking, ({ waiting }) => waiting !== null);
  await project.waitFor(steps, ({ status }) => status === 'COMPLETED');
  await project.start('slow');
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    const given = await project.start('slow');
    await project.api(`/api/executions/${given.id}/cancel`, {});
    await project.start('feature', { title: 'Gift cards', gate: false, hold: project.hold().file });
  }
});

interface Shown {
  name: string;
  /** Of the project's runs, some are known only once they have started. */
  path: string | (() => string);
  /** A text that is there when it is ready. */
  ready: string | (() => string);
  /** What is done there before it is looked at. */
  then?: (page: Page) => Promise<void>;
  /** What the browser reports about it, which is as it should be. */
  reports?: RegExp;
  /** Whether the documentation has a picture of it. */
  isPictured?: boolean;
}

const ofRun = (query = '') => () => `/runs/${done.run_id}${query}`;
const question = () => asking.run_id;
const isPictured = true;

/** Every page, and what opens above one. */
const PAGES: Shown[] = [
  { name: 'runs', path: '/', ready: question, isPictured },
  { name: 'chosen', path: '/', ready: question, then: choose },
  { name: 'palette', path: '/', ready: question, then: (page) => open(page, 'Control+k', 'Find anything'), isPictured },
  { name: 'question', path: () => `/runs/${asking.run_id}`, ready: 'hello, world', isPictured },
  { name: 'run', path: ofRun('?tab=log'), ready: 'I will read the code', isPictured },
  { name: 'overview', path: ofRun(), ready: 'Output', isPictured },
  { name: 'agent', path: ofRun('?tab=session'), ready: 'The plan', then: (page) => page.locator('summary').first().click(), isPictured },
  { name: 'changes', path: ofRun('?tab=diff'), ready: 'files changed', isPictured },
  { name: 'artifacts', path: ofRun('?tab=artifacts'), ready: 'junit.xml', then: (page) => preview(page, 'report.md', 'All parts of'), isPictured },
  { name: 'report', path: ofRun('?tab=artifacts'), ready: 'junit.xml', then: (page) => preview(page, 'junit.xml', '1 failed'), isPictured },
  { name: 'comments', path: ofRun('?tab=comments'), ready: 'One question' },
  { name: 'entries', path: ofRun('?tab=entries'), ready: 'run.started' },
  { name: 'keys', path: ofRun(), ready: 'Output', then: (page) => open(page, '?', 'Keys') },
  { name: 'fork', path: ofRun(), ready: 'Output', then: fork },
  { name: 'failed', path: () => `/runs/${failed.run_id}`, ready: 'mismatched types', isPictured },
  { name: 'steps', path: () => `/runs/${steps.run_id}`, ready: 'step 3' },
  { name: 'choose', path: '/start', ready: 'steps' },
  { name: 'start', path: '/start/feature', ready: 'Last inputs', isPictured },
  { name: 'workflows', path: '/workflows', ready: 'went well', isPictured },
  { name: 'workflow', path: '/workflows/feature', ready: 'createWorkflow', isPictured },
  { name: 'workspaces', path: '/workspaces', ready: 'untracked', isPictured },
  { name: 'verdict', path: '/workspaces', ready: 'untracked', then: judge, isPictured },
  { name: 'nowhere', path: '/no/such/page', ready: 'There is no such page' },
  { name: 'unknown', path: '/runs/no-such-run', ready: 'There is no such run', reports: /\b404\b/ },
];

const SHOWN = pictures ? PAGES.filter(({ name, isPictured }) => isPictured && name.match(only)) : PAGES;
const known = (text: string | (() => string)) => (typeof text === 'string' ? text : text());

async function open(page: Page, key: string, dialog: string): Promise<void> {
  await page.keyboard.press(key);
  await page.getByRole('dialog', { name: dialog }).waitFor();
}

async function fork(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Fork' }).click();
  await page.getByRole('dialog').getByLabel('From step').waitFor();
}

async function choose(page: Page): Promise<void> {
  for (const [row, count] of ['1 run', '2 runs'].entries()) {
    await page.keyboard.press('j');
    await page.locator('tbody tr').nth(row).and(page.locator('.at')).waitFor();
    await page.keyboard.press('x');
    await page.getByRole('toolbar').getByText(count, { exact: true }).waitFor();
  }
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
  { name: 'wide', viewport: WIDE, schemes: ['light', 'dark'] as const },
  // The other one covers dark colours; only the pictures need both.
  { name: 'phone', viewport: PHONE, schemes: pictures ? (['light', 'dark'] as const) : (['light'] as const) },
])('on a $name screen', ({ name: screen, viewport, schemes }) => {
  let watched: WatchedPage;
  beforeAll(async () => {
    watched = await WatchedPage.open(browser, server.url, { viewport, reducedMotion: 'reduce' });
  });
  afterAll(() => watched.close());

  test.each(SHOWN)('the page $name is accessible, quiet, and no wider than the screen', async ({ name, path, ready, then, reports }) => {
    const { page } = watched;
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(known(path));
    await page.getByText(known(ready)).first().waitFor({ state: 'attached' });
    await watched.settled();
    await then?.(page);
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      await watched.settled();
      // Of the rules only those about colours can have another result with other colours.
      await watched.expectAccessible(`${name} ${screen} ${colorScheme}`, colorScheme === 'light' ? undefined : ['color-contrast', 'link-in-text-block']);
      if (pictures) await page.screenshot({ path: `${pictures}/${name}-${screen}-${colorScheme}.png` });
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 'it is wider than the screen').toBeLessThanOrEqual(0);
    if (reports) watched.forgive(reports);
    watched.expectQuiet();
  });
});

describe.skipIf(pictures)('what a run says', () => {
  beforeAll(async () => {
    hostile = await project.start('hostile');
    await project.waitFor(hostile, ({ status }) => status === 'COMPLETED');
  });

  test('stays text, in logs, names, comments, artifacts and diffs', async () => {
    const watched = await WatchedPage.open(browser, server.url);
    const { page } = watched;
    const titles: string[] = [];
    const visit = async (path: string, ready: string) => {
      await page.goto(path);
      await page.getByText(ready).first().waitFor();
      await watched.settled();
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
    await page.locator('.markdown a').first().waitFor();
    expect(await page.locator('.markdown a').first().getAttribute('href')).toBeNull();
    expect(await page.locator('.markdown :is(iframe, style, script)').count()).toBe(0);
    expect(await page.locator('.markdown img[src^="http"]').count()).toBe(0);
    await page.goto(`${run}?tab=artifacts`);
    for (const name of ['evil.md', 'evil.svg', 'evil.txt', 'evil.html']) {
      await page.getByRole('button', { name }).click();
      await page.locator('figure').getByText(name).waitFor();
      await watched.settled();
      titles.push(await page.title());
    }
    await page.frameLocator('iframe').getByRole('heading', { name: 'A report' }).waitFor();
    titles.push(await page.title());
    expect(titles.filter((title) => title.includes('pwned'))).toEqual([]);
    // The frame's own policy refuses the script in it, and the browser reports that.
    watched.forgive(/Content Security Policy|sandboxed|Blocked script|ERR_BLOCKED_BY_RESPONSE/);
    watched.expectQuiet();
    await watched.close();
  });

  test('can’t act as the dashboard, also in a tab of its own', async () => {
    const { artifacts } = await project.api<{ artifacts: { id: string; name: string }[] }>(`/api/executions/${hostile.id}`);
    const evil = artifacts.find(({ name }) => name === 'evil.html')!;
    const answer = await fetch(`${server.url}/api/artifacts/${evil.id}/download?inline=true`);
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    const watched = await WatchedPage.open(browser, server.url);
    await watched.page.goto(`/api/artifacts/${evil.id}/download?inline=true`);
    await watched.page.getByRole('heading', { name: 'A report' }).waitFor();
    expect(await watched.page.title()).not.toContain('pwned');
    await watched.close();
  });
});

test('the page may load and run nothing but its own files', async () => {
  const answer = await fetch(server.url);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'self'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toContain('unsafe-inline');
  expect(policy).not.toContain('unsafe-eval');
  const html = await answer.text();
  expect(html).not.toMatch(/<script(?![^>]*src=)[^>]*>|style="|<style/);
});
