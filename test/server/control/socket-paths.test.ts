import { expect, test } from 'vitest';
import { controlSocketPath, groupSocketPath } from '../../../src/server/control/socket-paths.ts';

const root = '/run/kubelet-ts/kubelet-ts.sock';
const shared = '/run/kubelet-ts-control/default/kubelet-ts.sock';

test.each([
  { isRoot: true, opens: [shared], uses: root },
  { isRoot: false, opens: [root, shared], uses: root },
  { isRoot: false, opens: [shared], uses: shared },
  { isRoot: false, opens: [], uses: root },
])('root: $isRoot, may open $opens', ({ isRoot, opens, uses }) => {
  const user = { isRoot, mayOpen: (path: string) => opens.includes(path) };
  expect(controlSocketPath('/var/lib/kubelet-ts', user)).toBe(uses);
});

test('each root-dir has its own folder for the group', () => {
  const rootDirs = ['/var/lib/kubelet-ts', '/default', '/tmp/a-b', '/tmp/a/b', '/tmp/a%2Db'];
  expect(rootDirs.map(groupSocketPath)).toEqual([
    shared,
    '/run/kubelet-ts-control/-default/kubelet-ts.sock',
    '/run/kubelet-ts-control/-tmp-a%2Db/kubelet-ts.sock',
    '/run/kubelet-ts-control/-tmp-a-b/kubelet-ts.sock',
    '/run/kubelet-ts-control/-tmp-a%252Db/kubelet-ts.sock',
  ]);
});
