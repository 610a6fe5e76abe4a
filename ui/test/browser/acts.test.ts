import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { project, server, setUp, showsStatus, watched } from './setup.ts';
import { until, type RunDocument } from './server.ts';

setUp();

const document = (run: string) => project.api<RunDocument & { input: unknown }>(`/api/executions/${run}`);
const shown = () => new URL(watched.page.url()).pathname.split('/').pop()!;

/** A run that a user has stopped with Ctrl-C: it does nothing until it is resumed. */
async function interrupted(): Promise<RunDocument> {
  const before = new Set((await project.api<{ items: RunDocument[] }>('/api/executions')).items.map(({ id }) => id));
  const terminal = project.spawn(['run', 'slow']);
  const run = await until('a run of the terminal is in its step', async () => {
    const { items } = await project.api<{ items: RunDocument[] }>('/api/executions');
    const found = items.find(({ id, current_step }) => !before.has(id) && current_step !== null);
    return found ?? null;
  });
  await terminal.end('SIGINT');
  return project.waitFor(run, ({ interrupted }) => interrupted === true);
}

test('a failed run is tried again, and what was finished is not done again', async () => {
  const { page } = watched;
  const failed = await project.start('broken');
  await project.waitFor(failed, ({ status }) => status === 'FAILED');
  await page.goto(`/runs/${failed.run_id}?tab=log`);
  // The command writes it in two parts: it is one line.
  await page.getByRole('log').getByText('preparing', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await page.getByText(/goes on from here/).waitFor();
  await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(failed.run_id));
  await page.getByRole('treeitem').filter({ hasText: 'compile' }).first().waitFor();
  await showsStatus('Failed');
  const log = await (await fetch(`${server.url}/api/executions/${shown()}/logs/download`)).text();
  expect(log).toContain('Compiling shop');
  expect(log).not.toContain('"msg":"prep"');
});

test('a run leads to the one that it calls and back, is sent what it waits for, and tells the line that threw', async () => {
  const { page } = watched;
  const run = await project.start('release');
  await page.goto(`/runs/${run.run_id}`);
  await showsStatus('Waiting for deployed');
  // What has no log shows what is known of it.
  await page.getByRole('treeitem').filter({ hasText: 'steps' }).click();
  await page.getByRole('tabpanel').getByRole('link', { name: /^steps-/ }).click();
  await page.waitForURL(/\/runs\/steps-/);
  await page.getByRole('listitem').filter({ hasText: 'called by' }).getByRole('link', { name: run.run_id }).click();
  await showsStatus('Waiting for deployed');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find anything' }).fill('send deployed');
  await page.getByRole('option', { selected: true }).filter({ hasText: 'Send deployed' }).waitFor();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('What it carries').fill('{"ok": false, "why": "no disk"}');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await showsStatus('Failed');
  const error = page.getByRole('region', { name: 'Error' });
  await error.getByText('the deployment went wrong: no disk').waitFor();
  await error.getByText('templates/release.ts:4', { exact: true }).waitFor();
  await error.getByRole('group', { name: 'Source' }).locator('.marked').filter({ hasText: 'throw new Error' }).waitFor();
  await error.getByText('Stack').click();
  await error.getByText(/at judge/).waitFor();
});

