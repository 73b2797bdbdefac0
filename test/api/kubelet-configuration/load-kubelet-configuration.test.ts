import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadKubeletConfiguration } from '../../builders/load-kubelet-configuration.ts';
import type { KubeletConfiguration } from '../../../src/api/kubelet-configuration/types.ts';
import type { ManifestProblem } from '../../../src/api/text/manifest-problem.ts';
import { defaultConfiguration } from '../../builders/default-configuration.ts';

const origin = '/etc/kubelet.yaml';
const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function load(body: string): ReturnType<typeof loadKubeletConfiguration> {
  return loadKubeletConfiguration(head + body, origin);
}

/** Everything a text is warned about or refused for, without the origin. */
function problemsOf(text: string): Omit<ManifestProblem, 'origin'>[] {
  return loadKubeletConfiguration(text, origin).problems.map((problem) => {
    const { origin: from, ...rest } = problem;
    expect(from).toBe(origin);
    return rest;
  });
}

test('a file that says nothing has the defaults of the kubelet', () => {
  expect(load('')).toEqual({ configuration: defaultConfiguration, problems: [] });
});

describe('the file', () => {
  const samples: Record<string, { differs: Partial<KubeletConfiguration>; unused: string[] }> = {
    'kubeadm.yaml': {
      differs: {
        authentication: {
          ...defaultConfiguration.authentication,
          x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
        },
        cgroupDriver: 'systemd',
        clusterDNS: ['10.96.0.10'],
        clusterDomain: 'cluster.local',
        containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
        resolvConf: '/run/systemd/resolve/resolv.conf',
        rotateCertificates: true,
        staticPodPath: '/etc/kubernetes/manifests',
      },
      unused: ['rotateCertificates'],
    },
    'standalone.yaml': {
      differs: {
        authentication: { ...defaultConfiguration.authentication, webhook: { enabled: false, cacheTTL: 120_000 } },
        authorization: { ...defaultConfiguration.authorization, mode: 'AlwaysAllow' },
        enableServer: false,
        address: '127.0.0.1',
        readOnlyPort: 10_255,
        staticPodPath: '/etc/kubernetes/manifests',
        containerRuntimeEndpoint: 'unix:///var/run/crio/crio.sock',
      },
      unused: ['authentication.webhook.enabled'],
    },
    'minikube.yaml': {
      differs: {
        authentication: {
          ...defaultConfiguration.authentication,
          x509: { clientCAFile: '/var/lib/minikube/certs/ca.crt' },
        },
        containerRuntimeEndpoint: 'unix:///var/run/cri-dockerd.sock',
        hairpinMode: 'hairpin-veth',
        runtimeRequestTimeout: 900_000,
        clusterDomain: 'cluster.local',
        imageGCHighThresholdPercent: 100,
        evictionHard: { 'nodefs.available': '0%', 'nodefs.inodesFree': '0%', 'imagefs.available': '0%' },
        failSwapOn: false,
        staticPodPath: '/etc/kubernetes/manifests',
      },
      unused: ['hairpinMode'],
    },
    'kind.json': {
      differs: {
        cgroupDriver: 'systemd',
        cgroupRoot: '/kubelet',
        failSwapOn: false,
        imageGCHighThresholdPercent: 100,
        evictionHard: { 'nodefs.available': '0%', 'nodefs.inodesFree': '0%', 'imagefs.available': '0%' },
      },
      unused: [],
    },
    'edge.yaml': {
      differs: {
        staticPodURL: 'https://config.example/node.yaml',
        staticPodURLHeader: { Authorization: ['Bearer abc'], 'X-Site': ['roof', 'north'] },
        httpCheckFrequency: 300_000,
        maxPods: 8,
        podPidsLimit: 512,
        cpuCFSQuotaPeriod: 10,
        systemReserved: { cpu: '200m', memory: '256Mi' },
        evictionHard: { 'memory.available': '5%', 'nodefs.available': '1Gi' },
        evictionSoft: { 'memory.available': '10%' },
        evictionSoftGracePeriod: { 'memory.available': '1m30s' },
        maxParallelImagePulls: 3,
        serializeImagePulls: false,
        allowedUnsafeSysctls: ['net.core.*'],
        featureGates: { KubeletCrashLoopBackOffMax: true },
        crashLoopBackOff: { maxContainerRestartPeriod: 30_000 },
        shutdownGracePeriodByPodPriority: [
          { priority: 2_000_000_000, shutdownGracePeriodSeconds: 10 },
          { priority: 0, shutdownGracePeriodSeconds: 20 },
        ],
        logging: { ...defaultConfiguration.logging, format: 'json', verbosity: 4, flushFrequency: 1000 },
      },
      unused: ['logging.flushFrequency'],
    },
  };

  test.each(Object.entries(samples))('%s loads, and says what of it has no effect', (name, { differs, unused }) => {
    const bytes = readFileSync(new URL(`samples/${name}`, import.meta.url));
    const { configuration, problems } = loadKubeletConfiguration(bytes, name);
    expect(configuration).toEqual({ ...defaultConfiguration, ...differs });
    expect(problems.map(({ field }) => field).toSorted()).toEqual(unused.toSorted());
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  });
});

