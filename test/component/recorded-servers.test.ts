import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { findGoldenFiles } from '../golden-runner/golden-file.ts';
import { replayOf } from '../golden-runner/replay.ts';

const golden = fileURLToPath(new URL('../golden', import.meta.url));
const files = findGoldenFiles(golden).filter(({ kind }) => kind === 'server');

describe.each(files.map((file) => ({ path: relative(golden, file.path), file })))(
  'the servers of the kubelet that were recorded in $path',
  ({ file }) => {
    const { cases, end } = replayOf(file);
    afterAll(() => end?.());
    test.each(cases.filter(({ isShownElsewhere }) => isShownElsewhere !== true))(
      'are agreed with in case $name',
      async ({ run }) => {
        expect(await run()).not.toHaveProperty('because');
      },
    );
  },
);
