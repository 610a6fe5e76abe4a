import { json } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { pressSequence, WatchedPage } from './browser.ts';
import type { RunDocument } from './server.ts';
import { browser, project, server, setUp, showsStatus, watched } from './setup.ts';

setUp();

describe('a user with a browser', () => {
  let name = '';

  test('finds that nothing has run, and a way to start', async () => {
    await watched.page.goto('/');
    await watched.page.getByText('Nothing has run here yet').waitFor();
    await watched.page.getByRole('link', { name: 'Start a run' }).first().click();
    await watched.page.getByRole('heading', { name: 'Start a run' }).waitFor();
    await watched.page.getByRole('link', { name: /^feature/ }).waitFor();
  });

  test('is told what is wrong with the form before anything is sent', async () => {
    await watched.page.getByRole('link', { name: /^feature/ }).click();
    const title = watched.page.getByLabel('Title');
    await title.fill('ab');
    // In the order of the template, not of the alphabet.
    const labels = (await watched.page.locator('form > .input label').allInnerTexts()).map((label) => label.replace(/\s*\*$/, '').trim());
    expect(labels).toEqual(['Title', 'Brief', 'Priority', 'Reviewers', 'Ask before it is done', 'Hold']);
    await watched.page.getByRole('button', { name: 'Start', exact: true }).click();
    await watched.page.getByText('At least 3 characters.').waitFor();
    await expect.poll(() => title.getAttribute('aria-invalid')).toBe('true');
    // The button is below the field that is wrong: the field gets the focus.
    await expect.poll(() => title.evaluate((node) => node === document.activeElement)).toBe(true);
    await watched.page.getByText('1 to 5', { exact: true }).waitFor();
    await watched.page.locator('form').getByText(`in shop ${project.repository}`).waitFor();
    expect(await watched.page.getByLabel('Reviewers').inputValue()).toBe('2');
    expect((await project.api<{ total: number }>('/api/executions')).total).toBe(0);
  });

  test('starts a run from the form, and watches steps appear', async () => {
    const agent = `scripted:${project.scenario}`;
    await watched.page.getByLabel('Title').fill('Dark mode');
    await watched.page.getByText('Workspace and agents').click();
    // Text that names no agent is refused: if it were ignored, another agent would do the work.
    await watched.page.getByLabel('Agents in the place of others').fill('scripted');
    await watched.page.getByRole('button', { name: 'Start', exact: true }).click();
    await watched.page.getByText('“scripted” does not say who works in whose place').waitFor();
    expect((await project.api<{ total: number }>('/api/executions')).total).toBe(0);
    await watched.page.getByLabel('Agents in the place of others').fill(`claude=${agent} codex=${agent}`);
    await watched.page.getByRole('button', { name: 'Start', exact: true }).click();
    await watched.page.waitForURL(/\/runs\/feature-[a-z]+/);
    name = new URL(watched.page.url()).pathname.split('/').pop()!;
    const tree = watched.page.getByRole('tree', { name: 'Steps' });
    // Without reloading: each appears when it has begun.
    for (const step of ['plan', 'implement api', 'implement ui', 'implement docs', 'integration tests']) {
      await tree.getByRole('treeitem').filter({ hasText: step }).first().waitFor();
    }
    await tree.getByText('×3').waitFor();
    await showsStatus('Needs you');
  });

  test('reads the log of a step, with its colours, and searches it', async () => {
    const { page } = watched;
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
    await log.locator('mark').filter({ hasText: /^connection refused$/ }).first().waitFor();
    await page.getByPlaceholder('Search the log').fill('');
    await page.getByLabel('At least this level').selectOption({ label: 'error and above' });
    await log.getByText('the database did not answer').first().waitFor();
    await log.getByText('test result:').waitFor({ state: 'detached' });
  });

  test('reads what an agent said, did and cost', async () => {
    const { page } = watched;
    await page.getByRole('treeitem').filter({ hasText: 'plan' }).nth(1).click();
    await page.getByRole('tab', { name: 'Agent' }).click();
    await page.getByText('I will read the code before I plan.').waitFor();
    await page.getByRole('region', { name: 'Prompt' }).getByText('Plan: Dark mode').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'API' }).first().waitFor();
    await page.getByText('Read', { exact: true }).waitFor();
    await page.getByText('$0.04').waitFor();
  });

  test('downloads an artifact, and looks at others', async () => {
    const { page } = watched;
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'The whole run' }).waitFor();
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
    expect(await json(await download.createReadStream())).toMatchObject({ ok: true, tests: { passed: 42 } });
  });

  test('comments on the run, and the server has the comment', async () => {
    const { page } = watched;
    await page.getByRole('tab', { name: 'Comments' }).click();
    await page.getByText('One question').waitFor();
    await page.getByLabel('Comment', { exact: true }).fill('Looks **good** to me');
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    await page.getByText('good', { exact: true }).waitFor();
    const comments = async () => (await project.api<{ comments: { message: string }[] }>(`/api/executions/${name}`)).comments.map(({ message }) => message);
    await expect.poll(comments).toContain('Looks **good** to me');
  });

  test('approves with the diff beside the question', async () => {
    const { page } = watched;
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByRole('heading', { name: 'Open a pull request for “Dark mode”?' }).waitFor();
    await page.getByText('println!("hello, world");').waitFor();
    await page.getByRole('region', { name: 'src/api.rs' }).getByText('new').waitFor();
    await page.getByLabel('Comment with the answer').fill('Well done');
    await page.getByRole('button', { name: 'Approve' }).click();
    await showsStatus('Completed');
    const run = await project.api<RunDocument & { output: unknown }>(`/api/executions/${name}`);
    expect(run).toMatchObject({ status: 'COMPLETED', output: { title: 'Dark mode' } });
    const { items } = await project.api<{ items: { kind: string; entry: Record<string, unknown> }[] }>(`/api/executions/${name}/events?limit=1000`);
    expect(items.find(({ kind }) => kind === 'approval.given')?.entry).toMatchObject({ approved: true, comment: 'Well done' });
  });

  test('forks the run from a step, with the files as they were', async () => {
    const { page } = watched;
    // Of a question, the page shows first who answered it, and with what comment.
    await page.getByLabel('Find a step').fill('pull request');
    await page.getByRole('treeitem').filter({ hasText: 'Open a pull request' }).click();
    await page.getByRole('tabpanel').getByText('Well done').waitFor();
    await page.getByRole('tabpanel').getByText('Approved by').waitFor();
    await page.getByLabel('Find a step').fill('');
    await page.getByRole('treeitem').filter({ hasText: 'integration tests' }).first().click();
    await page.getByRole('button', { name: 'Fork' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByLabel('From step').locator('option:checked').textContent()).toContain('integration tests');
    // Text that names no agent is refused: if it were ignored, another agent would do the work.
    await dialog.getByLabel('Agents in the place of others').fill('scripted');
    await dialog.getByRole('button', { name: 'Fork' }).click();
    await dialog.getByText('“scripted” does not say who works in whose place').waitFor();
    await dialog.getByLabel('Agents in the place of others').fill('');
    await dialog.getByRole('button', { name: 'Fork' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(name));
    await page.getByRole('listitem').filter({ hasText: 'goes on from' }).getByRole('link', { name }).waitFor();
    await page.getByRole('listitem').filter({ hasText: /at \d+ integration tests/ }).waitFor();
    await page.locator('.axis .fold.isFork').waitFor({ state: 'attached' });
    await showsStatus('Needs you');
    const fork = await project.api<RunDocument>(`/api/executions/${new URL(page.url()).pathname.split('/').pop()!}`);
    const origin = await project.api<RunDocument>(`/api/executions/${name}`);
    expect(String(fork['forked_from'])).toBe(origin.id);
    // Each of the two has a link to the other.
    await page.getByRole('listitem').filter({ hasText: 'goes on from' }).getByRole('link').click();
    await page.getByRole('listitem').filter({ hasText: 'goes on in' }).getByRole('link', { name: fork.run_id }).waitFor();
  });

  test('cancels a run, and its processes end', async () => {
    const { page } = watched;
    const slow = await project.start('slow', { lines: 100 });
    await page.goto(`/runs/${slow.run_id}`);
    await page.getByRole('tab', { name: 'Log', exact: true }).click();
    // The log follows new lines without being asked to: the page draws only lines in sight, and these are past its end.
    await page.getByRole('log').getByText(/^tick (10[1-9]|1[1-9]\d|[2-9]\d\d)$/).first().waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByLabel('Why').fill('enough');
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await showsStatus('Cancelled');
    expect((await project.api<RunDocument>(`/api/executions/${slow.id}`)).status).toBe('CANCELLED');
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByRole('tabpanel').getByText('enough', { exact: true }).waitFor();
  });

  test('sees the last lines of a run that ends while it is looked at', async () => {
    const { page } = watched;
    const hold = project.hold();
    const run = await project.start('feature', { title: 'Short', gate: false, hold: hold.file });
    await page.goto(`/runs/${run.run_id}?tab=log`);
    // Each part has said something, and waits.
    await page.getByRole('log').getByText('Compiling').nth(2).waitFor();
    hold.release();
    await showsStatus('Completed');
    await page.getByPlaceholder('Search the log').fill('42 passed');
    await page.getByText('1/1').waitFor();
    await page.getByText(/\d+ lines/).waitFor();
    await page.getByText('live', { exact: true }).waitFor({ state: 'detached' });
  });

  test('makes no request to the server while nothing happens', async () => {
    // Its clock can be set forward: everything that the page would do in ten minutes is done at once.
    const idle = await WatchedPage.open(browser, server.url);
    const { page } = idle;
    await page.clock.install();
    await page.goto('/');
    await page.getByRole('row').nth(1).waitFor();
    await idle.settled();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.clock.runFor(600_000);
    await idle.settled();
    expect(asked).toEqual([]);
    await idle.close();
  });

  test('sees why a run has failed: the error, and the line of the workflow', async () => {
    const { page } = watched;
    const broken = await project.start('broken');
    await page.goto(`/runs/${broken.run_id}`);
    await showsStatus('Failed');
    await page.getByText('.agent/workflows/templates/broken.ts:11').or(page.getByText('templates/broken.ts:11')).first().waitFor();
    await page.getByText('error[E0308]: mismatched types').first().waitFor();
    await page.getByRole('group', { name: 'Source' }).getByText('"cargo build"').waitFor();
  });

  test('sees the run of another worktree among the others, and can look at it alone', async () => {
    const { page } = watched;
    const failed = await project.agentos(['run', 'broken'], project.worktree).catch((error: { code?: number; stdout?: string; stderr?: string }) => error);
    // Its failure is its purpose: exit code 1 is that of a run that failed.
    expect(failed, JSON.stringify(failed)).toMatchObject({ code: 1 });
    await page.goto('/');
    const row = page.getByRole('row').filter({ hasText: 'hotfix' });
    await row.first().waitFor();
    await page.getByRole('button', { name: 'Failed' }).click();
    await page.waitForURL(/status=failed/);
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'Completed' }).count()).toBe(0);
    await page.getByLabel('Worktree').selectOption({ index: 1 });
    await page.waitForURL(/worktree=/);
    await page.reload();
    await page.getByRole('button', { name: 'Failed', pressed: true }).waitFor();
  });

  test('sees a run that came after the list was read and before the server tells of news', async () => {
    const late = await WatchedPage.open(browser, server.url);
    const { page } = late;
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    await page.routeWebSocket(/\/ws$/, (socket) => {
      const upstream = socket.connectToServer();
      socket.onMessage((message) => void isReleased.then(() => upstream.send(message)));
    });
    await page.goto('/');
    await page.getByRole('row').nth(1).waitFor();
    const run = await project.startShort(1);
    await project.waitFor(run, ({ status }) => status === 'COMPLETED');
    expect(await page.getByText(run.run_id).count()).toBe(0);
    release();
    await page.getByText(run.run_id).first().waitFor();
    await late.close();
  });

  test('cancels several runs at once', async () => {
    const { page } = watched;
    const runs = [await project.start('slow'), await project.start('slow')];
    await page.goto('/?status=running');
    for (const run of runs) await page.getByLabel(`Select ${run.run_id}`).check();
    await page.getByRole('toolbar').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click();
    for (const run of runs) await project.waitFor(run, ({ status }) => status === 'CANCELLED');
    for (const run of runs) await page.getByLabel(`Select ${run.run_id}`).waitFor({ state: 'detached' });
  });

  test('looks at a workflow, and removes a workspace after the page has shown what would be lost', async () => {
    const { page } = watched;
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
    const { page } = watched;
    await page.goto('/');
    await page.getByRole('row').nth(1).waitFor();
    await pressSequence(page, 'g', 'w');
    await page.waitForURL(/\/workflows$/);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill(name);
    await page.getByRole('option', { selected: true }).filter({ hasText: name }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(name));
    await page.getByRole('treeitem').nth(1).waitFor();
    await watched.settled();
    // The phase, then the step in it, which has the same name.
    const selected = (level: number) => page.getByRole('treeitem', { selected: true, level }).filter({ hasText: 'plan' });
    await page.keyboard.press('j');
    await selected(1).waitFor();
    await page.keyboard.press('j');
    await selected(2).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Next row').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('has seen no error, and the page has asked no other server', () => {
    watched.expectQuiet();
  });
});
