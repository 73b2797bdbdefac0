/** One field of the configuration: what it is in Go, and what becomes of it here. */
export interface FieldRow {
  /** As in `parseSchema`: a pointer's explicit zero value differs from absence. */
  readonly kind: string;
  /** What an absent value stands for; left out where Go's zero value does. Durations are milliseconds. */
  readonly default?: boolean | number | string | readonly string[] | Readonly<Record<string, string>>;
  /** What it does here. */
  readonly does?: string;
  /** Why it is read and checked, and then without effect. A row with neither holds other fields. */
  readonly without?: string;
}

const second = 1000;
const minute = 60 * second;

const apiServer = 'needs an API server';
const server = 'the HTTPS server of the kubelet is not built yet';
const webhook = 'asks an API server';
const eviction = 'eviction is not built yet';
const logRotation = 'log rotation is not built yet';
const managers = 'the CPU, memory and topology managers are not built yet';
const events = 'events go to the log and the screen, unlimited';
const iptables = 'no iptables rules are made';
const klog = 'an option of klog';

/**
 * Every field of kubelet.config.k8s.io/v1beta1 KubeletConfiguration, as of 1.32. The types, the decoder, the defaults and
 * docs/configuration-fields.md follow from it. Who carries a field out gives its row a `does`: its flag is then shown. kubelet: k8s.io/kubelet/config/v1beta1 types.go, defaults.go
 */
