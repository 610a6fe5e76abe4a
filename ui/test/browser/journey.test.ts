import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { seen, setScene, stage, stands } from './scene.ts';
import { until, type RunDocument } from './stage.ts';

setScene();

describe('a person with a browser', () => {
  let name = '';

  test('finds nothing that has run, and a way to start', async () => {
    await seen.page.goto('/');
    await seen.page.getByText('Nothing has run here yet').waitFor();
    await seen.page.getByRole('link', { name: 'Start a run' }).first().click();
    await seen.page.getByRole('heading', { name: 'Start a run' }).waitFor();
    await seen.page.getByRole('link', { name: /^feature/ }).waitFor();
  });

  test('is told what is wrong with the form before anything is sent', async () => {
    await seen.page.getByRole('link', { name: /^feature/ }).click();
    const title = seen.page.getByLabel('Title');
    await title.fill('ab');
    // As the template has them, and not in the order of their letters.
    const labels = (await seen.page.locator('form > .input label').allInnerTexts()).map((label) => label.replace(/\s*\*$/, '').trim());
    expect(labels).toEqual(['Title', 'Brief', 'Priority', 'Reviewers', 'Ask before it is done', 'Pause']);
    await seen.page.getByRole('button', { name: 'Start', exact: true }).click();
    await seen.page.getByText('At least 3 characters.').waitFor();
    expect(await title.getAttribute('aria-invalid')).toBe('true');
    // Whoever has pressed the button below is brought to what is wrong above it.
    expect(await title.evaluate((node) => node === document.activeElement)).toBe(true);
    await seen.page.getByText('1 to 5', { exact: true }).waitFor();
    await seen.page.locator('form').getByText(`in shop ${stage.repository}`).waitFor();
    expect(await seen.page.getByLabel('Reviewers').inputValue()).toBe('2');
    expect((await stage.api<{ total: number }>('/api/executions')).total).toBe(0);
  });

  test('starts a run from the form, and watches steps appear', async () => {
    const scenario = join(stage.repository, 'scenario.toml');
    await seen.page.getByLabel('Title').fill('Dark mode');
    await seen.page.getByText('Workspace and agents').click();
    // An agent that is not understood is not left out: another one would do the work.
    await seen.page.getByLabel('Agents in the place of others').fill('scripted');
    await seen.page.getByRole('button', { name: 'Start', exact: true }).click();
    await seen.page.getByText('“scripted” does not say who works in whose place').waitFor();
    expect((await stage.api<{ total: number }>('/api/executions')).total).toBe(0);
    await seen.page.getByLabel('Agents in the place of others').fill(`claude=scripted:${scenario} codex=scripted:${scenario}`);
    await seen.page.getByRole('button', { name: 'Start', exact: true }).click();
    await seen.page.waitForURL(/\/runs\/feature-[a-z]+/);
    name = new URL(seen.page.url()).pathname.split('/').pop()!;
    const tree = seen.page.getByRole('tree', { name: 'Steps' });
    // Without reloading: each appears when it has begun.
    for (const step of ['plan', 'implement api', 'implement ui', 'implement docs', 'integration tests']) {
      await tree.getByRole('treeitem').filter({ hasText: step }).first().waitFor();
    }
    await tree.getByText('×3').waitFor();
    await stands('Needs you');
  });

  test('reads the log of a step, with its colours, and searches it', async () => {
    const { page } = seen;
    await page.getByRole('treeitem').filter({ hasText: 'integration tests' }).first().click();
    await page.getByRole('tab', { name: 'Log', exact: true }).click();
    const log = page.getByRole('log');
    await log.getByText('test result:').waitFor();
    const ok = log.getByText('ok', { exact: true });
    expect(await ok.evaluate((node) => getComputedStyle(node).color)).not.toBe(await log.evaluate((node) => getComputedStyle(node).color));
    await page.getByPlaceholder('Search the log').fill('CONNECTION REFUSED');
    // The first match is in sight at once.
    await page.getByText('1/2').waitFor();
    await page.getByPlaceholder('Search the log').press('Enter');
    await page.getByText('2/2').waitFor();
    expect(await log.locator('mark').first().textContent()).toBe('connection refused');
    await page.getByPlaceholder('Search the log').fill('');
    await page.getByLabel('At least this level').selectOption({ label: 'error and above' });
    await log.getByText('the database did not answer').first().waitFor();
    expect(await log.getByText('test result:').count()).toBe(0);
  });

  test('reads what an agent said, did and cost', async () => {
    const { page } = seen;
    await page.getByRole('treeitem').filter({ hasText: 'plan' }).nth(1).click();
    await page.getByRole('tab', { name: 'Agent' }).click();
    await page.getByText('I will read the code before I plan.').waitFor();
    await page.getByRole('region', { name: 'Prompt' }).getByText('Plan: Dark mode').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'API' }).first().waitFor();
    await page.getByText('Read', { exact: true }).waitFor();
    await page.getByText('$0.04').waitFor();
  });

  test('downloads an artifact, and looks at others', async () => {
    const { page } = seen;
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: 'Artifacts' }).click();
    await page.getByRole('button', { name: 'report.md' }).click();
    await page.getByRole('heading', { name: 'Report' }).waitFor();
    await page.getByRole('cell', { name: 'api' }).waitFor();
    await page.getByRole('button', { name: 'junit.xml' }).click();
    await page.getByText('1 failed').waitFor();
    await page.getByRole('button', { name: 'result.json' }).click();
    await page.getByText('passed').first().waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download result.json' }).click()]);
    expect(download.suggestedFilename()).toBe('result.json');
    expect(JSON.parse(readFileSync((await download.path()), 'utf8'))).toMatchObject({ ok: true, tests: { passed: 42 } });
  });

  test('comments on the run, and everybody sees it', async () => {
    const { page } = seen;
    await page.getByRole('tab', { name: 'Comments' }).click();
    await page.getByText('One question').waitFor();
    await page.getByLabel('Comment', { exact: true }).fill('Looks **good** to me');
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    await page.getByText('good', { exact: true }).waitFor();
    const run = await stage.api<{ comments: { message: string; author: string | null }[] }>(`/api/executions/${name}`);
    expect(run.comments.map((comment) => comment.message)).toContain('Looks **good** to me');
  });

  test('approves with the diff beside the question', async () => {
    const { page } = seen;
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByRole('heading', { name: 'Open a pull request for “Dark mode”?' }).waitFor();
    await page.getByText('println!("hello, world");').waitFor();
    await page.getByRole('region', { name: 'src/api.rs' }).getByText('new').waitFor();
    await page.getByLabel('Comment with the answer').fill('Well done');
    await page.getByRole('button', { name: 'Approve' }).click();
    await stands('Completed');
    const run = await stage.api<RunDocument & { output: unknown }>(`/api/executions/${name}`);
    expect(run).toMatchObject({ status: 'COMPLETED', output: { title: 'Dark mode' } });
    const { items } = await stage.api<{ items: { kind: string; entry: Record<string, unknown> }[] }>(`/api/executions/${name}/events?limit=1000`);
    expect(items.find(({ kind }) => kind === 'approval.given')?.entry).toMatchObject({ approved: true, comment: 'Well done' });
  });

  test('forks the run from a step, with the files as they were', async () => {
    const { page } = seen;
    // Who answered, and what was said, is the first thing about the question.
    await page.getByLabel('Find a step').fill('pull request');
    await page.getByRole('treeitem').filter({ hasText: 'Open a pull request' }).click();
    await page.getByRole('tabpanel').getByText('Well done').waitFor();
    await page.getByRole('tabpanel').getByText('Approved by').waitFor();
    await page.getByLabel('Find a step').fill('');
    await page.getByRole('treeitem').filter({ hasText: 'integration tests' }).first().click();
    await page.getByRole('button', { name: 'Fork' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('From step').locator('option:checked').textContent()).toContain('integration tests');
    // What is not understood is not left out in silence: the run would be another agent's.
    await dialog.getByLabel('Agents in the place of others').fill('scripted');
    await dialog.getByRole('button', { name: 'Fork' }).click();
    await dialog.getByText('“scripted” does not say who works in whose place').waitFor();
    await dialog.getByLabel('Agents in the place of others').fill('');
    await dialog.getByRole('button', { name: 'Fork' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(name));
    await page.getByRole('listitem').filter({ hasText: 'goes on from' }).getByRole('link', { name }).waitFor();
    await page.getByRole('listitem').filter({ hasText: /at \d+ integration tests/ }).waitFor();
    await page.locator('.axis .fold.isFork').waitFor({ state: 'attached' });
    await stands('Needs you');
    const fork = await stage.api<RunDocument>(`/api/executions/${new URL(page.url()).pathname.split('/').pop()!}`);
    const origin = await stage.api<RunDocument>(`/api/executions/${name}`);
    expect(String(fork['forked_from'])).toBe(origin.id);
    // And the way back: from the one to the other.
    await page.getByRole('listitem').filter({ hasText: 'goes on from' }).getByRole('link').click();
    await page.getByRole('listitem').filter({ hasText: 'goes on in' }).getByRole('link', { name: fork.run_id }).waitFor();
  });

  test('cancels a run, and its processes end', async () => {
    const { page } = seen;
    const slow = await stage.start('slow');
    await page.goto(`/runs/${slow.run_id}`);
    await page.getByRole('tab', { name: 'Log', exact: true }).click();
    // It follows what comes by itself.
    await page.getByRole('log').getByText('tick 12', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByLabel('Why').fill('enough');
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await stands('Cancelled');
    expect((await stage.api<RunDocument>(`/api/executions/${slow.id}`)).status).toBe('CANCELLED');
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByRole('tabpanel').getByText('enough', { exact: true }).waitFor();
  });

  test('sees the last lines of a run that ends while it is looked at', async () => {
    const { page } = seen;
    const run = await stage.start('feature', { title: 'Short', gate: false, pause: 800 });
    await page.goto(`/runs/${run.run_id}?tab=log`);
    await page.getByRole('log').getByText('I will read the code').waitFor();
    await stands('Completed');
    await page.getByPlaceholder('Search the log').fill('42 passed');
    await page.getByText('1/1').waitFor();
    await page.getByText(/\d+ lines/).waitFor();
    expect(await page.getByText('live', { exact: true }).count()).toBe(0);
  });

  test('asks the server for nothing while nothing happens', async () => {
    const { page } = seen;
    await page.goto('/');
    await page.getByRole('row').nth(1).waitFor();
    await page.waitForTimeout(1000);
    const asked: string[] = [];
    const hear = (request: { url: () => string }) => asked.push(request.url());
    page.on('request', hear);
    await page.waitForTimeout(2500);
    page.off('request', hear);
    expect(asked).toEqual([]);
  });

  test('sees why a run has failed: the error, and the line of the workflow', async () => {
    const { page } = seen;
    const broken = await stage.start('broken');
    await page.goto(`/runs/${broken.run_id}`);
    await stands('Failed');
    await page.getByText('.agent/workflows/templates/broken.ts:11').or(page.getByText('templates/broken.ts:11')).first().waitFor();
    await page.getByText('error[E0308]: mismatched types').first().waitFor();
    await page.getByRole('group', { name: 'Source' }).getByText('"cargo build"').waitFor();
  });

  test('sees the run of another worktree among the others, and can look at it alone', async () => {
    const { page } = seen;
    await stage.agentos(['run', 'broken'], stage.worktree).catch(() => 'it fails, as it should');
    await page.goto('/');
    const row = page.getByRole('row').filter({ hasText: 'hotfix' });
    await row.first().waitFor();
    await page.getByRole('button', { name: 'Failed' }).click();
    await page.waitForURL(/status=failed/);
    await until('only failed runs are shown', async () => ((await page.getByRole('row').filter({ hasText: 'Completed' }).count()) === 0 ? true : null));
    await page.getByLabel('Worktree').selectOption({ index: 1 });
    await page.waitForURL(/worktree=/);
    await page.reload();
    await page.getByRole('button', { name: 'Failed', pressed: true }).waitFor();
  });

  test('cancels several runs at once', async () => {
    const { page } = seen;
    const runs = [await stage.start('slow'), await stage.start('slow')];
    await page.goto('/?status=running');
    for (const run of runs) await page.getByLabel(`Select ${run.run_id}`).check();
    await page.getByRole('toolbar').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click();
    for (const run of runs) await stage.waitFor(run, ({ status }) => status === 'CANCELLED');
    await until('they leave the list', async () => ((await page.getByLabel(`Select ${runs[0]!.run_id}`).count()) === 0 ? true : null));
  });

  test('looks at a workflow, and cleans a workspace after its verdict is shown', async () => {
    const { page } = seen;
    await page.goto('/workflows');
    await page.getByRole('link', { name: /^feature/ }).first().click();
    await page.getByText('createWorkflow').first().waitFor();
    await page.getByText('1.2.0').first().waitFor();
    await page.goto('/workspaces');
    await page.getByRole('button', { name: `Clean ${name}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Work is in it that is nowhere else.').waitFor();
    await dialog.getByText('src/app.rs').waitFor();
    await dialog.getByRole('button', { name: 'Back up and remove' }).click();
    await page.getByText('was backed up and removed').waitFor();
    await page.getByLabel('Show removed').check();
    await page.getByRole('button', { name: `Restore ${name}` }).click();
    await page.getByText(`${name} is back`).waitFor();
  });

  test('gets everywhere by the keyboard', async () => {
    const { page } = seen;
    await page.goto('/');
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL(/\/workflows$/);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill(name);
    await page.getByRole('option').filter({ hasText: name }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(name));
    await page.getByRole('tree', { name: 'Steps' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.waitForURL(/at=/);
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Next row').waitFor();
    await page.keyboard.press('Escape');
  });

  test('has seen no error, and nothing has left the server', () => {
    seen.expectQuiet();
  });
});

describe('a server that goes away', () => {
  test('is missed, and the page goes on where it stood when it is back', async () => {
    const { page } = seen;
    const run = await stage.start('slow');
    await page.goto(`/runs/${run.run_id}?tab=log`);
    await page.getByRole('log').getByText('tick 3', { exact: true }).waitFor();
    await page.getByRole('treeitem').filter({ hasText: 'tick' }).first().click();
    const address = page.url();
    seen.mayBeOffline = true;
    await stage.halt('SIGKILL');
    await page.getByText('No connection to the server').waitFor();
    await page.getByRole('treeitem').filter({ hasText: 'tick' }).first().waitFor();
    await stage.serve();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(page.url()).toBe(address);
    // The run goes on, and so does what is seen of it.
    const now = await page.getByRole('log').textContent();
    const last = Number(/tick (\d+)(?!.*tick)/s.exec(now ?? '')?.[1] ?? 0);
    await page.getByRole('log').getByText(`tick ${last + 5}`, { exact: true }).waitFor();
    await stage.api(`/api/executions/${run.id}/cancel`, {});
    await stands('Cancelled');
    seen.mayBeOffline = false;
    seen.expectQuiet();
  });
});
