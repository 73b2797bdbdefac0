import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addNodeOptions } from '../../src/commands/node-flags.ts';
import { type NodeFlags, type NodeOptions, nodeOptions } from '../../src/commands/node-options.ts';

/** What `run` makes of these arguments. */
function optionsOf(...args: string[]): NodeOptions {
  const command = addNodeOptions(new Command('run'))
    .argument('[manifests...]')
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command.parse(args, { from: 'user' });
  return nodeOptions(command.opts<NodeFlags>(), command.args);
}

test("the defaults are the kubelet's", () => {
  expect(optionsOf('--hostname-override', 'edge1', '--node-ip', '192.0.2.1')).toEqual({
    manifestPaths: [],
    manifestURLs: [],
    manifestURLHeaders: [],
    manifestURLFiles: {},
    manifestURLTrust: { sha256: [], publicKeys: [] },
    rootDir: '/var/lib/kubelet-ts',
    runtimeEndpoint: undefined,
    imageServiceEndpoint: undefined,
    nodeName: 'edge1',
    nodeIPs: ['192.0.2.1'],
    resolvConf: '/etc/resolv.conf',
    clusterDNS: [],
    clusterDomain: '',
    cgroupDriver: undefined,
    cgroupRoot: '/',
    healthzBindAddress: '127.0.0.1',
    healthzPort: 10248,
    fileCheckFrequencyMs: 20_000,
    httpCheckFrequencyMs: 20_000,
    maxParallelImagePulls: 1,
    podLogsDir: '/var/log/pods',
    seccompDefault: false,
    leaveOrphans: false,
    cgroupsPerQOS: true,
    enforceNodeAllocatable: ['pods'],
    systemReserved: {},
    kubeReserved: {},
    systemReservedCgroup: '',
    kubeReservedCgroup: '',
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '10%',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    },
    maxPods: 110,
    podsPerCore: 0,
    podPidsLimit: -1,
    cpuCFSQuota: true,
    cpuCFSQuotaPeriodMicros: 100_000,
    allowedUnsafeSysctls: [],
    nodeLabels: {},
  });
});

describe('a flag', () => {
  test('and an argument for manifests may be there several times, relative to where we are', () => {
    expect(optionsOf('a', '--pod-manifest-path', '/b', 'c/', '--pod-manifest-path', 'd').manifestPaths).toEqual([
      `${process.cwd()}/a`,
      `${process.cwd()}/c`,
      '/b',
      `${process.cwd()}/d`,
    ]);
  });

  test('of addresses takes several at once or one after the other', () => {
    const { nodeIPs, clusterDNS } = optionsOf(
      '--node-ip',
      '192.0.2.1,2001:db8::1',
      '--cluster-dns',
      '10.0.0.1',
      '--cluster-dns',
      '10.0.0.2',
    );
    expect({ nodeIPs, clusterDNS }).toEqual({
      nodeIPs: ['192.0.2.1', '2001:db8::1'],
      clusterDNS: ['10.0.0.1', '10.0.0.2'],
    });
  });

  test('of the node name makes it lower case, without space around it', () => {
    expect(optionsOf('--hostname-override', ' Edge1.Example ').nodeName).toBe('edge1.example');
  });

  test.each([
    ['20s', 20_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
  ])('of a duration takes %s', (text, ms) => {
    expect(optionsOf('--file-check-frequency', text, '--http-check-frequency', text)).toMatchObject({
      fileCheckFrequencyMs: ms,
      httpCheckFrequencyMs: ms,
    });
  });

  test('of reserved amounts takes several at once or one after the other', () => {
    const flags = ['--system-reserved=cpu=500m,memory=1Gi', '--system-reserved=pid=1000', '--kube-reserved=cpu=1'];
    expect(optionsOf(...flags)).toMatchObject({
      systemReserved: { cpu: '500m', memory: '1Gi', pid: '1000' },
      kubeReserved: { cpu: '1' },
    });
  });

  test.each([
    [['--cgroups-per-qos', '--cpu-cfs-quota'], true],
    [['--cgroups-per-qos=false', '--cpu-cfs-quota=false'], false],
  ])('that is true or false is read as Go reads it: %j', (flags, value) => {
    expect(optionsOf(...flags)).toMatchObject({ cgroupsPerQOS: value, cpuCFSQuota: value });
  });

  test.each([
    [['--cgroups-per-qos=false'], []],
    [['--enforce-node-allocatable=none'], []],
    [['--enforce-node-allocatable='], []],
    [
      ['--enforce-node-allocatable=pods,kube-reserved', '--kube-reserved-cgroup=/agent'],
      ['pods', 'kube-reserved'],
    ],
  ])('of what is enforced is read as the kubelet reads it: %j', (flags, enforced) => {
    expect(optionsOf(...flags).enforceNodeAllocatable).toEqual(enforced);
  });

  test('of labels takes those of a prefix that nodes may use', () => {
    const nodeLabels = { disk: 'ssd', 'node.kubernetes.io/site': 'roof', 'topology.kubernetes.io/zone': 'a' };
    const text = Object.entries(nodeLabels).map((pair) => pair.join('='));
    expect(optionsOf('--node-labels', text.join(',')).nodeLabels).toEqual(nodeLabels);
  });

  test.each([
    ['--system-reserved', 'cpu'],
    ['--system-reserved', 'cpu=lots'],
    ['--system-reserved', 'memory=-1Gi'],
    ['--kube-reserved', 'gpu=1'],
    ['--enforce-node-allocatable', 'everything'],
    ['--enforce-node-allocatable', 'none,pods'],
    ['--enforce-node-allocatable', 'pods,pods'],
    ['--enforce-node-allocatable', 'system-reserved'],
    ['--enforce-node-allocatable', 'kube-reserved,kube-reserved-compressible'],
    ['--pod-max-pids', 'many'],
    ['--cpu-cfs-quota-period', '2s'],
    ['--node-labels', 'disk'],
    ['--node-labels', 'disk=a b'],
    ['--node-labels', 'example.kubernetes.io/site=roof'],
    ['--file-check-frequency', '20'],
    ['--file-check-frequency', 'soon'],
    ['--file-check-frequency', '-5s'],
    ['--max-pods', '1.5'],
    ['--max-pods', '-1'],
    ['--healthz-port', 'none'],
    ['--cgroup-driver', 'cgroupv2'],
    ['--hostname-override', ' '],
  ])('%s refuses "%s"', (flag, value) => {
    expect(() => optionsOf(flag, value)).toThrow();
  });
});
