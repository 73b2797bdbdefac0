import { expect, test } from 'vitest';
import { expand } from '../../../src/api/values/expand.ts';
import { overridePods } from '../../../src/node/run-once/pod-overrides.ts';
import { makePod } from '../../builders/pods.ts';

const pod = makePod({
  spec: {
    initContainers: [{ name: 'setup', image: 'a:1', imagePullPolicy: 'Never' }],
    containers: [{ name: 'app', image: 'b:1', imagePullPolicy: 'IfNotPresent', env: [{ name: 'A', value: '1' }] }],
  },
});
const none = new Map<string, string>();
const specOf = (changed: ReturnType<typeof overridePods>) =>
  changed.map(({ spec: { initContainers, containers } }) => ({ initContainers, containers }));

test('an image replaces that of the only container, and its default policy follows', () => {
  const changed = overridePods([pod], { env: none, images: [{ container: undefined, image: 'c:latest' }] });
  expect(specOf(changed)).toEqual([
    {
      initContainers: pod.spec.initContainers,
      containers: [{ name: 'app', image: 'c:latest', imagePullPolicy: 'Always', env: [{ name: 'A', value: '1' }] }],
    },
  ]);
});

test('a policy that was chosen stays', () => {
  const changed = overridePods([pod], { env: none, images: [{ container: 'setup', image: 'c:latest' }] });
  expect(changed[0]?.spec.initContainers).toEqual([{ name: 'setup', image: 'c:latest', imagePullPolicy: 'Never' }]);
});

test('variables replace those of the manifest in their place, and others come first', () => {
  const env = new Map([
    ['A', '2'],
    ['B', '3'],
  ]);
  const [changed] = overridePods([pod], { env, images: [] });
  expect(changed?.spec.containers[0]?.env).toEqual([
    { name: 'B', value: '3' },
    { name: 'A', value: '2' },
  ]);
  expect(changed?.spec.initContainers?.[0]?.env).toEqual([
    { name: 'A', value: '2' },
    { name: 'B', value: '3' },
  ]);
});

test('a container that no pod has is refused, and one is asked for if there are several', () => {
  const other = makePod({ spec: { containers: [{ name: 'web', image: 'b:1' }] } });
  expect(() => overridePods([pod], { env: none, images: [{ container: 'x', image: 'c' }] })).toThrow(
    '--set: no pod has a container x',
  );
  expect(() => overridePods([pod, other], { env: none, images: [{ container: undefined, image: 'c' }] })).toThrow(
    '--set image=… is ambiguous with several containers',
  );
});

test.each(['pa$$word', '$(A)', '$', '$$(A)'])('the value %s of a variable reaches the container as it is', (value) => {
  const [changed] = overridePods([pod], { env: new Map([['B', value]]), images: [] });
  const [given] = changed?.spec.containers[0]?.env ?? [];
  expect(expand(given?.value ?? '', () => 'expanded')).toBe(value);
});
