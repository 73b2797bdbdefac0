import { expect, test } from 'vitest';
import { podUIDIn } from '../../src/containerd/stop-shims.ts';

const uids = ['0f3c', '1a2b-3c4d', 'my.uid'];

test.each([
  ['0::/kubepods/burstable/pod0f3c/9d2e\n', '0f3c'],
  ['4:memory:/box/kubepods/besteffort/pod1a2b-3c4d/9d2e\n0::/\n', '1a2b-3c4d'],
  ['0::/kubepods.slice/kubepods-pod1a2b_3c4d.slice/cri-containerd-9d2e.scope\n', '1a2b-3c4d'],
  ['0::/kubepods/podmy.uid/9d2e', 'my.uid'],
  ['0::/kubepods/podothers/9d2e', undefined],
  ['', undefined],
])('finds the pod of the cgroups %j', (cgroups, uid) => {
  expect(podUIDIn(cgroups, uids)).toBe(uid);
});
