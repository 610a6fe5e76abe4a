import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { project, setUp, showsStatus, watched } from './setup.ts';

setUp();

/** The workflow has this body from now on. */
function write(body: string): void {
  const text = `import { createWorkflow } from "agentos";\nexport default createWorkflow({ name: "mended" }, async (ctx) => {\n${body}\n});\n`;
  writeFileSync(join(project.repository, '.agent/workflows/templates/mended.ts'), text);
}

const BROKEN = 'await ctx.run("build", async () => { throw new Error("a bug"); }, { retry: { maxAttempts: 1 } });';
const WAITS = 'await ctx.run("plan", async () => "planned");\nawait ctx.waitFor("go");\nreturn "old";';

const dialog = () => watched.page.getByRole('dialog');
const latest = () => dialog().getByRole('checkbox', { name: 'With the workflow as it is now' });

test('a failed run is tried again with its workflow as it is now', async () => {
  const { page } = watched;
  write(BROKEN);
  const failed = await project.start('mended');
  await project.waitFor(failed, ({ status }) => status === 'FAILED');
  write('return "mended";');
  await project.waitFor(failed, ({ changed }) => changed !== null);
  await page.goto(`/runs/${failed.run_id}`);
  await page.getByRole('button', { name: 'Retry' }).click();
  await dialog().getByText('The workflow mended has changed since.').waitFor();
  await expect.poll(() => latest().isChecked()).toBe(true);
  await dialog().getByRole('button', { name: 'Retry' }).click();
  await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(failed.run_id));
  await showsStatus('Completed');
});

test('a run that waits goes on with its workflow as it is now, and so does a fork', async () => {
  const { page } = watched;
  write(WAITS);
  const run = await project.start('mended');
  await project.waitFor(run, ({ waiting }) => waiting !== null);
  write('await ctx.run("plan", async () => "planned");\nreturn "new";');
  await page.goto(`/runs/${run.run_id}`);
  await showsStatus('Waiting for go');
  await page.getByRole('button', { name: 'Latest…' }).click();
  await expect.poll(() => latest().isChecked()).toBe(true);
  await dialog().getByRole('button', { name: 'Resume' }).click();
  await showsStatus('Completed');
  expect((await project.api<{ output: unknown }>(`/api/executions/${run.id}`)).output).toBe('new');

  write('await ctx.run("plan", async () => "planned");\nreturn "newer";');
  await page.getByRole('button', { name: 'Fork' }).click();
  await expect.poll(() => latest().isChecked()).toBe(false);
  await latest().check();
  await dialog().getByRole('button', { name: 'Fork' }).click();
  await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(run.run_id));
  await showsStatus('Completed');
  const fork = await project.api<{ output: unknown }>(`/api/executions/${new URL(page.url()).pathname.split('/').pop()!}`);
  expect(fork.output).toBe('newer');
  watched.expectQuiet();
});
