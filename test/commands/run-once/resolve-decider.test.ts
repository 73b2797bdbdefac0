import { expect, test } from 'vitest';
import { resolveDecider } from '../../../src/commands/run-once/resolve-decider.ts';
import { makePod } from '../../builders/pods.ts';

const podNamed = (namespace: string, name: string, ...containers: string[]) =>
  makePod({
    metadata: { namespace, name, uid: `${namespace}-${name}` },
    spec: { containers: containers.map((container) => ({ name: container })) },
  });
const pods = [podNamed('default', 'test-edge1', 'app', 'helper'), podNamed('ci', 'db-edge1', 'db')];

test.each([
  ['test', 'default-test-edge1', undefined],
  ['test-edge1', 'default-test-edge1', undefined],
  ['ci/db', 'ci-db-edge1', undefined],
  ['test/helper', 'default-test-edge1', 'helper'],
  ['ci/db/db', 'ci-db-edge1', 'db'],
])('%s', (text, podUID, container) => {
  expect(resolveDecider(text, pods, 'edge1')).toEqual({ podUID, container });
});

test.each(['nope', 'test/nope', 'ci/test'])('%s names nothing', (text) => {
  expect(() => resolveDecider(text, pods, 'edge1')).toThrow(`--exit-code-from ${text} matches no pod or container`);
});

test('the beginning of a name names nothing', () => {
  const admin = [podNamed('default', 'test-db-edge1', 'db')];
  expect(() => resolveDecider('test', admin, 'edge1')).toThrow('--exit-code-from test matches no pod or container');
  expect(() => resolveDecider('test/db', admin, 'edge1')).toThrow(
    '--exit-code-from test/db matches no pod or container',
  );
});
