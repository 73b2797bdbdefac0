import { describe, expect, test } from 'vitest';
import type { Container, Pod } from '../../../src/api/types.ts';
import type { Rejection } from '../../../src/engine/view/snapshot.ts';
import { type AdmissionNode, admitPod } from '../../../src/engine/lifecycle/admit-pod.ts';
import { sysctlAllowlist } from '../../../src/engine/lifecycle/sysctl-allowlist.ts';
import { normalizeSysctlName } from '../../../src/api/values/sysctl-names.ts';
import { UserError } from '../../../src/errors.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

const admitted = { admit: true, preempt: [] };

function node(changes: Partial<AdmissionNode> = {}): AdmissionNode {
  return {
    name: 'edge1',
    labels: { 'kubernetes.io/os': 'linux', disk: 'ssd' },
    taints: [],
    allocatable: { cpu: '2', memory: '1Gi', 'ephemeral-storage': '10Gi', pods: '3' },
    allowedSysctls: sysctlAllowlist('6.1.0', []),
    appArmorEnabled: false,
    pressures: [],
    evictionPolicy: 'byPriority',
    isShuttingDown: false,
    supportsSupplementalGroupsPolicy: true,
    allowsPodLevelResources: true,
    ...changes,
  };
}

function asking(uid: string, requests: Record<string, string>, more: { source?: string; priority?: number } = {}): Pod {
  const { source = 'file', priority } = more;
  return makePod({
    metadata: { uid, annotations: { 'kubernetes.io/config.source': source } },
    spec: { containers: [makeContainer({ resources: { requests } })], ...(priority !== undefined && { priority }) },
  });
}

function rejection(pod: Pod, others: Pod[] = [], changes: Partial<AdmissionNode> = {}): Rejection | undefined {
  const admission = admitPod(pod, others, node(changes));
  return admission.admit ? undefined : admission.rejection;
}

describe('for want of room', () => {
  test('every resource that is missing is named, with the words of the kubelet first', () => {
    const other = asking('other', { cpu: '1500m', memory: '800Mi' });
    expect(rejection(asking('web', { cpu: '1', memory: '512Mi' }), [other])).toEqual({
      reason: 'UnexpectedAdmissionError',
      message:
        'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods ' +
        'to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 500), (res: memory, q: 301989888), ]: ' +
        "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000 " +
        '(it requests 1 cpu, and other pods hold 1.5 of the 2 of this node); ' +
        "Node didn't have enough resource: memory, requested: 536870912, used: 838860800, capacity: 1073741824 " +
        '(it requests 512Mi memory, and other pods hold 800Mi of the 1024Mi of this node)',
      retryOn: 'podEnd',
    });
  });

  test('a pod that asks for nothing is only counted', () => {
    const greedy = asking('greedy', { cpu: '5' });
    expect(admitPod(makePod(), [greedy], node())).toEqual(admitted);
    const others = ['a', 'b', 'c'].map((uid) => asking(uid, {}));
    expect(rejection(makePod(), others)?.message).toContain('pods, requested: 1, used: 3, capacity: 3');
  });

  test('a pod that lacks room while the node shuts down is tried again when the node accepts pods again', () => {
    const other = asking('other', { cpu: '2' });
    const waits = rejection(asking('web', { cpu: '1' }), [other], { isShuttingDown: true });
    expect(waits?.retryOn).toBe('node');
  });

  test('a pod that asks for more than the node has waits for its manifest', () => {
    expect(rejection(asking('web', { cpu: '3' }), [asking('other', {})])?.retryOn).toBe('manifest');
  });

  test('what nobody on the node hands out is not counted', () => {
    expect(admitPod(asking('web', { 'example.com/gpu': '1' }), [], node())).toEqual(admitted);
  });
});

