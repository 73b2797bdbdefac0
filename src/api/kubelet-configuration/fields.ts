/** One field of the configuration: its type in Go and its effect here. */
export interface FieldRow {
  /** Type as in `parseSchema`. An explicit zero value of a pointer differs from absence. */
  readonly kind: string;
  /** The default; omitted if it is Go's zero value. Durations are milliseconds. */
  readonly default?: boolean | number | string | readonly string[] | Readonly<Record<string, string>>;
  /** True if the default has no effect here but an explicit value has. Help texts then name no default. */
  readonly onlyIfGiven?: boolean;
  /** Its effect here. */
  readonly does?: string;
  /** Why it has no effect here, although it is read and checked. A row with neither text holds other fields. */
  readonly without?: string;
}

const second = 1000;
const minute = 60 * second;

const apiServer = 'needs an API server';
const server = 'this part of the HTTPS API is not built yet';
const webhook = 'asks an API server';
const events = 'events go to the log and the screen, unlimited';
const iptables = 'the iptables chains of the kubelet are not created';
const klog = 'an option of klog';

/**
 * Every field of kubelet.config.k8s.io/v1beta1 KubeletConfiguration, as of 1.36, and ours: controlGroup,
 * evictionPolicy and runtimeClasses. The types, the decoder, the defaults and docs/reference/configuration.md come
 * from this table. When a field takes effect, give its row a `does`: that also shows its flag. kubelet:
 * k8s.io/kubelet/config/v1beta1 types.go, defaults.go
 */
