import { expect, test } from 'vitest';
import { computeCgroupMode } from '../../src/containerd/find-containerd.ts';

test.each([
  ['v2', 'cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n'],
  ['v1', 'tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n'],
  [
    'hybrid',
    'tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n',
  ],
  ['v1', 'cgroup2 /run/other cgroup2 rw 0 0\n'],
])('a machine is %s', (mode, mounts) => {
  expect(computeCgroupMode(mounts)).toBe(mode);
});