describe('of pods that may be ended for a more important one', () => {
  const low = (uid: string, cpu: string): Pod => asking(uid, { cpu }, { priority: 1 });
  const preempted = (pod: Pod, others: Pod[]): string[] => {
    const admission = admitPod(pod, others, node());
    return admission.admit ? admission.preempt.map(({ metadata }) => metadata.uid) : ['refused'];
  };

  test('the one that comes nearest to what is missing goes', () => {
    const high = asking('high', { cpu: '700m' }, { priority: 9 });
    expect(preempted(high, [low('a', '200m'), low('b', '1100m'), low('c', '600m')])).toEqual(['c']);
  });

  test('BestEffort pods go first when pods are too many', () => {
    const high = asking('high', { cpu: '100m' }, { priority: 9 });
    const bestEffort = asking('idle', {}, { priority: 1 });
    expect(preempted(high, [low('a', '100m'), bestEffort, low('b', '100m')])).toEqual(['idle']);
  });

  test('none goes when all together would not do', () => {
    const high = asking('high', { cpu: '1500m' }, { priority: 9 });
    expect(preempted(high, [low('a', '500m'), asking('equal', { cpu: '1' }, { priority: 9 })])).toEqual(['refused']);
  });

  test('none goes when something else is in the way', () => {
    const high = asking('high', { cpu: '2' }, { priority: 9 });
    const elsewhere = { ...high, spec: { ...high.spec, nodeName: 'edge2' } };
    expect(rejection(elsewhere, [low('a', '1')])).toEqual({
      reason: 'NodeName',
      message:
        "Predicate NodeName failed: node(s) didn't match the requested node name: " +
        'spec.nodeName is edge2, and this node is edge1',
      retryOn: 'manifest',
    });
  });
});

