import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Gives the tests of a project a folder for their temporary files. The run fails when they leave any of them there. */
export default async function setUp({ config }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'kubelet-ts-tests-'));
  config.env = { ...config.env, TMPDIR: folder };
  return async () => {
    const left = await readdir(folder);
    await rm(folder, { recursive: true, force: true });
    if (left.length === 0) return;
    // Vitest only prints what is thrown here.
    process.exitCode = 1;
    throw new Error(`The tests left ${left.join(', ')} in their folder of temporary files`);
  };
}
