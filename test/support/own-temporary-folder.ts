import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Creates a folder for the temporary files of all tests in a project. The run fails if a file is left in it. */
export default async function setUp({ config }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'kubelet-ts-tests-'));
  config.env = { ...config.env, TMPDIR: folder };
  return async () => {
    const left = await readdir(folder);
    await rm(folder, { recursive: true, force: true });
    if (left.length === 0) return;
    // The exit code is set here, because Vitest only prints an error thrown in a teardown.
    process.exitCode = 1;
    throw new Error(`The tests left ${left.join(', ')} in their folder of temporary files`);
  };
}
