import { parseEvictionThresholds } from '../../../src/api/values/eviction-thresholds.ts';
import type { Facts } from '../../../src/node/doctor/checks/facts.ts';
import { kernelTunables } from '../../../src/node/kernel-tunables.ts';
import { defaultConfiguration } from '../../builders/default-configuration.ts';

const gibibyte = 1n << 30n;

/** A healthy machine with containerd, without an agent. */
export function makeFacts(): Facts & { runtime: { value: object }; kernel: { value: object } } {
  return {
    settings: {
      rootDir: '/state',
      cgroupDriver: 'cgroupfs',
      protectKernelDefaults: false,
      refusesSwap: false,
      thresholds: parseEvictionThresholds(defaultConfiguration) ?? [],
      snapshotter: 'overlayfs',
    },
    configuration: { warnings: [] },
    rights: { value: { uid: 0, capabilities: (1n << 41n) - 1n } },
    kernel: {
      value: {
        release: '6.1.0-31-amd64',
        fileSystems: ['ext4', 'overlay'],
        loadableModules: [],
        namespaces: ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'],
        sysctls: { ...kernelTunables, 'fs.inotify.max_user_instances': '128' },
      },
    },
    cgroups: {
      value: {
        mode: 'v2',
        offered: ['cpu', 'cpuset', 'memory', 'pids'],
        isWritable: true,
        unified: { delegated: ['cpu', 'cpuset', 'memory'], isRoot: true, hasProcesses: true },
      },
    },
    runtime: {
      value: {
        kind: 'chosen',
        endpoint: 'unix:///run/containerd/containerd.sock',
        managed: false,
        because: 'containerd answers.',
        answer: {
          name: 'containerd',
          version: '1.7.24',
          conditions: [
            { type: 'RuntimeReady', status: true, reason: '', message: '' },
            { type: 'NetworkReady', status: true, reason: '', message: '' },
          ],
          networkCommands: ['apt-get install plugins', 'echo {} > net.conflist'],
          cgroupDriver: 'cgroupfs',
          hasSystemd: true,
        },
      },
    },
    handlers: { value: { classes: [] } },
    cdi: { value: [] },
    network: {
      value: {
        pluginFolders: [{ folder: '/opt/cni/bin', plugins: ['bridge', 'host-local', 'loopback', 'portmap'] }],
        configs: [],
        iptables: '/usr/sbin/iptables',
        ipForward: '1',
        packets: {
          bridges: [{ name: 'kts0ade00', families: ['IPv4'], mtu: 1500 }],
          uplinks: [{ name: 'eth0', families: ['IPv4'], rpFilter: 2, mtu: 1500 }],
          hasFirewalld: false,
          rules: { forwardPolicy: 'ACCEPT', ownChains: ['KTS0ADE00-FORWARD', 'KTS0ADE00-SNAT'] },
          droppingChains: [],
        },
        dns: {
          resolvConf: '/etc/resolv.conf',
          resolvers: {
            host: { servers: ['127.0.0.53'], searches: [], options: [] },
            ownNetwork: { servers: ['192.0.2.53'], searches: [], options: [] },
          },
        },
        installHint: 'Install it with: apt-get install containernetworking-plugins',
      },
    },
    collision: { value: {} },
    hostPorts: { value: [] },
    disks: [
      {
        value: {
          use: 'root-dir',
          path: '/state',
          freeBytes: 80n * gibibyte,
          sizeBytes: 100n * gibibyte,
          freeInodes: 900n,
          inodes: 1000n,
        },
      },
    ],
    memory: { value: { availableBytes: 4n * gibibyte, totalBytes: 8n * gibibyte, swaps: [], hasSwapController: true } },
    upgrade: { value: { program: '/usr/local/bin/kubelet-ts', state: undefined } },
    clock: { value: { now: Date.UTC(2026, 5, 1), builtAt: Date.UTC(2026, 0, 1), stepsMs: [] } },
    paths: [{ value: { what: 'root-dir', path: '/state', found: { uid: 0, mode: 0o40750, isLink: false } } }],
    ports: [{ value: { port: 10248, flag: '--healthz-port' } }],
    agents: { value: { others: [] } },
  };
}
