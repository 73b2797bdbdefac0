import { expect, test } from 'vitest';
import { nestedMountPoints } from '../../../src/engine/volumes/content-volume.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

/** A pod with a container for every list; `own` is mounted at the first path, other volumes at the rest. */
const podMounting = (...containers: string[][]) =>
  makePod({
    spec: {
      containers: containers.map((paths, at) =>
        makeContainer({
          name: `c${at}`,
          volumeMounts: paths.map((mountPath, index) => ({ name: index === 0 ? 'own' : `other${index}`, mountPath })),
        }),
      ),
    },
  });

test.each<[string, string[][], string[]]>([
  ['a mount next to the volume needs no folder', [['/etc/app', '/etc/app2', '/etc', '/data']], []],
  ['a mount inside the volume needs a folder', [['/etc/app', '/etc/app/certs', '/etc/app/a/b']], ['certs', 'a/b']],
  ['a mount inside a nested mount needs no folder in the volume', [['/a', '/a/b/c', '/a/b']], ['b']],
  ['paths are normalized before they are compared', [['/a//b/', '/a/./b/c/']], ['c']],
  [
    'every container counts, the same folder once',
    [
      ['/a', '/a/b'],
      ['/x', '/x/b', '/x/c'],
    ],
    ['b', 'c'],
  ],
])('%s', (_title, containers, folders) => {
  expect(nestedMountPoints(podMounting(...containers), 'own')).toEqual(folders);
});

test('a path outside of the container is rejected', () => {
  expect(() => nestedMountPoints(podMounting(['../a']), 'own')).toThrow('invalid container mount point ../a');
});
