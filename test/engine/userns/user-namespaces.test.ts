import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { PodDirs } from '../../../src/engine/host/pod-dirs.ts';
import { UserNamespaces } from '../../../src/engine/userns/user-namespaces.ts';
import { fixedNode } from '../../builders/node-config.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let podDirs: PodDirs;
let supported: boolean;

beforeEach(async () => {
  podDirs = new PodDirs({ rootDir: await temporaryFolder() });
  supported = true;
});

const restarted = (ids = fixedNode.userNamespaceIDs): UserNamespaces =>
  new UserNamespaces({ podDirs, ids, isSupported: () => supported });

/** Where the ids of a pod of this UID begin on the host. */
async function hostIDOf(userNamespaces: UserNamespaces, uid: string): Promise<number | undefined> {
  await mkdir(podDirs.podDir(uid), { recursive: true });
  const pod = makeStaticPod(uid, { uid });
  pod.spec.hostUsers = false;
  return (await userNamespaces.getOrCreate(pod)).uids?.[0]?.hostId;
}

test('a pod that asks for one has 65536 ids of its own, kept in its folder', async () => {
  const userNamespaces = restarted();
  const pod = makeStaticPod('a', { uid: 'a' });
  pod.spec.hostUsers = false;
  await mkdir(podDirs.podDir('a'), { recursive: true });
  const ids = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
  expect(await userNamespaces.getOrCreate(pod)).toEqual({ mode: 'POD', uids: ids, gids: ids });
  expect(JSON.parse(await readFile(join(podDirs.podDir('a'), 'userns'), 'utf8'))).toEqual({
    uidMappings: ids,
    gidMappings: ids,
  });
});

test('any other pod shares that of the node', async () => {
  for (const hostUsers of [undefined, true]) {
    const pod = makeStaticPod('a');
    if (hostUsers !== undefined) pod.spec.hostUsers = hostUsers;
    expect(await restarted().getOrCreate(pod)).toEqual({ mode: 'NODE', uids: [], gids: [] });
  }
});

describe('ids', () => {
  test('are those of one pod at a time, also when pods start together', async () => {
    const userNamespaces = restarted();
    const taken = await Promise.all(['a', 'b', 'c'].map((uid) => hostIDOf(userNamespaces, uid)));
    expect(new Set(taken)).toEqual(new Set([65_536, 131_072, 196_608]));
  });

  test('stay with the pod over a restart, and are free when its folder has gone', async () => {
    const first = restarted();
    expect(await hostIDOf(first, 'a')).toBe(65_536);
    expect(await hostIDOf(first, 'b')).toBe(131_072);
    expect(await hostIDOf(restarted(), 'b')).toBe(131_072);
    await rm(podDirs.podDir('a'), { recursive: true });
    expect(await hostIDOf(restarted(), 'c')).toBe(65_536);
  });
});

test('idsPerPod counts for new pods, whose ranges overlap none of before', async () => {
  expect(await hostIDOf(restarted(), 'a')).toBe(65_536);
  const twice = restarted({ first: 131_072, end: 3 * 131_072, length: 131_072 });
  expect(await hostIDOf(twice, 'b')).toBe(131_072);
  expect(await hostIDOf(restarted(), 'c')).toBe(262_144);
  expect(await hostIDOf(twice, 'a')).toBe(65_536);
  await expect(hostIDOf(twice, 'd')).rejects.toThrow('every range of ids is in use by a pod');
});

test('a runtime without user namespaces has none for a pod', async () => {
  supported = false;
  await expect(hostIDOf(restarted(), 'a')).rejects.toThrow('does not support user namespaces');
});

test.each(['', '{}', '{"uidMappings":[{"hostId":"65536"}]}', '{"uidMappings":[{"hostId":70000,"length":65536}]}'])(
  'a file of %j is refused, as the range that it meant may be in use',
  async (content) => {
    await mkdir(podDirs.podDir('a'), { recursive: true });
    await writeFile(join(podDirs.podDir('a'), 'userns'), content);
    await expect(hostIDOf(restarted(), 'b')).rejects.toThrow('does not say which ids the pod has');
  },
);
