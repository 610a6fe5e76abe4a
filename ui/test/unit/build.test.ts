import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

// The program is built without the dashboard where this fails, and the last line is all that is said of it.
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentos-build-'));
  copyFileSync(new URL('../../build.mjs', import.meta.url), join(folder, 'build.mjs'));
  writeFileSync(join(folder, 'package-lock.json'), '{}');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('where npm is missing it is said so, and nothing half built is left', () => {
  const { status, stderr } = spawnSync(process.execPath, ['build.mjs'], { cwd: folder, env: { PATH: folder }, encoding: 'utf8' });
  expect([status, stderr.trim().split('\n').at(-1)]).toEqual([1, 'npm is not installed']);
  expect(existsSync(join(folder, 'dist'))).toBe(false);
});
