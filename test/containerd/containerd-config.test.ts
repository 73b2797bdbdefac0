import { expect, test } from 'vitest';
import { generateContainerdConfig } from '../../src/containerd/containerd-config.ts';
import { containerdOptions as options } from '../builders/containerd-options.ts';

const withoutDisabledPlugins = (config: string): string => config.replace(/^disabled_plugins = .*\n/m, '');

test('writes a version 2 configuration with one CRI plugin for containerd 1.x', () => {
  expect(withoutDisabledPlugins(generateContainerdConfig(options).text)).toBe(`\
# Written by kubelet-ts at each start of its containerd; changes made here are lost.
version = 2
root = "/r/root"
state = "/r/state"
oom_score = 0

[grpc]
address = "/r/containerd.sock"
uid = 0
gid = 0

[debug]
level = "warn"

[plugins."io.containerd.nri.v1.nri"]
disable = true

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/kubelet-ts-pause:1"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
disable_tcp_service = true
stream_server_address = "127.0.0.1"
stream_server_port = "0"

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/r/net.d"

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/r/certs.d:/etc/containerd/certs.d"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "/usr/sbin/runc"
SystemdCgroup = false
`);
});

test('writes a version 3 configuration with split CRI plugins for containerd 2.x', () => {
  const { text } = generateContainerdConfig({
    ...options,
    version: { major: 2, minor: 1 },
    restrictOOMScoreAdj: false,
    systemdCgroup: true,
    snapshotter: 'native',
    logLevel: 'debug',
    registryConfigPath: '/r/certs.d',
  });
  expect(withoutDisabledPlugins(text)).toBe(`\
# Written by kubelet-ts at each start of its containerd; changes made here are lost.
version = 3
root = "/r/root"
state = "/r/state"
oom_score = -999

[grpc]
address = "/r/containerd.sock"
uid = 0
gid = 0

[debug]
level = "debug"

[plugins."io.containerd.nri.v1.nri"]
disable = true

[plugins."io.containerd.cri.v1.images"]
snapshotter = "native"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "localhost/kubelet-ts-pause:1"

[plugins."io.containerd.cri.v1.images".registry]
config_path = "/r/certs.d"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = false
netns_mounts_under_state_dir = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = [ "/usr/lib/cni" ]
conf_dir = "/r/net.d"

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "/usr/sbin/runc"
SystemdCgroup = true

[plugins."io.containerd.grpc.v1.cri"]
disable_tcp_service = true
stream_server_address = "127.0.0.1"
stream_server_port = "0"
`);
});

test('names one folder of CNI plugins for containerd 2.0, which has no list of them yet', () => {
  const { text } = generateContainerdConfig({ ...options, version: { major: 2, minor: 0 } });
  expect(text).toContain('bin_dir = "/usr/lib/cni"\n');
  expect(text).not.toContain('bin_dirs');
});

test('leaves out plugins that touch the machine outside the root-dir', () => {
  expect(generateContainerdConfig(options).text).toMatch(
    /^disabled_plugins = \[ "io\.containerd\.internal\.v1\.opt", /m,
  );
});