test('a run that was stopped in its terminal does nothing, and goes on when it is resumed', async () => {
  const { page } = watched;
  const run = await interrupted();
  await page.goto(`/runs/${run.run_id}`);
  await showsStatus('Interrupted');
  await page.getByRole('button', { name: 'Resume' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('finished work is not repeated').waitFor();
  await dialog.getByRole('button', { name: 'Resume' }).click();
  await showsStatus('Running');
  await project.waitFor(run, (run) => run['interrupted'] === false);
  await project.api(`/api/executions/${run.id}/cancel`, {});
  await showsStatus('Cancelled');
});

test('several runs are resumed, cancelled and cleaned at once, and what is refused is shown', async () => {
  const { page } = watched;
  const [one, other] = [await interrupted(), await interrupted()];
  // The workspace of this one has work in it that is nowhere else.
  const full = await project.start('feature', { title: 'Kept', gate: false });
  await project.waitFor(full, ({ status }) => status === 'COMPLETED');
  const choose = async (runs: RunDocument[], deed: string, sure: string) => {
    for (const run of runs) await page.getByLabel(`Select ${run.run_id}`).check();
    const tools = page.getByRole('toolbar');
    await tools.getByText(`${runs.length} runs`).waitFor();
    await tools.getByRole('button', { name: deed }).click();
    const dialog = page.getByRole('dialog');
    const fitting = runs.filter((run) => run !== full || deed === 'Clean').map(({ run_id }) => run_id);
    await expect.poll(async () => (await dialog.locator('li').allInnerTexts()).sort()).toEqual(fitting.sort());
    await dialog.getByRole('button', { name: sure, exact: true }).click();
    await tools.waitFor({ state: 'detached' });
  };

  await page.goto('/');
  await choose([one, other, full], 'Resume', 'Resume');
  await page.getByText('Resume: 2 runs').waitFor();
  for (const run of [one, other]) await project.waitFor(run, ({ interrupted, status }) => interrupted === false && status === 'RUNNING');

  await choose([one, other], 'Cancel', 'Cancel');
  for (const run of [one, other]) await project.waitFor(run, ({ status }) => status === 'CANCELLED');
  // Only what the list shows as ended is offered to be cleaned.
  for (const run of [one, other]) await page.getByRole('row').filter({ hasText: run.run_id }).getByText('Cancelled').waitFor();

  await choose([one, other, full], 'Clean', 'Clean workspaces');
  await page.getByText('Clean workspaces: 2 runs').waitFor();
  await page.getByRole('status').getByText(`${full.run_id}: `).waitFor();
  const left = (await project.api<{ items: { id: string }[] }>('/api/workspaces')).items.map(({ id }) => id);
  expect(left).toContain(full.run_id);
  expect(left).not.toContain(one.run_id);
  expect(left).not.toContain(other.run_id);
});

test('a workspace goes only after it was shown what would be lost, and all of it comes back', async () => {
  const { page } = watched;
  const run = await project.start('feature', { title: 'Kept', gate: false });
  const { workspace_dir } = await project.waitFor(run, ({ status }) => status === 'COMPLETED');
  const file = join(String(workspace_dir), 'src/api.rs');
  const work = readFileSync(file, 'utf8');
  await page.goto('/workspaces');
  await page.getByRole('row').filter({ hasText: run.run_id }).getByText('3 untracked').waitFor();
  await page.getByRole('button', { name: `Clean ${run.run_id}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Work is in it that is nowhere else.').waitFor();
  await dialog.getByText('src/api.rs').waitFor();
  expect(existsSync(file)).toBe(true);
  await dialog.getByRole('button', { name: 'Back up and remove' }).click();
  await page.getByText('was backed up and removed').waitFor();
  expect(existsSync(file)).toBe(false);
  await page.getByLabel('Show removed').check();
  await page.getByRole('button', { name: `Restore ${run.run_id}` }).click();
  await page.getByText(`${run.run_id} is back`).waitFor();
  expect(readFileSync(file, 'utf8')).toBe(work);
  await page.getByRole('row').filter({ hasText: run.run_id }).getByText('3 untracked').waitFor();
});

test('a workspace that a process is in is not offered to be removed', async () => {
  const { page } = watched;
  const run = await project.start('steps', { steps: 1 });
  const { workspace_dir } = await project.waitFor(run, ({ status }) => status === 'COMPLETED');
  const sleeper = spawn('sleep', ['600'], { cwd: String(workspace_dir), stdio: 'ignore' });
  try {
    await page.goto('/workspaces');
    await page.getByRole('row').filter({ hasText: run.run_id }).getByText('in use', { exact: true }).waitFor();
    await page.getByRole('button', { name: `Clean ${run.run_id}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText("It can't be removed while this is so.").waitFor();
    await dialog.getByText(`process ${sleeper.pid} (sleep)`).waitFor();
    expect(await dialog.getByRole('button', { name: /remove/i }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Leave it' }).click();
  } finally {
    const gone = new Promise((resolve) => sleeper.once('exit', resolve));
    sleeper.kill();
    await gone;
  }
  await page.getByRole('button', { name: `Clean ${run.run_id}` }).click();
  await page.getByRole('dialog').getByText('Nothing would be lost.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText(`${run.run_id} was removed`).waitFor();
});

test('a run is started with what another one was started with', async () => {
  const { page } = watched;
  const earlier = await project.start('feature', { title: 'Gift cards', brief: 'For **birthdays**', priority: 'high', reviewers: 4, gate: false });
  await page.goto('/start/feature');
  await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('');
  // By its value: its text says how long ago the run was, which changes.
  const option = page.getByLabel('Last inputs').locator('option').filter({ hasText: earlier.run_id });
  await page.getByLabel('Last inputs').selectOption(await option.getAttribute('value'));
  await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('Gift cards');
  await expect.poll(() => page.getByLabel('Brief').inputValue()).toBe('For **birthdays**');
  await expect.poll(() => page.getByLabel('Reviewers').inputValue()).toBe('4');
  await expect.poll(() => page.getByLabel('Ask before it is done').isChecked()).toBe(false);
  await page.getByLabel('Title').fill('More gift cards');
  await page.getByText('Workspace and agents').click();
  await page.getByLabel('Agents in the place of others').fill(`claude=scripted:${project.scenario} codex=scripted:${project.scenario}`);
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/runs\/feature-/);
  expect((await document(shown())).input).toMatchObject({ title: 'More gift cards', brief: 'For **birthdays**', priority: 'high', reviewers: 4, gate: false });
});

test('an answer says what it is, also when it is no', async () => {
  const { page } = watched;
  const run = await project.start('feature', { title: 'Dark mode' });
  await project.waitFor(run, ({ waiting }) => waiting !== null);
  // Its workspace is not removed without a question.
  await page.goto('/workspaces?lost=used');
  await page.getByRole('button', { name: `Clean ${run.run_id}` }).click();
  await page.getByRole('dialog').getByText('needs it: the run is not over').waitFor();
  const remove = page.getByRole('button', { name: 'Back up and remove' });
  await expect.poll(() => remove.isDisabled()).toBe(true);
  await page.getByLabel('Take it away from the run all the same').check();
  await expect.poll(() => remove.isDisabled()).toBe(false);
  await page.getByRole('dialog').getByRole('link', { name: run.run_id }).click();
  await page.waitForURL(/\/runs\//);
  await page.getByLabel('Comment with the answer').fill('Not yet');
  const [asked] = await Promise.all([page.waitForRequest(/\/approve$/), page.getByRole('button', { name: 'Reject' }).click()]);
  expect(asked.postDataJSON()).toMatchObject({ approved: false, comment: 'Not yet' });
  await showsStatus('Failed');
});

test('the page has reported no error', () => {
  // The browser reports what the server has refused.
  watched.forgive(/\b409\b/);
  watched.expectQuiet();
});
