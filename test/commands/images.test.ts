import { expect, test } from 'vitest';
import { sizeText } from '../../src/commands/images.ts';

test.each<[bytes: bigint, text: string]>([
  [0n, '0B'],
  [999n, '999B'],
  [1000n, '1kB'],
  [765_957n, '766kB'],
  [999_600n, '1MB'],
  [2_340_000n, '2.34MB'],
  [71_600_000n, '71.6MB'],
  [456_700_000n, '457MB'],
  [1_240_000_000n, '1.24GB'],
])('%d bytes are shown as %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
