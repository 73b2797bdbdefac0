import { expect, test } from 'vitest';
import { computeConfigObjectChanges } from '../../../src/node/diff/config-object-changes.ts';
import { makePriorityClass, makeRuntimeClass } from '../../builders/node-classes.ts';

test('the changed fields of a class are named', () => {
  const before = [makeRuntimeClass('sandboxed'), makePriorityClass('high', 9)];
  const after = [makeRuntimeClass('sandboxed', { handler: 'kata', overhead: { cpu: '1' } })];
  expect(computeConfigObjectChanges(before, after, [])).toEqual([
    {
      action: 'remove',
      kind: 'PriorityClass',
      name: 'high',
      keys: { value: 'removed', globalDefault: 'removed', preemptionPolicy: 'removed' },
      effects: [],
    },
    {
      action: 'change',
      kind: 'RuntimeClass',
      name: 'sandboxed',
      keys: { handler: 'changed', overhead: 'added' },
      effects: [],
    },
  ]);
});
