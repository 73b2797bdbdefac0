import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copy } from '../../../src/commands/copy/copy.ts';
import { CopyReport } from '../../../src/commands/copy/copy-report.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeRuntime } from '../runtime-listings.ts';
import { textStream } from './text-stream.ts';

test.each([
  ['fromPod', 'missing/copy', 'missing'],
  ['toPod', 'missing', 'missing'],
] as const)('a copy %s of %s needs what is there', async (direction, path, missing) => {
  const folder = await temporaryFolder();
  const container = { runtime: makeRuntime([], []), id: 'app-0', name: 'app' };
  const request = { direction, pod: 'web', podPath: '/data', localPath: join(folder, path) };
  const report = new CopyReport({ stderr: textStream(), clock: new FakeClock() });
  await expect(copy(container, request, report)).rejects.toThrow(`${join(folder, missing)} does not exist`);
});
