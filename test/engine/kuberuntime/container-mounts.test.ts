import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Container } from '../../../src/api/types.ts';
import { writeInPlace } from '../../../src/files/regular-file.ts';
import { containerMounts, generateContainerMounts } from '../../../src/engine/kuberuntime/container-mounts.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let podDir: string;
beforeEach(async () => {
  podDir = join(await temporaryFolder(), 'u1');
  await mkdir(podDir);
});

let selinuxEnabled = false;

const requestOf = (container: Container) => ({
  pod: makePod({ spec: { containers: [container] } }),
  container,
  podIPs: ['10.88.0.2'],
  envs: [{ name: 'TEAM', value: 'blue' }],
  volumes: new Map([
    ['data', { hostPath: '/host/data', readOnly: false, managed: false }],
    ['cache', { hostPath: '/host/cache', readOnly: false, managed: true }],
    ['config', { hostPath: '/host/config', readOnly: true, managed: true }],
  ]),
  supportsRecursiveReadOnly: true,
  podDir,
  clusterDomain: '',
  selinuxEnabled,
});

const mountsOf = (container: Container) =>
  containerMounts(requestOf(container), (_pod, content) => writeInPlace(join(podDir, 'etc-hosts'), content, 0o644));

test('volumes come in the order of the spec, then the hosts file, then the termination log', async () => {
  const container = makeContainer({
    terminationMessagePath: '/dev/termination-log',
    volumeMounts: [
      { name: 'data', mountPath: '/data', readOnly: true },
      { name: 'cache', mountPath: 'relative', mountPropagation: 'HostToContainer' },
      { name: 'data', mountPath: '/both', mountPropagation: 'Bidirectional' },
    ],
  });
  const mounts = await mountsOf(container);
  const [log = ''] = await readdir(join(podDir, 'containers', 'web'));
  expect(mounts).toEqual([
    { containerPath: '/data', hostPath: '/host/data', readonly: true, propagation: 'PROPAGATION_PRIVATE' },
    {
      containerPath: '/relative',
      hostPath: '/host/cache',
      readonly: false,
      propagation: 'PROPAGATION_HOST_TO_CONTAINER',
    },
    { containerPath: '/both', hostPath: '/host/data', readonly: false, propagation: 'PROPAGATION_BIDIRECTIONAL' },
    { containerPath: '/etc/hosts', hostPath: join(podDir, 'etc-hosts') },
    { containerPath: '/dev/termination-log', hostPath: join(podDir, 'containers', 'web', log) },
  ]);
});

test('what is ours gets the label of the container once, where the machine has SELinux', async () => {
  selinuxEnabled = true;
  const volumeMounts = ['data', 'cache', 'cache'].map((name, index) => ({ name, mountPath: `/${index}` }));
  const mounts = await mountsOf(makeContainer({ terminationMessagePath: '/dev/termination-log', volumeMounts }));
  selinuxEnabled = false;
  expect(mounts.map(({ containerPath, selinuxRelabel }) => [containerPath, selinuxRelabel])).toEqual([
    ['/0', undefined],
    ['/1', true],
    ['/2', undefined],
    ['/etc/hosts', true],
    ['/dev/termination-log', true],
  ]);
});

test('a volume that can only be read is mounted so', async () => {
  const mounts = await mountsOf(makeContainer({ volumeMounts: [{ name: 'config', mountPath: '/config' }] }));
  expect(mounts[0]).toEqual({
    containerPath: '/config',
    hostPath: '/host/config',
    readonly: true,
    propagation: 'PROPAGATION_PRIVATE',
  });
});

test('the hosts file names the pod, and is the same file for every container', async () => {
  await mountsOf(makeContainer());
  const { ino } = await stat(join(podDir, 'etc-hosts'));
  await mountsOf(makeContainer({ name: 'other' }));
  const after = await stat(join(podDir, 'etc-hosts'));
  expect({ ino: after.ino, mode: after.mode & 0o777 }).toEqual({ ino, mode: 0o644 });
  expect(await readFile(join(podDir, 'etc-hosts'), 'utf8')).toMatch(/^10\.88\.0\.2\tweb-node1$/m);
});

test('a named pipe in the place of the hosts file gives way to a new file', async () => {
  execFileSync('mkfifo', [join(podDir, 'etc-hosts')]);
  await mountsOf(makeContainer());
  expect(await readFile(join(podDir, 'etc-hosts'), 'utf8')).toMatch(/^10\.88\.0\.2\tweb-node1$/m);
});

