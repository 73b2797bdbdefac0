import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesOfLongJSON } from '../../../src/server/control/control-answer.ts';

const value = fc.oneof(fc.anything(), fc.constant(undefined), fc.array(fc.anything()));

test('the bytes in parts are those of the whole text', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), value), (object) => {
      expect(bytesOfLongJSON(object).toString()).toBe(JSON.stringify(object));
    }),
  );
});
