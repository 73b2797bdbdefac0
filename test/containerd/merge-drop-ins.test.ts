import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import { type ContainerdConfigOptions, generateContainerdConfig } from '../../src/containerd/containerd-config.ts';
import { containerdOptions } from '../builders/containerd-options.ts';
import { snapshotterIn } from '../../src/containerd/snapshotter.ts';

const options = { ...containerdOptions, version: { major: 1, minor: 7 }, systemdCgroup: true };
const version2 = { ...options, version: { major: 2, minor: 1 } };

/** Generates a configuration with one drop-in or more, and returns the lines that they add, remove and ignore. */
function withDropIns(base: ContainerdConfigOptions, ...contents: string[]): object {
  const dropIns = contents.map((text, index) => ({
    file: `${String(index)}.toml`,
    config: parse(text, { integersAsBigInt: true }),
  }));
  const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');
  const before = linesOf(generateContainerdConfig(base).text);
  const { text, ignored } = generateContainerdConfig({ ...base, dropIns });
  const after = linesOf(text);
  return {
    added: after.filter((line) => !before.includes(line)),
    removed: before.filter((line) => !after.includes(line)),
    ignored,
  };
}

const stub = `version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.stub]
runtime_type = "io.containerd.runc.v2"
options = { BinaryName = "/opt/stub" }
`;

test('a runtime is added, with the cgroup driver of the agent', () => {
  expect(withDropIns(options, stub)).toEqual({
    added: [
      '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.stub]',
      '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.stub.options]',
      'BinaryName = "/opt/stub"',
    ],
    removed: [],
    ignored: [],
  });
  expect(generateContainerdConfig({ ...options, dropIns: [] }).text.match(/SystemdCgroup = true/g)).toHaveLength(1);
  const dropIns = [{ file: 'a', config: parse(stub, { integersAsBigInt: true }) }];
  expect(generateContainerdConfig({ ...options, dropIns }).text.match(/SystemdCgroup = true/g)).toHaveLength(2);
});

test('what is written for containerd 1 is put where containerd 2 reads it', () => {
  const text = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
stream_idle_timeout = "1h"
max_concurrent_downloads = 5
device_ownership_from_security_context = true
[plugins."io.containerd.grpc.v1.cri".containerd]
discard_unpacked_layers = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.wasm]
runtime_type = "io.containerd.wasmtime.v1"
`;
  expect(withDropIns(version2, text)).toEqual({
    added: [
      'max_concurrent_downloads = 5',
      'discard_unpacked_layers = true',
      'device_ownership_from_security_context = true',
      '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.wasm]',
      'runtime_type = "io.containerd.wasmtime.v1"',
      'stream_idle_timeout = "1h"',
    ],
    removed: [],
    ignored: [],
  });
});

test('what the agent needs stays as it is, and each value that is ignored is named', () => {
  const text = `version = 3
root = "/elsewhere"
state = "/r/state"
disabled_plugins = ["cri"]
grpc = { address = "/run/other.sock", max_recv_message_size = 5 }
ttrpc.address = "/run/other.ttrpc"
plugins."io.containerd.nri.v1.nri".disable = false
plugins."io.containerd.snapshotter.v1.overlayfs" = { root_path = "/elsewhere", upperdir_label = true }
[plugins."io.containerd.cri.v1.images"]
snapshotter = "zfs"
pinned_images.sandbox = "pause:1"
registry.mirrors."docker.io".endpoint = ["https://mirror.example"]
[plugins."io.containerd.cri.v1.runtime"]
enable_cdi = false
cni.bin_dir = "/opt/cni"
containerd.runtimes.runc.options.BinaryName = "/usr/bin/crun"
containerd.runtimes.stub = { runtime_type = "io.containerd.runc.v2", options.SystemdCgroup = false }
`;
  const ignored = (key: string): string => `0.toml: ${key} is ignored, because kubelet-ts sets it`;
  expect(withDropIns(version2, text)).toEqual({
    added: [
      '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.stub]',
      '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.stub.options]',
      '[plugins."io.containerd.snapshotter.v1.overlayfs"]',
      'upperdir_label = true',
    ],
    removed: [],
    ignored: [
      ignored('root'),
      ignored('disabled_plugins'),
      ignored('grpc.address'),
      ignored('grpc.max_recv_message_size'),
      ignored('ttrpc.address'),
      ignored('plugins."io.containerd.nri.v1.nri".disable'),
      ignored('plugins."io.containerd.snapshotter.v1.overlayfs".root_path'),
      ignored('plugins."io.containerd.cri.v1.images".snapshotter'),
      ignored('plugins."io.containerd.cri.v1.images".pinned_images.sandbox'),
      ignored('plugins."io.containerd.cri.v1.images".registry.mirrors."docker.io".endpoint'),
      ignored('plugins."io.containerd.cri.v1.runtime".enable_cdi'),
      ignored('plugins."io.containerd.cri.v1.runtime".cni.bin_dir'),
      ignored('plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options.BinaryName'),
      ignored('plugins."io.containerd.cri.v1.runtime".containerd.runtimes.stub.options.SystemdCgroup'),
    ],
  });
});

test('a file that is written for containerd 1 cannot replace values of containerd 2 either', () => {
  const text = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "pause:1"
disable_tcp_service = false
cni.conf_dir = "/etc/cni/net.d"
containerd.snapshotter = "zfs"
registry.config_path = ""
`;
  expect(withDropIns(version2, text)).toEqual({
    added: [],
    removed: [],
    ignored: [
      'sandbox_image',
      'disable_tcp_service',
      'cni.conf_dir',
      'containerd.snapshotter',
      'registry.config_path',
    ].map((key) => `0.toml: plugins."io.containerd.grpc.v1.cri".${key} is ignored, because kubelet-ts sets it`),
  });
});

