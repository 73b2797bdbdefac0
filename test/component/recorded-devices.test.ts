import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { findGoldenFiles } from '../golden-runner/golden-file.ts';
import { replayOf } from '../golden-runner/replay.ts';

const golden = fileURLToPath(new URL('../golden', import.meta.url));
const cases = findGoldenFiles(golden)
  .filter((file) => file.kind === 'server' && file.tests === 'component')
  .flatMap((file) => replayOf(file).cases)
  .filter(({ isShownElsewhere }) => isShownElsewhere !== true);

describe('the kubelet that was recorded with device plugins', () => {
  test.each(cases)('is agreed with in case $name', async ({ run }) => {
    expect(await run()).not.toHaveProperty('because');
  });
});
