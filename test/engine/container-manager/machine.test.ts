import { expect, test } from 'vitest';
import { parseSwaps } from '../../../src/engine/container-manager/machine.ts';

test('swap is every line below the heading of /proc/swaps', () => {
  const heading = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
  expect(parseSwaps(heading)).toEqual([]);
  expect(
    parseSwaps(
      `${heading}/dev/zram0                              partition\t4095996\t\t0\t\t100\n/swap\\040file                            file\t\t1024\t\t0\t\t-2\n`,
    ),
  ).toEqual([
    { name: '/dev/zram0', sizeBytes: 4_194_299_904n },
    { name: '/swap\\040file', sizeBytes: 1_048_576n },
  ]);
});