export const kubeletConfigurationFields = {
  KubeletConfiguration: {
    apiVersion: { kind: 'string', default: 'kubelet.config.k8s.io/v1beta1' },
    kind: { kind: 'string', default: 'KubeletConfiguration' },
    enableServer: { kind: '*bool', default: true, without: server },
    staticPodPath: { kind: 'string', does: 'file or folder of manifests' },
    podLogsDir: { kind: 'string', default: '/var/log/pods', does: 'folder of pod logs' },
    syncFrequency: { kind: 'duration', default: minute, does: 'how often a pod that does not change is looked at' },
    fileCheckFrequency: { kind: 'duration', default: 20 * second, does: 'how often manifest folders are read anew' },
    httpCheckFrequency: { kind: 'duration', default: 20 * second, does: 'how often the manifest URL is asked' },
    staticPodURL: { kind: 'string', does: 'URL of a manifest' },
    staticPodURLHeader: { kind: 'map []string', does: 'headers sent to that URL' },
    address: { kind: 'string', default: '0.0.0.0', without: server },
    port: { kind: 'int32', default: 10250, without: server },
    readOnlyPort: { kind: 'int32', without: server },
    tlsCertFile: { kind: 'string', without: server },
    tlsPrivateKeyFile: { kind: 'string', without: server },
    tlsCipherSuites: { kind: '[]string', without: server },
    tlsMinVersion: { kind: 'string', without: server },
    rotateCertificates: { kind: 'bool', without: apiServer },
    serverTLSBootstrap: { kind: 'bool', without: apiServer },
    authentication: { kind: 'KubeletAuthentication' },
    authorization: { kind: 'KubeletAuthorization' },
    registryPullQPS: { kind: '*int32', default: 5, does: 'image pulls that may begin in a second; 0: any number' },
    registryBurst: { kind: 'int32', default: 10, does: 'image pulls that may begin at once' },
    eventRecordQPS: { kind: '*int32', default: 50, without: events },
    eventBurst: { kind: 'int32', default: 100, without: events },
    enableDebuggingHandlers: { kind: '*bool', default: true, without: server },
    enableContentionProfiling: { kind: 'bool', without: 'profiles the Go runtime' },
    healthzPort: { kind: '*int32', default: 10248, does: 'port of `/healthz`, 0 for none' },
    healthzBindAddress: { kind: 'string', default: '127.0.0.1', does: 'where `/healthz` listens' },
    oomScoreAdj: { kind: '*int32', default: -999, does: 'oom_score_adj of the agent' },
    clusterDomain: { kind: 'string', does: 'domain of the cluster, searched by pods' },
    clusterDNS: { kind: '[]string', does: 'DNS servers of pods with dnsPolicy ClusterFirst' },
    streamingConnectionIdleTimeout: { kind: 'duration', default: 240 * minute, without: server },
    nodeStatusUpdateFrequency: { kind: 'duration', default: 10 * second, without: apiServer },
    nodeStatusReportFrequency: { kind: 'duration', default: 5 * minute, without: apiServer },
    nodeLeaseDurationSeconds: { kind: 'int32', default: 40, without: apiServer },
    imageMinimumGCAge: { kind: 'duration', default: 2 * minute, does: 'how long an unused image stays at least' },
    imageMaximumGCAge: { kind: 'duration', does: 'how long an unused image stays at most; 0: no limit' },
    imageGCHighThresholdPercent: {
      kind: '*int32',
      default: 85,
      does: 'usage of the disk from which unused images go; 100: never',
    },
    imageGCLowThresholdPercent: { kind: '*int32', default: 80, does: 'usage of the disk until which they go' },
    volumeStatsAggPeriod: { kind: 'duration', default: minute, without: 'volume statistics are not built yet' },
    kubeletCgroups: { kind: 'string', without: 'the agent stays in the cgroup it was started in' },
    systemCgroups: { kind: 'string', without: 'processes of others are not moved' },
    cgroupRoot: { kind: 'string', does: 'cgroup that holds those of pods' },
    cgroupsPerQOS: { kind: '*bool', default: true, does: 'pods have cgroups by QoS class' },
    cgroupDriver: { kind: 'string', default: 'cgroupfs', does: 'used where the runtime does not say its own' },
    cpuManagerPolicy: { kind: 'string', default: 'none', without: managers },
    singleProcessOOMKill: {
      kind: '*bool',
      does: 'on cgroup v2 a process out of memory does not take its container along',
    },
    cpuManagerPolicyOptions: { kind: 'map string', without: managers },
    cpuManagerReconcilePeriod: { kind: 'duration', default: 10 * second, without: managers },
    memoryManagerPolicy: { kind: 'string', default: 'None', without: managers },
    topologyManagerPolicy: { kind: 'string', default: 'none', without: managers },
    topologyManagerScope: { kind: 'string', default: 'container', without: managers },
    topologyManagerPolicyOptions: { kind: 'map string', without: managers },
    qosReserved: { kind: 'map string', without: 'the gate QOSReserved is not built yet' },
    runtimeRequestTimeout: { kind: 'duration', default: 2 * minute, does: 'how long a call to the runtime may take' },
    hairpinMode: { kind: 'string', default: 'promiscuous-bridge', without: 'the network belongs to the runtime' },
    maxPods: { kind: 'int32', default: 110, does: 'pods at work at a time; others wait for room' },
    podCIDR: { kind: 'string', does: 'told to the runtime at start' },
    podPidsLimit: { kind: '*int64', default: -1, does: 'processes a pod may have; -1: no limit' },
    resolvConf: { kind: '*string', default: '/etc/resolv.conf', does: 'resolver file pods inherit; empty for none' },
    runOnce: { kind: 'bool', without: '`kubelet-ts run-once` does this' },
    cpuCFSQuota: { kind: '*bool', default: true, does: 'CPU limits are enforced' },
    cpuCFSQuotaPeriod: { kind: '*duration', default: 100, does: 'over which CPU limits are counted' },
    nodeStatusMaxImages: { kind: '*int32', default: 50, without: apiServer },
    maxOpenFiles: { kind: 'int64', default: 1_000_000, without: 'Node raises its limit to what the system allows' },
    contentType: { kind: 'string', default: 'application/vnd.kubernetes.protobuf', without: apiServer },
    kubeAPIQPS: { kind: '*int32', default: 50, without: apiServer },
    kubeAPIBurst: { kind: 'int32', default: 100, without: apiServer },
    serializeImagePulls: { kind: '*bool', default: true, does: 'one image pull at a time' },
    maxParallelImagePulls: { kind: '*int32', does: 'image pulls at a time; absent: any number' },
    evictionHard: {
      kind: 'map string',
      // kubelet: eviction/defaults_linux.go DefaultEvictionHard
      default: {
        'memory.available': '100Mi',
        'nodefs.available': '10%',
        'nodefs.inodesFree': '5%',
        'imagefs.available': '15%',
        'imagefs.inodesFree': '5%',
      },
      does: 'kept from pods; nothing is evicted yet',
    },
    evictionSoft: { kind: 'map string', without: eviction },
    evictionSoftGracePeriod: { kind: 'map string', without: eviction },
    evictionPressureTransitionPeriod: { kind: 'duration', default: 5 * minute, without: eviction },
    evictionMaxPodGracePeriod: { kind: 'int32', without: eviction },
    evictionMinimumReclaim: { kind: 'map string', without: eviction },
    podsPerCore: { kind: 'int32', does: 'lowers maxPods to this many for each CPU' },
    enableControllerAttachDetach: { kind: '*bool', default: true, without: apiServer },
    protectKernelDefaults: { kind: 'bool', without: 'settings of the kernel are not touched' },
    makeIPTablesUtilChains: { kind: '*bool', default: true, without: iptables },
    iptablesMasqueradeBit: { kind: '*int32', default: 14, without: iptables },
    iptablesDropBit: { kind: '*int32', default: 15, without: iptables },
    featureGates: { kind: 'map bool', does: 'turns features on and off' },
    failSwapOn: { kind: '*bool', default: true, without: 'a node with swap starts; its pods get none' },
    memorySwap: { kind: 'MemorySwapConfiguration' },
    containerLogMaxSize: { kind: 'string', default: '10Mi', without: logRotation },
    containerLogMaxFiles: { kind: '*int32', default: 5, without: logRotation },
    containerLogMaxWorkers: { kind: '*int32', default: 1, without: logRotation },
    containerLogMonitorInterval: { kind: '*duration', default: 10 * second, without: logRotation },
    configMapAndSecretChangeDetectionStrategy: { kind: 'string', default: 'Watch', without: apiServer },
    systemReserved: { kind: 'map string', does: 'kept for the system, such as cpu=500m,memory=1Gi' },
    kubeReserved: { kind: 'map string', does: 'kept for this agent and the runtime' },
    reservedSystemCPUs: { kind: 'string', does: 'CPUs kept for the system: how many there are, not which' },
    showHiddenMetricsForVersion: { kind: 'string', without: server },
    systemReservedCgroup: { kind: 'string', does: 'cgroup of the system, when its share is enforced' },
    kubeReservedCgroup: { kind: 'string', does: 'cgroup of agent and runtime, when their share is enforced' },
    enforceNodeAllocatable: { kind: '[]string', default: ['pods'], does: 'what the kernel holds to its share' },
    allowedUnsafeSysctls: { kind: '[]string', does: 'sysctls that pods may set, such as net.core.*' },
    volumePluginDir: {
      kind: 'string',
      default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
      without: 'FlexVolumes are not supported',
    },
    providerID: { kind: 'string', without: apiServer },
    kernelMemcgNotification: { kind: 'bool', without: eviction },
    logging: { kind: 'LoggingConfiguration' },
    enableSystemLogHandler: { kind: '*bool', default: true, without: server },
    enableSystemLogQuery: { kind: '*bool', without: server },
    shutdownGracePeriod: {
      kind: 'duration',
      does: 'time of all pods when the node shuts down; 0: they are not stopped',
    },
    shutdownGracePeriodCriticalPods: { kind: 'duration', does: 'part of it that critical pods have' },
    shutdownGracePeriodByPodPriority: { kind: '[]ShutdownGracePeriodByPodPriority' },
    crashLoopBackOff: { kind: 'CrashLoopBackOffConfig' },
    reservedMemory: { kind: '[]MemoryReservation', without: managers },
    enableProfilingHandler: { kind: '*bool', default: true, without: server },
    enableDebugFlagsHandler: { kind: '*bool', default: true, without: server },
    seccompDefault: { kind: '*bool', default: false, does: "the runtime's seccomp profile for containers without one" },
    memoryThrottlingFactor: { kind: '*float64', default: 0.9, without: 'the gate MemoryQoS is not built yet' },
    registerWithTaints: { kind: '[]Taint', without: apiServer },
    registerNode: { kind: '*bool', default: true, without: apiServer },
    tracing: { kind: '*TracingConfiguration', without: 'traces are not built yet' },
    localStorageCapacityIsolation: { kind: '*bool', default: true, does: 'limits of emptyDirs on disk are enforced' },
    containerRuntimeEndpoint: { kind: 'string', does: 'CRI socket; empty: one is found or started' },
    imageServiceEndpoint: { kind: 'string', does: "CRI socket of the image service; empty: the runtime's" },
    failCgroupV1: { kind: '*bool', default: false, does: 'refuses to start on cgroup v1' },
  },
  KubeletAuthentication: {
    x509: { kind: 'KubeletX509Authentication' },
    webhook: { kind: 'KubeletWebhookAuthentication' },
    anonymous: { kind: 'KubeletAnonymousAuthentication' },
  },
  KubeletX509Authentication: { clientCAFile: { kind: 'string', without: server } },
  KubeletWebhookAuthentication: {
    enabled: { kind: '*bool', default: true, without: webhook },
    cacheTTL: { kind: 'duration', default: 2 * minute, without: webhook },
  },
  KubeletAnonymousAuthentication: { enabled: { kind: '*bool', default: false, without: server } },
  KubeletAuthorization: {
    mode: { kind: 'string', default: 'Webhook', without: server },
    webhook: { kind: 'KubeletWebhookAuthorization' },
  },
  KubeletWebhookAuthorization: {
    cacheAuthorizedTTL: { kind: 'duration', default: 5 * minute, without: webhook },
    cacheUnauthorizedTTL: { kind: 'duration', default: 30 * second, without: webhook },
  },
  MemorySwapConfiguration: { swapBehavior: { kind: 'string', without: 'static pods never swap, as in the kubelet' } },
  CrashLoopBackOffConfig: { maxContainerRestartPeriod: { kind: '*duration', does: 'longest wait before a restart' } },
  LoggingConfiguration: {
    format: { kind: 'string', default: 'text', does: '`text` or `json`' },
    flushFrequency: { kind: 'durationOrNanoseconds', default: 5 * second, without: 'every line is written at once' },
    verbosity: { kind: 'uint32', does: 'level of detail, as klog counts it: from 4 on debug lines' },
    vmodule: { kind: '[]VModuleItem', without: klog },
    options: { kind: 'FormatOptions' },
  },
  VModuleItem: { filePattern: { kind: 'string', without: klog }, verbosity: { kind: 'uint32', without: klog } },
  FormatOptions: { text: { kind: 'TextOptions' }, json: { kind: 'JSONOptions' } },
  TextOptions: { splitStream: { kind: 'bool', without: klog }, infoBufferSize: { kind: 'quantity', without: klog } },
  JSONOptions: { splitStream: { kind: 'bool', without: klog }, infoBufferSize: { kind: 'quantity', without: klog } },
  ShutdownGracePeriodByPodPriority: {
    priority: { kind: '!int32', does: 'pods from this priority on are a group' },
    shutdownGracePeriodSeconds: { kind: '!int64', does: 'time of the group when the node shuts down' },
  },
  MemoryReservation: {
    numaNode: { kind: '!int32', without: managers },
    limits: { kind: '!map quantity', without: managers },
  },
  Taint: {
    key: { kind: '!string', without: apiServer },
    value: { kind: 'string', without: apiServer },
    effect: { kind: '!string', without: apiServer },
    timeAdded: { kind: '*time', without: apiServer },
  },
  TracingConfiguration: {
    endpoint: { kind: '*string', without: 'traces are not built yet' },
    samplingRatePerMillion: { kind: '*int32', without: 'traces are not built yet' },
  },
} as const satisfies Record<string, Record<string, FieldRow>>;
