import type { ContainerdConfigOptions } from '../../src/containerd/containerd-config.ts';

/** Options for containerd 1.6. */
export const containerdOptions: ContainerdConfigOptions = {
  version: { major: 1, minor: 6 },
  root: '/r/root',
  state: '/r/state',
  socket: '/r/containerd.sock',
  cniBinDir: '/usr/lib/cni',
  cniConfDir: '/r/net.d',
  pauseImage: 'localhost/kubelet-ts-pause:1',
  ociRuntime: '/usr/sbin/runc',
  restrictOOMScoreAdj: true,
  systemdCgroup: false,
  snapshotter: 'overlayfs',
  registryConfigPath: '/r/certs.d:/etc/containerd/certs.d',
};
