import { expect, test } from 'vitest';
import { cgroupRootOf } from '../../src/node/stats-from-runtime.ts';

test.each([
  ['/kubepods/besteffort/podu1', '/'],
  ['/edge/pods/kubepods/podu1', '/edge/pods'],
  ['kubepods-besteffort-podu1.slice', '/'],
  ['/edge.slice/edge-kubepods.slice/edge-kubepods-podu1.slice', '/edge'],
  ['', '/'],
])('the pod cgroup %j is below %j', (cgroupParent, expected) => {
  expect(cgroupRootOf(JSON.stringify({ config: { linux: { cgroup_parent: cgroupParent } } }))).toBe(expected);
});
