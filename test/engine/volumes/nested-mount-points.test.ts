import { expect, test } from 'vitest';
import { nestedMountPoints } from '../../../src/engine/volumes/payload-volume.ts';
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
  ['what is mounted beside it has no folder in it', [['/etc/app', '/etc/app2', '/etc', '/data']], []],
  ['what is mounted in it has a folder', [['/etc/app', '/etc/app/certs', '/etc/app/a/b']], ['certs', 'a/b']],
  ['what is mounted deeper in something mounted in it has its folder there', [['/a', '/a/b/c', '/a/b']], ['b']],
  ['paths are compared as they are meant', [['/a//b/', '/a/./b/c/']], ['c']],
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

test('a path that leads out of the container is refused', () => {
  expect(() => nestedMountPoints(podMounting(['../a']), 'own')).toThrow('invalid container mount point ../a');
});