describe('whatever the room', () => {
  test('a profile of AppArmor needs a kernel that has it', () => {
    const pod = makePod({
      spec: { containers: [makeContainer({ securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } })] },
    });
    expect(rejection(pod)).toEqual({
      reason: 'AppArmor',
      message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
      retryOn: 'manifest',
    });
    expect(admitPod(pod, [], node({ appArmorEnabled: true }))).toEqual(admitted);
    const unconfined = makePod({ spec: { securityContext: { appArmorProfile: { type: 'Unconfined' } } } });
    expect(admitPod(unconfined, [], node())).toEqual(admitted);
  });

  test('a sysctl that reaches beyond the pod is forbidden', () => {
    const pod = makePod({ spec: { securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '1' }] } } });
    expect(rejection(pod)).toMatchObject({
      reason: 'SysctlForbidden',
      message: 'forbidden sysctl: "net.core.somaxconn" not allowlisted',
    });
    expect(admitPod(pod, [], node({ allowedSysctls: sysctlAllowlist('6.1.0', ['net.core.*']) }))).toEqual(admitted);
  });

  test('groups that a pod wants to itself need a runtime that can leave out those of the image', () => {
    const pod = makePod({ spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } } });
    expect(rejection(pod, [], { supportsSupplementalGroupsPolicy: false })).toEqual({
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
      retryOn: 'node',
    });
    const merging = makePod({ spec: { securityContext: { supplementalGroupsPolicy: 'Merge' } } });
    expect(admitPod(merging, [], node({ supportsSupplementalGroupsPolicy: false }))).toEqual(admitted);
    expect(admitPod(pod, [], node())).toEqual(admitted);
    expect(admitPod(pod, [], node({ supportsSupplementalGroupsPolicy: undefined }))).toEqual(admitted);
  });

  test('resources of a whole pod need their feature gate', () => {
    const pod = makePod({ spec: { resources: { requests: { cpu: '1m' } } } });
    expect(rejection(pod, [], { allowsPodLevelResources: false })).toEqual({
      reason: 'PodLevelResourcesNotSupported',
      message: 'PodLevelResources feature gate is disabled',
      retryOn: 'manifest',
    });
    expect(admitPod(makePod(), [], node({ allowsPodLevelResources: false }))).toEqual(admitted);
  });

  test('a node that shuts down takes no pod', () => {
    expect(rejection(makePod(), [], { isShuttingDown: true })?.reason).toBe('NodeShutdown');
  });

  test('a label for another operating system is taken at its word', () => {
    expect(rejection(makePod({ metadata: { labels: { 'kubernetes.io/os': 'windows' } } }))?.reason).toBe(
      'PodOSSelectorNodeLabelDoesNotMatch',
    );
  });

  test('a label of the node for another operating system is not taken at its word', () => {
    const labels = { 'kubernetes.io/os': 'windows' };
    const wanting = (os: string): Pod => makePod({ spec: { nodeSelector: { 'kubernetes.io/os': os } } });
    expect(admitPod(wanting('linux'), [], node({ labels }))).toEqual(admitted);
    expect(rejection(wanting('windows'), [], { labels })?.reason).toBe('NodeAffinity');
  });

  test('a node without any label has none of an operating system', () => {
    const pod = makePod({ spec: { nodeSelector: { 'kubernetes.io/os': 'linux' } } });
    expect(rejection(pod, [], { labels: {} })?.reason).toBe('NodeAffinity');
  });

  test('host ports of sidecars and init containers, which the runtime does not map, are in nobody’s way', () => {
    const ports = [{ containerPort: 80, hostPort: 80 }];
    const container = makePod({ metadata: { uid: 'a' }, spec: { containers: [makeContainer({ ports })] } });
    const sidecar = makePod({
      metadata: { uid: 'b' },
      spec: { initContainers: [makeContainer({ name: 'side', ports, restartPolicy: 'Always' })] },
    });
    expect(admitPod(sidecar, [container], node())).toEqual(admitted);
    expect(admitPod(container, [sidecar], node())).toEqual(admitted);
    expect(rejection(container, [{ ...container, metadata: { ...container.metadata, uid: 'c' } }])?.reason).toBe(
      'NodePorts',
    );
  });

  test.each<[string, Pod['spec'], Partial<AdmissionNode>, string]>([
    [
      'a host port',
      { containers: [makeContainer({ ports: [{ containerPort: 80, hostPort: 8080 }] })] },
      {},
      "NodePorts failed: node(s) didn't have free ports for the requested pod ports: " +
        'host port 8080/TCP is in use by pod default/holder-edge1',
    ],
    [
      'a host port of one address',
      {
        containers: [
          makeContainer({ ports: [{ containerPort: 53, hostPort: 53, hostIP: '127.0.0.1', protocol: 'UDP' }] }),
        ],
      },
      {},
      "NodePorts failed: node(s) didn't have free ports for the requested pod ports: " +
        'host port 127.0.0.1:53/UDP is in use by pod default/holder-edge1',
    ],
    [
      'a label that is another one, and one that is not there',
      { containers: [makeContainer({})], nodeSelector: { disk: 'hdd', zone: 'a' } },
      {},
      "NodeAffinity failed: node(s) didn't match Pod's node affinity/selector: " +
        'nodeSelector wants the label disk=hdd, and this node has ssd; ' +
        'nodeSelector wants the label zone=a, and this node has none of that name',
    ],
  ])('the words of the kubelet are followed by what they mean: %s', (_title, spec, changes, message) => {
    const ports = [
      { containerPort: 80, hostPort: 8080 },
      { containerPort: 53, hostPort: 53, protocol: 'UDP' },
    ];
    const holder = makePod({
      metadata: { uid: 'h', name: 'holder-edge1', namespace: 'default' },
      spec: { containers: [makeContainer({ ports })] },
    });
    expect(rejection(makePod({ spec }), [holder], changes)?.message).toBe(`Predicate ${message}`);
  });

  test('affinity to the name of the node is affinity to the node', () => {
    const wanting = (name: string): Pod =>
      makePod({
        spec: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }],
              },
            },
          },
        },
      });
    expect(admitPod(wanting('edge1'), [], node())).toEqual(admitted);
    expect(rejection(wanting('edge2'))?.reason).toBe('NodeAffinity');
  });
});