export const kubeletConfigurationFields = {
  KubeletConfiguration: {
    apiVersion: { kind: 'string', default: 'kubelet.config.k8s.io/v1beta1' },
    kind: { kind: 'string', default: 'KubeletConfiguration' },
    enableServer: { kind: '*bool', default: true, does: 'serve the HTTPS API if client authentication is configured' },
    staticPodPath: { kind: 'string', does: 'file or folder of manifests' },
    podLogsDir: { kind: 'string', default: '/var/log/pods', does: 'folder of pod logs' },
    syncFrequency: { kind: 'duration', default: minute, does: 'how often an unchanged pod is synced' },
    fileCheckFrequency: { kind: 'duration', default: 20 * second, does: 'how often manifest folders are read again' },
    httpCheckFrequency: { kind: 'duration', default: 20 * second, does: 'how often the manifest URL is fetched' },
    staticPodURL: { kind: 'string', does: 'URL of a manifest' },
    staticPodURLHeader: { kind: 'map []string', does: 'headers sent to that URL' },
    address: { kind: 'string', default: '0.0.0.0', does: 'where the HTTPS API and the read-only port listen' },
    port: { kind: 'int32', default: 10250, does: 'port of the HTTPS API' },
    readOnlyPort: { kind: 'int32', does: 'port of pods and statistics without credentials, 0 for none' },
    tlsCertFile: { kind: 'string', does: 'serving certificate of the HTTPS API, instead of a generated one' },
    tlsPrivateKeyFile: { kind: 'string', does: 'its key' },
    tlsCipherSuites: { kind: '[]string', does: 'cipher suites of TLS 1.2' },
    tlsMinVersion: { kind: 'string', does: 'VersionTLS12 or VersionTLS13' },
    tlsCurvePreferences: { kind: '[]int32', does: 'curves of TLS by their numbers, such as 29 for X25519' },
    rotateCertificates: { kind: 'bool', without: apiServer },
    serverTLSBootstrap: { kind: 'bool', without: apiServer },
    authentication: { kind: 'KubeletAuthentication' },
    authorization: { kind: 'KubeletAuthorization' },
    registryPullQPS: { kind: '*int32', default: 5, does: 'image pulls started per second at most; 0: unlimited' },
    registryBurst: { kind: 'int32', default: 10, does: 'image pulls started at once at most' },
    imagePullCredentialsVerificationPolicy: {
      kind: 'string',
      does: 'which present images need credentials; by default those that the agent pulled',
    },
    preloadedImagesVerificationAllowlist: {
      kind: '[]string',
      does: 'images, or prefixes of images with `/*`, for NeverVerifyAllowlistedImages',
    },
    eventRecordQPS: { kind: '*int32', default: 50, without: events },
    eventBurst: { kind: 'int32', default: 100, without: events },
    enableDebuggingHandlers: {
      kind: '*bool',
      default: true,
      does: 'logs, exec, attach and port forward over the HTTPS API',
    },
    enableContentionProfiling: { kind: 'bool', without: 'profiles the Go runtime' },
    healthzPort: { kind: '*int32', default: 10248, does: 'port of `/healthz`, 0 for none' },
    healthzBindAddress: { kind: 'string', default: '127.0.0.1', does: 'where `/healthz` listens' },
    oomScoreAdj: { kind: '*int32', default: -999, does: 'oom_score_adj of the agent' },
    clusterDomain: { kind: 'string', does: 'domain of the cluster, in the search list of pods' },
    clusterDNS: { kind: '[]string', does: 'DNS servers of pods with dnsPolicy ClusterFirst' },
    streamingConnectionIdleTimeout: {
      kind: 'duration',
      default: 240 * minute,
      does: 'after this time without a byte, a stream is closed',
    },
    nodeStatusUpdateFrequency: { kind: 'duration', default: 10 * second, without: apiServer },
    nodeStatusReportFrequency: { kind: 'duration', default: 5 * minute, without: apiServer },
    nodeLeaseDurationSeconds: { kind: 'int32', default: 40, without: apiServer },
    imageMinimumGCAge: { kind: 'duration', default: 2 * minute, does: 'shortest time an unused image is kept' },
    imageMaximumGCAge: { kind: 'duration', does: 'longest time an unused image is kept; 0: no limit' },
    imageGCHighThresholdPercent: {
      kind: '*int32',
      default: 85,
      does: 'disk usage in percent that starts the deletion of unused images; 100: never',
    },
    imageGCLowThresholdPercent: {
      kind: '*int32',
      default: 80,
      does: 'disk usage in percent at which that deletion stops',
    },
    volumeStatsAggPeriod: {
      kind: 'duration',
      default: minute,
      does: 'how often the volumes of a pod are measured; negative: never',
    },
    kubeletCgroups: { kind: 'string', does: 'cgroup that the agent moves itself into' },
    systemCgroups: { kind: 'string', does: 'cgroup that processes of the root cgroup are moved into' },
    cgroupRoot: { kind: 'string', does: 'cgroup that holds those of pods' },
    cgroupsPerQOS: { kind: '*bool', default: true, does: 'pods have cgroups by QoS class' },
    cgroupDriver: { kind: 'string', default: 'cgroupfs', does: 'used if the runtime does not report its own' },
    cpuManagerPolicy: {
      kind: 'string',
      default: 'none',
      does: '`static`: containers of Guaranteed pods with whole CPUs have these for themselves',
    },
    singleProcessOOMKill: {
      kind: '*bool',
      does: 'on cgroup v2, an OOM kill stops one process rather than the whole container',
    },
    cpuManagerPolicyOptions: { kind: 'map string', does: 'options of the policy `static`' },
    cpuManagerReconcilePeriod: {
      kind: 'duration',
      default: 10 * second,
      does: 'period between checks that containers have their CPUs',
    },
    memoryManagerPolicy: {
      kind: 'string',
      default: 'None',
      does: '`Static`: the memory of Guaranteed pods is on certain NUMA nodes',
    },
    topologyManagerPolicy: {
      kind: 'string',
      default: 'none',
      does: 'whether CPUs and memory of a pod must be on the same NUMA nodes',
    },
    topologyManagerScope: {
      kind: 'string',
      default: 'container',
      does: '`pod`: all containers of a pod are on the same NUMA nodes',
    },
    topologyManagerPolicyOptions: { kind: 'map string', does: 'options of the topology manager' },
    qosReserved: { kind: 'map string', without: 'the gate QOSReserved is not built yet' },
    runtimeRequestTimeout: { kind: 'duration', default: 2 * minute, does: 'how long a call to the runtime may take' },
    hairpinMode: { kind: 'string', default: 'promiscuous-bridge', without: 'the network belongs to the runtime' },
    maxPods: { kind: 'int32', default: 110, does: 'pods that run at a time; others wait' },
    podCIDR: { kind: 'string', does: 'subnets of pods on the managed containerd, one per family; sent to the runtime' },
    podPidsLimit: { kind: '*int64', default: -1, does: 'processes a pod may have; -1: no limit' },
    resolvConf: { kind: '*string', default: '/etc/resolv.conf', does: 'resolver file pods inherit; empty for none' },
    runOnce: { kind: 'bool', without: '`kubelet-ts run-once` does this' },
    cpuCFSQuota: { kind: '*bool', default: true, does: 'CPU limits are enforced' },
    cpuCFSQuotaPeriod: { kind: '*duration', default: 100, does: 'period of CPU limits' },
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
      does: 'thresholds that evict pods at once, also reserved from pods',
    },
    evictionSoft: { kind: 'map string', does: 'thresholds that evict pods after a grace period' },
    evictionSoftGracePeriod: {
      kind: 'map string',
      does: 'how long each soft threshold must be exceeded before it evicts',
    },
    evictionPressureTransitionPeriod: {
      kind: 'duration',
      default: 5 * minute,
      does: 'how long the node stays under pressure after the last sign of it',
    },
    evictionMaxPodGracePeriod: { kind: 'int32', does: 'maximum seconds that a soft threshold gives a pod to stop' },
    evictionMinimumReclaim: { kind: 'map string', does: 'how far a signal must be above its threshold afterwards' },
    evictionPolicy: {
      kind: 'string',
      default: 'byPriority',
      does: 'pods to evict: `byPriority`, all but critical ones, or `kubelet`, no static ones',
    },
    mergeDefaultEvictionSettings: {
      kind: '*bool',
      default: false,
      does: 'true: signals that evictionHard leaves out keep their defaults',
    },
    podsPerCore: { kind: 'int32', does: 'limits maxPods to this number per CPU' },
    enableControllerAttachDetach: { kind: '*bool', default: true, without: apiServer },
    protectKernelDefaults: { kind: 'bool', does: 'requires settings of the kernel instead of setting them' },
    makeIPTablesUtilChains: { kind: '*bool', default: true, without: iptables },
    iptablesMasqueradeBit: { kind: '*int32', default: 14, without: iptables },
    iptablesDropBit: { kind: '*int32', default: 15, without: iptables },
    featureGates: { kind: 'map bool', does: 'turns features on and off' },
    failSwapOn: {
      kind: '*bool',
      default: true,
      onlyIfGiven: true,
      does: 'true refuses to start with swap; if it is not set, the node starts',
    },
    memorySwap: { kind: 'MemorySwapConfiguration' },
    containerLogMaxSize: {
      kind: 'string',
      default: '10Mi',
      does: 'a larger container log is rotated; negative: none is',
    },
    containerLogMaxFiles: { kind: '*int32', default: 5, does: 'files of one container log' },
    containerLogMaxWorkers: { kind: '*int32', default: 1, does: 'container logs compressed at a time' },
    containerLogMonitorInterval: {
      kind: '*duration',
      default: 10 * second,
      does: 'period of the checks of container logs, at least 3 s',
    },
    configMapAndSecretChangeDetectionStrategy: { kind: 'string', default: 'Watch', without: apiServer },
    systemReserved: { kind: 'map string', does: 'reserved for the system, such as cpu=500m,memory=1Gi' },
    kubeReserved: { kind: 'map string', does: 'reserved for this agent and the runtime' },
    reservedSystemCPUs: { kind: 'string', does: 'CPUs that no container has for itself' },
    showHiddenMetricsForVersion: { kind: 'string', without: server },
    systemReservedCgroup: { kind: 'string', does: 'cgroup of the system, required to enforce its reservation' },
    kubeReservedCgroup: { kind: 'string', does: 'cgroup of agent and runtime, required to enforce their reservation' },
    enforceNodeAllocatable: { kind: '[]string', default: ['pods'], does: 'reservations that the kernel enforces' },
    allowedUnsafeSysctls: { kind: '[]string', does: 'sysctls that pods may set, such as net.core.*' },
    volumePluginDir: {
      kind: 'string',
      default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
      without: 'FlexVolumes are not supported',
    },
    providerID: { kind: 'string', without: apiServer },
    kernelMemcgNotification: {
      kind: 'bool',
      does: 'memory near an eviction threshold is read ten times a second, not twice',
    },
    logging: { kind: 'LoggingConfiguration' },
    enableSystemLogHandler: { kind: '*bool', default: true, does: 'files of /var/log over the HTTPS API' },
    enableSystemLogQuery: {
      kind: '*bool',
      default: false,
      does: 'logs of services over the HTTPS API, with the gate NodeLogQuery',
    },
    shutdownGracePeriod: {
      kind: 'duration',
      does: 'time for all pods to stop when the node shuts down; 0: pods are not stopped',
    },
    shutdownGracePeriodCriticalPods: { kind: 'duration', does: 'part of shutdownGracePeriod for critical pods' },
    shutdownGracePeriodByPodPriority: { kind: '[]ShutdownGracePeriodByPodPriority' },
    crashLoopBackOff: { kind: 'CrashLoopBackOffConfig' },
    controlGroup: { kind: 'string', does: 'group that may use the control API, by name or number' },
    runtimeClasses: {
      kind: '[]ConfiguredRuntimeClass',
      does: 'classes of pods, as documents of kind RuntimeClass declare them',
    },
    reservedMemory: { kind: '[]MemoryReservation', does: 'memory of each NUMA node that is not for containers' },
    enableProfilingHandler: { kind: '*bool', default: true, does: 'profiles of this process over the HTTPS API' },
    enableDebugFlagsHandler: { kind: '*bool', default: true, does: 'the log level, set over the HTTPS API' },
    seccompDefault: { kind: '*bool', default: false, does: "the runtime's seccomp profile for containers without one" },
    memoryThrottlingFactor: {
      kind: '*float64',
      default: 0.9,
      does: 'where MemoryQoS slows containers down, between request and limit',
    },
    memoryReservationPolicy: {
      kind: 'string',
      default: 'None',
      does: 'TieredReservation: MemoryQoS keeps requested memory free',
    },
    registerWithTaints: { kind: '[]Taint', without: apiServer },
    registerNode: { kind: '*bool', default: true, without: apiServer },
    tracing: { kind: '*TracingConfiguration', without: 'traces are not built yet' },
    localStorageCapacityIsolation: { kind: '*bool', default: true, does: 'limits of emptyDirs on disk are enforced' },
    containerRuntimeEndpoint: { kind: 'string', does: 'CRI socket; empty: a runtime is found or started' },
    imageServiceEndpoint: { kind: 'string', does: "CRI socket of the image service; empty: the runtime's" },
    userNamespaces: { kind: '*UserNamespaces' },
    failCgroupV1: { kind: '*bool', default: false, does: 'refuses to start on cgroup v1' },
  },
  KubeletAuthentication: {
    x509: { kind: 'KubeletX509Authentication' },
    webhook: { kind: 'KubeletWebhookAuthentication' },
    anonymous: { kind: 'KubeletAnonymousAuthentication' },
  },
  KubeletX509Authentication: {
    clientCAFile: { kind: 'string', does: 'certificates that sign those of clients of the HTTPS API' },
  },
  KubeletWebhookAuthentication: {
    enabled: { kind: '*bool', default: true, without: webhook },
    cacheTTL: { kind: 'duration', default: 2 * minute, without: webhook },
  },
  KubeletAnonymousAuthentication: {
    enabled: {
      kind: '*bool',
      default: false,
      does: 'clients without credentials, as far as the policy file allows them',
    },
  },
  KubeletAuthorization: {
    mode: { kind: 'string', default: 'Webhook', does: 'AlwaysAllow or Webhook, without a policy file' },
    webhook: { kind: 'KubeletWebhookAuthorization' },
  },
  KubeletWebhookAuthorization: {
    cacheAuthorizedTTL: { kind: 'duration', default: 5 * minute, without: webhook },
    cacheUnauthorizedTTL: { kind: 'duration', default: 30 * second, without: webhook },
  },
  MemorySwapConfiguration: {
    swapBehavior: { kind: 'string', does: '`LimitedSwap`: Burstable pods may swap, on cgroup v2; `NoSwap`: none' },
  },
  CrashLoopBackOffConfig: { maxContainerRestartPeriod: { kind: '*duration', does: 'longest wait before a restart' } },
  UserNamespaces: { idsPerPod: { kind: '*int64', does: 'ids of a pod with hostUsers false; 65536 if empty' } },
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
    priority: { kind: '!int32', does: 'lowest priority of the group' },
    shutdownGracePeriodSeconds: { kind: '!int64', does: 'time for the group to stop when the node shuts down' },
  },
  ConfiguredRuntimeClass: {
    name: { kind: '!string' },
    handler: { kind: '!string' },
    overhead: { kind: 'RuntimeClassOverhead' },
    scheduling: { kind: 'RuntimeClassScheduling' },
  },
  RuntimeClassOverhead: { podFixed: { kind: 'map quantity' } },
  RuntimeClassScheduling: { nodeSelector: { kind: 'map string' } },
  MemoryReservation: { numaNode: { kind: '!int32' }, limits: { kind: '!map quantity' } },
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
