import { expect, test } from 'vitest';
import { withoutDisabledFields } from '../../../src/api/values/disabled-fields.ts';
import { defaultFeatureGates } from '../../../src/api/values/feature-gates.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

test('without its gate the engine does not see which signal stops a container', () => {
  const preStop = { sleep: { seconds: 1 } };
  const pod = makePod({
    spec: {
      initContainers: [makeContainer({ name: 'init', lifecycle: { stopSignal: 'SIGINT' } })],
      containers: [makeContainer({ lifecycle: { stopSignal: 'SIGUSR1', preStop } }), makeContainer({ name: 'plain' })],
    },
  });
  const { containers, initContainers } = withoutDisabledFields(pod, defaultFeatureGates).spec;
  expect([...(initContainers ?? []), ...containers].map(({ lifecycle }) => lifecycle)).toEqual([
    {},
    { preStop },
    undefined,
  ]);
  expect(withoutDisabledFields(pod, { ...defaultFeatureGates, ContainerStopSignals: true })).toBe(pod);
  const plain = makePod();
  expect(withoutDisabledFields(plain, defaultFeatureGates)).toBe(plain);
});