test('the first of several reasons counts, in the order of the checks', () => {
  interface Fault {
    labels?: Record<string, string>;
    spec?: Partial<Pod['spec']>;
    container?: Partial<Container>;
    node?: Partial<AdmissionNode>;
    allocation?: Omit<Rejection, 'retryOn'>;
  }
  const ports = [{ containerPort: 80, hostPort: 80 }];
  const faults: [reason: string, Fault][] = [
    ['Evicted', { node: { pressures: ['DiskPressure'] } }],
    ['SysctlForbidden', { spec: { securityContext: { sysctls: [{ name: 'vm.swappiness', value: '1' }] } } }],
    ['TopologyAffinityError', { allocation: { reason: 'TopologyAffinityError', message: '' } }],
    ['PodOSSelectorNodeLabelDoesNotMatch', { labels: { 'kubernetes.io/os': 'windows' } }],
    ['PodOSNotSupported', { spec: { os: { name: 'windows' } } }],
    [
      'SupplementalGroupsPolicyNotSupported',
      {
        spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } },
        node: { supportsSupplementalGroupsPolicy: false },
      },
    ],
    ['NodeAffinity', { spec: { nodeSelector: { disk: 'none' } } }],
    ['NodeName', { spec: { nodeName: 'edge2' } }],
    ['NodePorts', { container: { ports } }],
    ['UnexpectedAdmissionError', { container: { resources: { requests: { cpu: '3' } } } }],
    ['AppArmor', { container: { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } } }],
    [
      'PodLevelResourcesNotSupported',
      { spec: { resources: { limits: { memory: '1Mi' } } }, node: { allowsPodLevelResources: false } },
    ],
    ['NodeShutdown', { node: { isShuttingDown: true } }],
  ];
  const other = makePod({ metadata: { uid: 'other' }, spec: { containers: [makeContainer({ ports })] } });
  const reasonOf = (...left: Fault[]): string | undefined => {
    const all = <K extends keyof Fault>(part: K): Fault[K] =>
      Object.assign({}, ...left.map((fault) => fault[part])) as Fault[K];
    const securityContext = Object.assign({}, ...left.map(({ spec }) => spec?.securityContext)) as object;
    const [allocation] = left.flatMap((fault) => fault.allocation ?? []);
    const pod = makePod({
      metadata: { labels: all('labels') ?? {}, annotations: { 'kubernetes.io/config.source': 'file' } },
      spec: { containers: [makeContainer(all('container'))], priority: 0, ...all('spec'), securityContext },
    });
    const admission = admitPod(pod, [other], node(all('node')), new Set(), allocation);
    return admission.admit ? undefined : admission.rejection.reason;
  };
  const rest = faults.map(([, fault]) => fault);
  expect(faults.map((_fault, first) => reasonOf(...rest.slice(first)))).toEqual(faults.map(([reason]) => reason));
  expect(reasonOf()).toBeUndefined();
});

describe('sysctlAllowlist', () => {
  test.each([
    ['4.4.0', false],
    ['4.15.0-20-generic', true],
    ['10.0', true],
    ['unknown', false],
  ])('has what kernel %s keeps inside a pod', (release, isSafe) => {
    expect(sysctlAllowlist(release, []).names.has('net.ipv4.tcp_rmem')).toBe(isSafe);
    expect(sysctlAllowlist(release, []).names.has('net.ipv4.tcp_syncookies')).toBe(true);
  });

  test.each(['vm.swappiness', '*', 'kernel.*'])('refuses %s', (pattern) => {
    expect(() => sysctlAllowlist('6.1.0', [pattern])).toThrow(`"${pattern}" would reach beyond pods`);
  });

  test.each([
    'net.*.conf',
    'net.core.*.*',
    'net.Core.somaxconn',
    'net..core',
    'net.core.',
    'net.core-.somaxconn',
    'net.core somaxconn',
    'net.core.somaxconn\n',
    `net.${'a'.repeat(250)}`,
  ])('refuses %j, which is not a pattern', (pattern) => {
    const message =
      `--allowed-unsafe-sysctls: sysctl ${JSON.stringify(pattern)} must have at most 253 characters and match regex ` +
      '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]';
    const hint = 'Write a name such as net.core.somaxconn, or the beginning of names with a * at its end.';
    expect(() => sysctlAllowlist('6.1.0', [pattern])).toThrow(new UserError(message, { hint }));
  });

  test.each(['net.core*', 'net/core/*', 'net/ipv4/conf/eth0.1/forwarding', `net.${'a'.repeat(249)}`])(
    'takes %s',
    (pattern) => {
      const { names, prefixes } = sysctlAllowlist('6.1.0', [pattern]);
      const known = normalizeSysctlName(pattern).replace('*', '');
      expect(names.has(known) !== prefixes.has(known)).toBe(true);
    },
  );
});