describe('a zero', () => {
  test('counts as not given where the kubelet cannot tell it from absence', () => {
    expect(load('syncFrequency: 0s\nport: 0\nmaxPods: 0\nregistryBurst: 0\npodLogsDir: ""').configuration).toEqual(
      defaultConfiguration,
    );
  });

  test('stands where the kubelet can tell it', () => {
    const text = 'registryPullQPS: 0\nhealthzPort: 0\noomScoreAdj: 0\nresolvConf: ""\nenforceNodeAllocatable: []';
    expect(load(text).configuration).toEqual({
      ...defaultConfiguration,
      registryPullQPS: 0,
      healthzPort: 0,
      oomScoreAdj: 0,
      resolvConf: '',
      enforceNodeAllocatable: [],
    });
  });

  test('and null are one', () => {
    expect(load('maxPods: null\nhealthzPort:\nauthentication: null').configuration).toEqual(defaultConfiguration);
  });
});

describe('a default', () => {
  test.each<[string, Partial<KubeletConfiguration>]>([
    ['nodeStatusUpdateFrequency: 30s', { nodeStatusUpdateFrequency: 30_000, nodeStatusReportFrequency: 30_000 }],
    ['maxParallelImagePulls: 1', { maxParallelImagePulls: 1 }],
    ['maxParallelImagePulls: 2', { maxParallelImagePulls: 2, serializeImagePulls: false }],
    ['podPidsLimit: -7', { podPidsLimit: -1 }],
    ['cgroupsPerQOS: false', { cgroupsPerQOS: false, enforceNodeAllocatable: [] }],
    [
      'featureGates: {KubeletCrashLoopBackOffMax: false}',
      { featureGates: { KubeletCrashLoopBackOffMax: false }, crashLoopBackOff: {} },
    ],
    [
      'featureGates: {KubeletEnsureSecretPulledImages: false}',
      { featureGates: { KubeletEnsureSecretPulledImages: false }, imagePullCredentialsVerificationPolicy: '' },
    ],
    ['tracing: {}', { tracing: {} }],
  ])('follows what else is said: %s', (body, differs) => {
    expect(load(body).configuration).toEqual({ ...defaultConfiguration, ...differs });
  });
});

describe('a mistake', () => {
  test.each([
    [
      `${head}maxPod: 20\n`,
      {
        line: 3,
        column: 1,
        field: 'maxPod',
        message: 'Unknown field "maxPod" is ignored',
        hint: 'Did you mean "maxPods"?',
        severity: 'warning',
      },
    ],
    [
      `${head}logging:\n  verbose: 2\n`,
      {
        line: 4,
        column: 3,
        field: 'logging.verbose',
        message: 'Unknown field "verbose" is ignored',
        hint: 'Did you mean "verbosity"?',
        severity: 'warning',
      },
    ],
    [
      `${head}maxPods: 1\nmaxPods: 2\n`,
      {
        line: 4,
        column: 1,
        message: 'Key "maxPods" is written more than once; the last one counts',
        hint: 'Remove the others.',
        severity: 'warning',
      },
    ],
    [
      '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",\n"port": 1, "port": 10250}',
      {
        line: 2,
        column: 12,
        message: 'Key "port" is written more than once; the last one counts',
        hint: 'Remove the others.',
        severity: 'warning',
      },
    ],
    [
      `${head}syncFrequency: 10\n`,
      {
        line: 3,
        column: 16,
        field: 'syncFrequency',
        message: 'Expected a duration such as "20s" or "1m30s", found the number 10',
        severity: 'error',
      },
    ],
    [
      `${head}maxPods: "20"\n`,
      {
        line: 3,
        column: 10,
        field: 'maxPods',
        message: 'Expected an integer, found the string "20"',
        hint: 'Remove the quotes.',
        severity: 'error',
      },
    ],
    [
      `${head}logging: {verbosity: -1}\n`,
      {
        line: 3,
        column: 22,
        field: 'logging.verbosity',
        message: 'Expected an integer from 0 to 4294967295, found the number -1',
        severity: 'error',
      },
    ],
    [
      `${head}featureGates: {PodLevelResource: true}\n`,
      {
        line: 3,
        column: 34,
        field: 'featureGates[PodLevelResource]',
        message: 'unrecognized feature gate: PodLevelResource',
        hint: 'Did you mean "PodLevelResources"?',
        severity: 'error',
      },
    ],
    [
      'apiVersion: v1\nkind: Pod\n',
      {
        line: 2,
        column: 7,
        field: 'kind',
        message: 'kind "Pod" is not supported',
        hint: 'A configuration starts with "apiVersion: kubelet.config.k8s.io/v1beta1" and "kind: KubeletConfiguration".',
        severity: 'error',
      },
    ],
    [
      'apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n',
      {
        line: 1,
        column: 13,
        field: 'apiVersion',
        message: 'apiVersion "kubelet.config.k8s.io/v1" is not supported',
        hint: 'A configuration starts with "apiVersion: kubelet.config.k8s.io/v1beta1" and "kind: KubeletConfiguration".',
        severity: 'error',
      },
    ],
    [
      '',
      {
        line: 1,
        column: 1,
        message: 'Expected a KubeletConfiguration, found nothing',
        hint: 'A configuration starts with "apiVersion: kubelet.config.k8s.io/v1beta1" and "kind: KubeletConfiguration".',
        severity: 'error',
      },
    ],
  ])('is reported with its position: %j', (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });
});
