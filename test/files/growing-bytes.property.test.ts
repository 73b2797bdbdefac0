import { queryObjects } from 'node:v8';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GrowingBytes } from '../../src/files/growing-bytes.ts';

test('returns all parts in order, and keeps none', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (parts) => {
      const bytes = new GrowingBytes();
      for (const part of parts) bytes.add(part);
      const expected = Buffer.concat(parts);
      expect([bytes.length, bytes.drain(), bytes.length]).toEqual([expected.length, expected, 0]);
      bytes.add([7]);
      expect(bytes.drain()).toEqual(Buffer.from([7]));
    }),
  );
});

test('keeps nothing of the reads that its parts came with', () => {
  class Read extends ArrayBuffer {}
  const bytes = new GrowingBytes();
  for (let index = 0; index < 100; index += 1) bytes.add(new Uint8Array(new Read(65_536), 0, 1));
  expect([queryObjects(Read, { format: 'count' }), bytes.length]).toEqual([0, 100]);
});
