import { describe, expect, it } from 'vitest';
import { shouldMountHostsFile } from '../../../src/engine/network/hosts-file.ts';

describe('shouldMountHostsFile', () => {
  it.each([
    ['a pod with an address', [], { hostNetwork: false, podIPs: ['10.88.0.2'] }, true],
    ['a pod without an address', [], { hostNetwork: false, podIPs: [] }, false],
    ['a host-network pod', [], { hostNetwork: true, podIPs: [] }, true],
    ['a container that mounts /etc/hosts', ['/etc/hosts'], { hostNetwork: true, podIPs: [] }, false],
    ['a container that mounts /etc', ['/etc'], { hostNetwork: true, podIPs: [] }, true],
  ])('decides for %s', (_what, mountPaths, pod, mounted) => {
    const volumeMounts = mountPaths.map((mountPath) => ({ name: 'v', mountPath }));
    expect(shouldMountHostsFile({ volumeMounts }, pod)).toBe(mounted);
  });
});
