import { describe, expect, test } from 'vitest';
import { loadKubeletConfiguration } from '../../builders/load-kubelet-configuration.ts';

/** The errors of a configuration, as `field: message`. */
function errorsOf(body: string): string[] {
  const text = `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${body}`;
  const { problems, configuration } = loadKubeletConfiguration(text, 'kubelet.yaml');
  const errors = problems.filter(({ severity }) => severity === 'error');
  expect(configuration === undefined).toBe(errors.length > 0);
  return errors.map(({ field = '', message }) => `${field}: ${message}`);
}

describe('a configuration is refused for', () => {
  test.each([
    [
      'clusterDomain: "a\\nnameserver 192.0.2.1"',
      'clusterDomain: "a\\nnameserver 192.0.2.1" must not contain control characters',
    ],
    ['podLogsDir: "/var/log/a\\0"', 'podLogsDir: "/var/log/a\\u0000" must not contain control characters'],
    ['imageGCHighThresholdPercent: 101', 'imageGCHighThresholdPercent: 101 must be between 0 and 100, inclusive'],
    [
      'imageGCLowThresholdPercent: 85',
      'imageGCLowThresholdPercent: 85 must be less than imageGCHighThresholdPercent 85',
    ],
    ['imageMaximumGCAge: 2m', 'imageMaximumGCAge: 2m0s must be greater than imageMinimumGCAge 2m0s'],
    ['imageMinimumGCAge: -1s', 'imageMinimumGCAge: -1s must not be negative'],
    ['healthzPort: 65536', 'healthzPort: 65536 must be between 0 and 65535, inclusive'],
    ['port: 70000', 'port: 70000 must be between 1 and 65535, inclusive'],
    ['readOnlyPort: -1', 'readOnlyPort: -1 must be between 0 and 65535, inclusive'],
    ['oomScoreAdj: -1001', 'oomScoreAdj: -1001 must be between -1000 and 1000, inclusive'],
    ['iptablesDropBit: 32', 'iptablesDropBit: 32 must be between 0 and 31, inclusive'],
    ['registryPullQPS: -1', 'registryPullQPS: -1 must be at least 0'],
    ['nodeStatusMaxImages: -2', 'nodeStatusMaxImages: -2 must be at least -1'],
    ['maxParallelImagePulls: 0', 'maxParallelImagePulls: 0 must be at least 1'],
    [
      'maxParallelImagePulls: 2\nserializeImagePulls: true',
      'maxParallelImagePulls: cannot be larger than 1 unless serializeImagePulls is false',
    ],
    ['containerLogMaxFiles: 1', 'containerLogMaxFiles: 1 must be at least 2'],
    ['containerLogMaxWorkers: 0', 'containerLogMaxWorkers: 0 must be at least 1'],
    ['containerLogMonitorInterval: 2s', 'containerLogMonitorInterval: 2s must be at least 3s'],
    [
      'containerLogMaxSize: ten',
      'containerLogMaxSize: "ten" must be a whole number of bytes such as "10Mi", below 100Ti',
    ],
    ...['0.5', '1.5Mi', '0.5Ki', '1.0Ki', '1000m', '1Ei', '1Pi', '100Ti', '10E', '1000000000000000000'].map(
      (size): [string, string] => [
        `containerLogMaxSize: "${size}"`,
        `containerLogMaxSize: "${size}" must be a whole number of bytes such as "10Mi", below 100Ti`,
      ],
    ),
    ['memoryThrottlingFactor: 0', 'memoryThrottlingFactor: 0 must be greater than 0 and at most 1'],
    ['memoryThrottlingFactor: 1.5', 'memoryThrottlingFactor: 1.5 must be greater than 0 and at most 1'],
    ['syncFrequency: -1m', 'syncFrequency: -1m0s must be positive'],
    [
      'cpuCFSQuotaPeriod: 50ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}',
      'cpuCFSQuotaPeriod: 50ms needs the feature gate CustomCPUCFSQuotaPeriod',
    ],
    ['cpuCFSQuotaPeriod: 500us', 'cpuCFSQuotaPeriod: 500µs must be between 1ms and 1s, inclusive'],
    [
      'imagePullCredentialsVerificationPolicy: Sometimes',
      'imagePullCredentialsVerificationPolicy: "Sometimes" must be one of: "NeverVerify", "NeverVerifyPreloadedImages", ' +
        '"NeverVerifyAllowlistedImages", "AlwaysVerify"',
    ],
    [
      'imagePullCredentialsVerificationPolicy: AlwaysVerify\nfeatureGates: {KubeletEnsureSecretPulledImages: false}',
      'imagePullCredentialsVerificationPolicy: needs the feature gate KubeletEnsureSecretPulledImages',
    ],
    [
      'preloadedImagesVerificationAllowlist: [registry.example/a]',
      'preloadedImagesVerificationAllowlist: needs imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages',
    ],
    ...[
      ['registry.example/a:1', 'registry.example/a'],
      ['busybox', 'docker.io/library/busybox'],
      ...['*', '/*', 'registry.example/*/a', 'registry.example/*/*', '', ' a', ' registry.example/*'].map((entry) => [
        entry,
        'registry.example/team/app',
      ]),
      ['registry.example/A', 'registry.example/team/app'],
    ].map(([entry = '', example = '']): [string, string] => [
      `imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["${entry}"]`,
      `preloadedImagesVerificationAllowlist[0]: "${entry}" must be a complete image name without tag and digest, ` +
        `such as "${example}", or a prefix of names that ends in "/*"`,
    ]),
    [
      'memoryReservationPolicy: TieredReservation',
      'memoryReservationPolicy: TieredReservation needs the feature gate MemoryQoS',
    ],
    ['memoryReservationPolicy: Other', 'memoryReservationPolicy: "Other" must be one of: "None", "TieredReservation"'],
    ...[0, 65_535, -65_536, 65_537, 2 ** 32].map((ids): [string, string] => [
      `userNamespaces: {idsPerPod: ${ids}}`,
      `userNamespaces.idsPerPod: ${ids} must be a multiple of 65536, at least that and below 2^32`,
    ]),
    ['cgroupDriver: cgroupv2', 'cgroupDriver: "cgroupv2" must be one of: "cgroupfs", "systemd"'],
    [
      'hairpinMode: yes please',
      'hairpinMode: "yes please" must be one of: "none", "hairpin-veth", "promiscuous-bridge"',
    ],
    [
      'topologyManagerPolicy: best',
      'topologyManagerPolicy: "best" must be one of: "none", "best-effort", "restricted", "single-numa-node"',
    ],
    ['topologyManagerScope: node', 'topologyManagerScope: "node" must be one of: "container", "pod"'],
    ['authorization: {mode: RBAC}', 'authorization.mode: "RBAC" must be one of: "AlwaysAllow", "Webhook"'],
    [
      'memorySwap: {swapBehavior: UnlimitedSwap}',
      'memorySwap.swapBehavior: "UnlimitedSwap" must be one of: "", "LimitedSwap", "NoSwap"',
    ],
    ['enforceNodeAllocatable: [pods, pods]', 'enforceNodeAllocatable: has "pods" twice'],
    [
      'enforceNodeAllocatable: [all]',
      'enforceNodeAllocatable: "all" must be one of: "pods", "system-reserved", "system-reserved-compressible", ' +
        '"kube-reserved", "kube-reserved-compressible", "none", ""',
    ],
    ['enforceNodeAllocatable: [none, pods]', 'enforceNodeAllocatable: cannot have other values besides "none"'],
    [
      'enforceNodeAllocatable: [system-reserved]',
      'enforceNodeAllocatable: "system-reserved" needs systemReservedCgroup',
    ],
    [
      'enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\nkubeReservedCgroup: /agent',
      'enforceNodeAllocatable: cannot have both "kube-reserved" and "kube-reserved-compressible"',
    ],
    ['enforceNodeAllocatable: [pods]\ncgroupsPerQOS: false', 'enforceNodeAllocatable: "pods" needs cgroupsPerQOS'],
    ['systemCgroups: /system', 'systemCgroups: needs cgroupRoot'],
    ['systemReserved: {cpu: lots}', 'systemReserved[cpu]: "lots" is not an amount of cpu'],
    ['kubeReserved: {memory: -1Gi}', 'kubeReserved[memory]: "-1Gi" is not an amount of memory'],
    ['kubeReserved: {gpu: "1"}', 'kubeReserved[gpu]: "gpu" cannot be reserved'],
    ['reservedSystemCPUs: 0..3', 'reservedSystemCPUs: "0..3" must be a list of CPUs such as "0-3,8"'],
    ['reservedSystemCPUs: 8,3-1', 'reservedSystemCPUs: "3-1" is a range that ends before it begins'],
    ['reservedSystemCPUs: 10-9', 'reservedSystemCPUs: "10-9" is a range that ends before it begins'],
    [
      'reservedSystemCPUs: 0-3,8\nsystemReservedCgroup: /system',
      'reservedSystemCPUs: cannot be set together with systemReservedCgroup',
    ],
    [
      'reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 2Gi}}]',
      'reservedMemory[1].limits[memory]: is repeated for NUMA node 0',
    ],
    ['reservedMemory: [{numaNode: 0, limits: {memory: 0}}]', 'reservedMemory[0].limits[memory]: must not be zero'],
    ['qosReserved: {memory: half}', 'qosReserved[memory]: "half" must be a percentage up to 100%'],
    ['evictionPolicy: never', 'evictionPolicy: "never" must be one of: "kubelet", "byPriority"'],
    ['evictionHard: {memory.free: 1Gi}', 'evictionHard[memory.free]: unknown eviction signal "memory.free"'],
    [
      'evictionHard: {memory.available: 120%}',
      'evictionHard[memory.available]: "120%" must be a positive quantity or 0% to 100%',
    ],
    [
      'evictionHard: {memory.available: "0"}',
      'evictionHard[memory.available]: "0" must be a positive quantity or 0% to 100%',
    ],
    ['evictionSoft: {memory.available: 1Gi}', 'evictionSoft[memory.available]: has no grace period'],
    // One that is never met needs none.
    [
      'evictionSoft: {memory.available: 0%, nodefs.available: 100%, pid.available: 1%}',
      'evictionSoft[pid.available]: has no grace period',
    ],
    [
      'evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: soon}',
      'evictionSoftGracePeriod[memory.available]: "soon" must be a duration such as "1m30s"',
    ],
    [
      'evictionMinimumReclaim: {memory.available: 0%}',
      'evictionMinimumReclaim[memory.available]: "0%" must be a quantity or a percentage',
    ],
    ['shutdownGracePeriod: 500ms', 'shutdownGracePeriod: 500ms must be zero or at least 1s'],
    [
      'shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s',
      'shutdownGracePeriodCriticalPods: 20s must not be longer than shutdownGracePeriod 10s',
    ],
    [
      'shutdownGracePeriod: 10s\nfeatureGates: ' +
        '{GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false, WindowsGracefulNodeShutdown: false}',
      'shutdownGracePeriod: needs the feature gate GracefulNodeShutdown',
    ],
    [
      'shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 5}]',
      'shutdownGracePeriodByPodPriority: cannot be set together with shutdownGracePeriod',
    ],
    [
      'crashLoopBackOff: {maxContainerRestartPeriod: 10s}\nfeatureGates: {KubeletCrashLoopBackOffMax: false}',
      'crashLoopBackOff.maxContainerRestartPeriod: needs the feature gate KubeletCrashLoopBackOffMax',
    ],
    [
      'crashLoopBackOff: {maxContainerRestartPeriod: 301s}',
      'crashLoopBackOff.maxContainerRestartPeriod: 5m1s must be between 1s and 300s, inclusive',
    ],
    ['podLogsDir: logs', 'podLogsDir: "logs" must be an absolute path'],
    ['podLogsDir: /var/log/pods/', 'podLogsDir: "/var/log/pods/" must be a normal path'],
    ['podLogsDir: /var/log/../pods', 'podLogsDir: "/var/log/../pods" must be a normal path'],
    ['podLogsDir: /var/log/påds', 'podLogsDir: "/var/log/påds" must have ASCII characters only'],
    ['runOnce: true', 'runOnce: was removed from the kubelet'],
    ['enableSystemLogQuery: true\nenableSystemLogHandler: false', 'enableSystemLogQuery: needs enableSystemLogHandler'],
    [
      'serverTLSBootstrap: true\nfeatureGates: {RotateKubeletServerCertificate: false}',
      'serverTLSBootstrap: needs the feature gate RotateKubeletServerCertificate',
    ],
    ['showHiddenMetricsForVersion: "1.20"', 'showHiddenMetricsForVersion: must be left out or be 1.35'],
    [
      'registerWithTaints: [{key: a b, effect: NoSchedule}]',
      'registerWithTaints[0]: invalid taint: must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit',
    ],
    [
      'registerWithTaints: [{key: a, effect: Never}]',
      'registerWithTaints[0].effect: "Never" must be one of: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    ['logging: {format: xml}', 'logging.format: "xml" must be one of: "text", "json"'],
    [
      'logging: {format: json, vmodule: [{filePattern: a, verbosity: 1}]}',
      'logging.vmodule: is only for the format "text"',
    ],
    [
      'logging: {options: {json: {infoBufferSize: 1Ki}}}',
      'logging.options.json: needs the feature gate LoggingAlphaOptions',
    ],
    [
      'tracing: {samplingRatePerMillion: 1000001}',
      'tracing.samplingRatePerMillion: 1000001 must be between 0 and 1000000, inclusive',
    ],
    [
      'featureGates: {AppArmor: false}',
      'featureGates[AppArmor]: feature gate AppArmor was removed: Kubernetes 1.36 does not know it',
    ],
    [
      'featureGates: {NodeDeclaredFeatures: false, ExtendWebSocketsToKubelet: false, InPlacePodVerticalScalingInitContainers: false, InPlacePodLevelResourcesVerticalScaling: false}',
      'featureGates[NodeDeclaredFeatures]: feature gate RestartAllContainersOnContainerExits is enabled but needs NodeDeclaredFeatures, which is disabled',
    ],
    [
      'runtimeClasses: [{name: kata, handler: Kata}]',
      'runtimeClasses[0].handler: Invalid value: "Kata": must consist of lower case letters, digits and "-", and start and end with a letter or digit',
    ],
    [
      'runtimeClasses: [{name: kata, handler: kata}, {name: kata, handler: runsc}]',
      'runtimeClasses[1].name: "kata" is declared twice',
    ],
  ])('%s', (body, error) => {
    expect(errorsOf(body)).toEqual([error]);
  });

  test('all its mistakes at once', () => {
    expect(errorsOf('maxPods: -1\nport: -1\nfeatureGates: {Nope: true}\n')).toEqual([
      'featureGates[Nope]: unrecognized feature gate: Nope',
      'maxPods: -1 must be at least 0',
      'port: -1 must be between 1 and 65535, inclusive',
    ]);
  });
});

describe('a configuration is taken with', () => {
  test.each([
    'enforceNodeAllocatable: [none]\ncgroupsPerQOS: false',
    'enforceNodeAllocatable: [""]',
    'enforceNodeAllocatable: [pods, system-reserved, kube-reserved-compressible]\n' +
      'systemReservedCgroup: /system\nkubeReservedCgroup: /agent',
    'evictionHard: {memory.available: 0%, nodefs.available: 100%, pid.available: 12.5%}',
    'evictionMinimumReclaim: {memory.available: "0", nodefs.available: 500Mi}',
    'featureGates: {ImageVolume: true, CustomCPUCFSQuotaPeriod: false}',
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [registry.example:5000/*, docker.io/library/busybox]',
    'userNamespaces: {idsPerPod: 131072}\nmemoryReservationPolicy: None\ntlsCurvePreferences: [29]',
    'logging: {options: {text: {splitStream: true}}}\nfeatureGates: {LoggingAlphaOptions: true}',
    'cpuCFSQuotaPeriod: 1s\nfeatureGates: {AllAlpha: true}',
    'reservedMemory: [{numaNode: 0, limits: {memory: 1Gi, hugepages-2Mi: 4Mi}}, {numaNode: 1, limits: {memory: 1Gi}}]',
    'registerWithTaints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]',
    'shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 30s',
    'runtimeClasses: [{name: kata, handler: kata, overhead: {podFixed: {memory: 100Mi}}, scheduling: {nodeSelector: {a: b}}}]',
    'podLogsDir: /var/log/..pods/.x',
  ])('%s', (body) => {
    expect(errorsOf(body)).toEqual([]);
  });
});