test('a container that mounts /etc/hosts itself keeps what it mounts', async () => {
  const container = makeContainer({ volumeMounts: [{ name: 'data', mountPath: '/etc/hosts' }] });
  expect((await mountsOf(container)).map(({ hostPath }) => hostPath)).toEqual(['/host/data']);
});

test('termination logs of earlier starts go, those without a message first', async () => {
  const container = makeContainer({ terminationMessagePath: 'log' });
  const texts = ['first', 'second', '', 'third', 'fourth', 'fifth', ''];
  for (const [index, text] of texts.entries()) {
    const path = (await mountsOf(container)).at(-1)?.hostPath ?? '';
    await writeFile(path, text);
    await utimes(path, index, index);
  }
  const folder = join(podDir, 'containers', 'web');
  const left = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
  expect(left.sort()).toEqual(['', 'fifth', 'fourth', 'second', 'third']);
});

test('each start of a container gets its own termination log, which everybody may write', async () => {
  const container = makeContainer({ terminationMessagePath: 'log' });
  const paths = [await mountsOf(container), await mountsOf(container)].map((mounts) => mounts.at(-1)?.hostPath ?? '');
  expect(new Set(paths).size).toBe(2);
  for (const path of paths) {
    const { mode, size } = await stat(path);
    expect({ mode: mode & 0o777, size }).toEqual({ mode: 0o666, size: 0 });
  }
});

test('a volume that the pod does not have is refused by name', async () => {
  const container = makeContainer({ volumeMounts: [{ name: 'none', mountPath: '/data' }] });
  await expect(mountsOf(container)).rejects.toThrow('cannot find volume "none" to mount into container "web"');
});

test('nothing is made for a container with a mount that cannot be', async () => {
  const container = makeContainer({
    terminationMessagePath: '/dev/termination-log',
    volumeMounts: [
      { name: 'data', mountPath: '/data', subPath: 'part' },
      { name: 'data', mountPath: '/other', subPathExpr: '$(NONE)' },
    ],
  });
  await expect(mountsOf(container)).rejects.toThrow('missing value for NONE');
  expect(await readdir(podDir)).toEqual([]);
});

test('a mount is read-only with what is mounted below it where that is asked for', async () => {
  const mount = { name: 'data', mountPath: '/data', readOnly: true, recursiveReadOnly: 'IfPossible' };
  expect((await mountsOf(makeContainer({ volumeMounts: [mount] })))[0]).toEqual({
    containerPath: '/data',
    hostPath: '/host/data',
    readonly: true,
    recursiveReadOnly: true,
    propagation: 'PROPAGATION_PRIVATE',
  });
});

test('a part of a volume is mounted from its own place in the folder of the pod', () => {
  const container = makeContainer({
    volumeMounts: [
      { name: 'data', mountPath: '/all' },
      { name: 'data', mountPath: '/part', subPath: 'part', mountPropagation: 'HostToContainer' },
      { name: 'config', mountPath: '/team', subPathExpr: 'teams/$(TEAM)' },
    ],
  });
  expect(generateContainerMounts(requestOf(container), '').slice(0, 3)).toEqual([
    { containerPath: '/all', hostPath: '/host/data', readonly: false, propagation: 'PROPAGATION_PRIVATE' },
    {
      containerPath: '/part',
      hostPath: join(podDir, 'volume-subpaths/data/web/1'),
      readonly: false,
      propagation: 'PROPAGATION_HOST_TO_CONTAINER',
    },
    {
      containerPath: '/team',
      hostPath: join(podDir, 'volume-subpaths/config/web/2'),
      readonly: true,
      propagation: 'PROPAGATION_PRIVATE',
    },
  ]);
});

test('the runtime resolves the subpath of an image volume', () => {
  const container = makeContainer({ volumeMounts: [{ name: 'art', mountPath: '/a', subPathExpr: 'teams/$(TEAM)' }] });
  const image = { image: 'sha256:1', userSpecifiedImage: 'art:1', annotations: {} };
  const volumes = new Map([['art', { hostPath: '', readOnly: true, managed: false, image }]]);
  const [mount] = generateContainerMounts({ ...requestOf(container), volumes }, '');
  expect(mount).toEqual({
    containerPath: '/a',
    hostPath: '',
    image,
    imageSubPath: 'teams/blue',
    readonly: true,
    propagation: 'PROPAGATION_PRIVATE',
  });
});
