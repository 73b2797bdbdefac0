import { expect, it } from 'vitest';
import { cgroupPath, podCgroupName } from '../../../src/engine/container-manager/cgroup-names.ts';
import { UserError } from '../../../src/errors.ts';

it('writes the same cgroup in the form of either driver', () => {
  const name = podCgroupName('', 'Burstable', 'a-b');
  expect(cgroupPath(name, 'cgroupfs')).toBe('/kubepods/burstable/poda-b');
  expect(cgroupPath(name, 'systemd')).toBe('/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice');
});

it('refuses a uid that a cgroup name cannot hold', () => {
  expect(() => podCgroupName('', 'Guaranteed', 'a_b')).toThrow(UserError);
});
