import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findUserNamespaceIDs } from '../../src/node/user-namespace-ids.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const hint = 'Give the user kubelet one range in /etc/subuid and the same in /etc/subgid, or remove the user.';

interface Host {
  users?: string;
  /** What getsubids does. If absent, it is missing. */
  getsubids?: string;
  maxPods?: number;
  idsPerPod?: number;
}

async function found({ users = 'root:x:0:0\nkubelet:x:999:999\n', getsubids, maxPods = 110, idsPerPod }: Host) {
  const folder = await temporaryFolder();
  const passwdFile = join(folder, 'passwd');
  await writeFile(passwdFile, users);
  if (getsubids !== undefined) await writeFile(join(folder, 'getsubids'), `#!/bin/sh\n${getsubids}\n`, { mode: 0o755 });
  const userNamespaces = idsPerPod === undefined ? undefined : { idsPerPod };
  return findUserNamespaceIDs({ maxPods, userNamespaces }, { passwdFile, folders: [folder] });
}

const range = (first: number, count: number): string => `echo "0: kubelet ${first} ${count}"`;

test.each<[string, Host, object]>([
  ['the user kubelet', { users: 'kubelets:x:1:1\n', getsubids: 'exit 1' }, { first: 65_536, length: 65_536 }],
  ['getsubids', {}, { first: 65_536, length: 65_536 }],
  ['both, with more for each pod', { users: '', idsPerPod: 131_072 }, { first: 131_072, length: 131_072 }],
])('without %s, pods may have all ids but those of the node', async (_what, host, ids) => {
  expect(await found(host)).toEqual({ ...ids, end: 2 ** 32 });
});

test('with both, pods have the ids that the user may use', async () => {
  expect(await found({ getsubids: range(131_072, 110 * 65_536) })).toEqual({
    first: 131_072,
    end: 131_072 + 110 * 65_536,
    length: 65_536,
  });
});

test.each<[Host, unknown]>([
  [
    { getsubids: range(70_000, 110 * 65_536) },
    /^ids of user namespaces: 7208960 from 70000 on must begin at a multiple/,
  ],
  [{ getsubids: range(0, 110 * 65_536) }, /must begin at a multiple of 65536$/],
  [{ getsubids: range(65_536, 7_208_961) }, /^ids of user namespaces: 7208961 from 65536 on are no multiple of 65536$/],
  [{ getsubids: range(65_536, 65_536) }, /are not enough for 110 pods \(maxPods\) with 65536 each$/],
  [{ users: '', maxPods: 65_536 }, /are not enough for 65536 pods/],
  [{ getsubids: 'echo "$1"' }, 'getsubids kubelet: ids of users and of groups differ'],
  [{ getsubids: 'true' }, 'getsubids kubelet must print one range of ids, but printed ""'],
  [
    { getsubids: `${range(65_536, 65_536)}; ${range(65_536, 65_536)}` },
    /must print one range of ids, but printed "0: /,
  ],
  [{ getsubids: 'echo Error fetching ranges >&2; exit 1' }, /\/getsubids kubelet: Error fetching ranges$/],
])('refuses to start with %o', async (host, message) => {
  const matching: unknown = typeof message === 'string' ? message : expect.stringMatching(message as RegExp);
  await expect(found(host)).rejects.toMatchObject({ message: matching, hint });
});