test('the level of the log, the OOM score and the default runtime may change; a later file wins', () => {
  const text = `version = 2
oom_score = -500
debug.level = "info"
plugins."io.containerd.gc.v1.scheduler".pause_threshold = 1.0
plugins."io.containerd.grpc.v1.cri".containerd.default_runtime_name = "stub"
`;
  expect(withDropIns(options, stub, text, 'version = 2\ndebug.level = "debug"\n')).toEqual({
    added: [
      'oom_score = -500',
      'level = "debug"',
      'default_runtime_name = "stub"',
      '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.stub]',
      '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.stub.options]',
      'BinaryName = "/opt/stub"',
      '[plugins."io.containerd.gc.v1.scheduler"]',
      'pause_threshold = 1.0',
    ],
    removed: ['oom_score = 0', 'level = "warn"', 'default_runtime_name = "runc"'],
    ignored: [],
  });
});

test('the snapshotter of images can still be read from a configuration with one for a runtime', () => {
  const text = `${stub}snapshotter = "native"\n`;
  const dropIns = [{ file: 'a', config: parse(text, { integersAsBigInt: true }) }];
  for (const base of [options, version2]) {
    expect(snapshotterIn(generateContainerdConfig({ ...base, dropIns }).text)).toBe('overlayfs');
    expect(snapshotterIn(generateContainerdConfig({ ...base, snapshotter: 'native' }).text)).toBe('native');
  }
});

test('a file with thousands of keys is merged at once', () => {
  const keys = Array.from({ length: 10_000 }, (_, index) => `"io.example.${index}" = "1s"`);
  const text = `version = 2\n[timeouts]\n${keys.join('\n')}\n`;
  expect(withDropIns(options, text)).toEqual({ added: ['[timeouts]', ...keys], removed: [], ignored: [] });
});

test('a key that names the prototype is one like any other', () => {
  expect(withDropIns(options, 'version = 2\n[timeouts.__proto__]\nx = "1s"\n')).toEqual({
    added: ['[timeouts.__proto__]', 'x = "1s"'],
    removed: [],
    ignored: [],
  });
});
