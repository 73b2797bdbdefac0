import { nearestName } from '../text/nearest-name.ts';

/** Kubernetes' definition of a feature gate. */
interface GateRow {
  stage: 'alpha' | 'beta' | 'GA' | 'deprecated';
  default: boolean;
  /** True if the gate can only be set to its default. */
  isLocked?: true;
}

const alpha = { stage: 'alpha', default: false } as const;
const betaOff = { stage: 'beta', default: false } as const;
const betaOn = { stage: 'beta', default: true } as const;
const gaOn = { stage: 'GA', default: true } as const;
const locked = { stage: 'GA', default: true, isLocked: true } as const;
const deprecated = { stage: 'deprecated', default: false } as const;

/**
 * The feature gates of a kubelet 1.32. Most concern other programs. kubelet: pkg/features/versioned_kube_features.go,
 * client-go features, component-base logs/api/v1
 */
const knownGates = {
  APIListChunking: locked,
  APIResponseCompression: betaOn,
  APIServerIdentity: betaOn,
  APIServerTracing: betaOn,
  APIServingWithRoutine: alpha,
  AdmissionWebhookMatchConditions: locked,
  AggregatedDiscoveryEndpoint: locked,
  AllAlpha: alpha,
  AllBeta: betaOff,
  AllowDNSOnlyNodeCSR: deprecated,
  AllowInsecureKubeletCertificateSigningRequests: deprecated,
  AllowOverwriteTerminationGracePeriodSeconds: deprecated,
  AllowServiceLBStatusOnNonLB: { stage: 'deprecated', default: false, isLocked: true },
  AllowUnsafeMalformedObjectDeletion: alpha,
  AnonymousAuthConfigurableEndpoints: betaOn,
  AnyVolumeDataSource: betaOn,
  AppArmor: locked,
  AppArmorFields: locked,
  AuthorizeNodeWithSelectors: betaOn,
  AuthorizeWithSelectors: betaOn,
  BtreeWatchCache: betaOn,
  CBORServingAndStorage: alpha,
  CPUManager: locked,
  CPUManagerPolicyAlphaOptions: alpha,
  CPUManagerPolicyBetaOptions: betaOn,
  CPUManagerPolicyOptions: betaOn,
  CRDValidationRatcheting: betaOn,
  CSIMigrationPortworx: betaOn,
  CSIVolumeHealth: alpha,
  ClientsAllowCBOR: alpha,
  ClientsPreferCBOR: alpha,
  CloudControllerManagerWebhook: alpha,
  ClusterTrustBundle: alpha,
  ClusterTrustBundleProjection: alpha,
  ComponentFlagz: alpha,
  ComponentSLIs: locked,
  ComponentStatusz: alpha,
  ConcurrentWatchObjectDecode: betaOff,
  ConsistentListFromCache: betaOn,
  ContainerCheckpoint: betaOn,
  ContextualLogging: betaOn,
  CoordinatedLeaderElection: alpha,
  CronJobsScheduledAnnotation: locked,
  CrossNamespaceVolumeDataSource: alpha,
  CustomCPUCFSQuotaPeriod: alpha,
  CustomResourceFieldSelectors: locked,
  DRAAdminAccess: alpha,
  DRAResourceClaimDeviceStatus: alpha,
  DevicePluginCDIDevices: locked,
  DisableAllocatorDualWrite: alpha,
  DisableCloudProviders: locked,
  DisableKubeletCloudCredentialProviders: locked,
  DisableNodeKubeProxyVersion: deprecated,
  DynamicResourceAllocation: betaOff,
  EfficientWatchResumption: locked,
  ElasticIndexedJob: locked,
  EventedPLEG: alpha,
  ExecProbeTimeout: gaOn,
  ExternalServiceAccountTokenSigner: alpha,
  GracefulNodeShutdown: betaOn,
  GracefulNodeShutdownBasedOnPodPriority: betaOn,
  HPAScaleToZero: alpha,
  HonorPVReclaimPolicy: betaOn,
  ImageMaximumGCAge: betaOn,
  ImageVolume: alpha,
  InPlacePodVerticalScaling: alpha,
  InPlacePodVerticalScalingAllocatedStatus: alpha,
  InPlacePodVerticalScalingExclusiveCPUs: alpha,
  InTreePluginPortworxUnregister: alpha,
  InformerResourceVersion: alpha,
  JobBackoffLimitPerIndex: betaOn,
  JobManagedBy: betaOn,
  JobPodFailurePolicy: locked,
  JobPodReplacementPolicy: betaOn,
  JobSuccessPolicy: betaOn,
  KMSv1: deprecated,
  KubeProxyDrainingTerminatingNodes: locked,
  KubeletCgroupDriverFromCRI: betaOn,
  KubeletCrashLoopBackOffMax: alpha,
  KubeletFineGrainedAuthz: alpha,
  KubeletInUserNamespace: alpha,
  KubeletPodResourcesDynamicResources: alpha,
  KubeletPodResourcesGet: alpha,
  KubeletRegistrationGetOnExistsOnly: deprecated,
  KubeletSeparateDiskGC: betaOn,
  KubeletTracing: betaOn,
  LoadBalancerIPMode: locked,
  LocalStorageCapacityIsolationFSQuotaMonitoring: betaOff,
  LogarithmicScaleDown: locked,
  LoggingAlphaOptions: alpha,
  LoggingBetaOptions: betaOn,
  MatchLabelKeysInPodAffinity: betaOn,
  MatchLabelKeysInPodTopologySpread: betaOn,
  MaxUnavailableStatefulSet: alpha,
  MemoryManager: locked,
  MemoryQoS: alpha,
  MultiCIDRServiceAllocator: betaOff,
  MutatingAdmissionPolicy: alpha,
  NFTablesProxyMode: betaOn,
  NodeInclusionPolicyInPodTopologySpread: betaOn,
  NodeLogQuery: betaOff,
  NodeSwap: betaOn,
  OpenAPIEnums: betaOn,
  PDBUnhealthyPodEvictionPolicy: locked,
  PersistentVolumeLastPhaseTransitionTime: locked,
  PodAndContainerStatsFromCRI: alpha,
  PodDeletionCost: betaOn,
  PodDisruptionConditions: locked,
  PodIndexLabel: locked,
  PodLevelResources: alpha,
  PodLifecycleSleepAction: betaOn,
  PodLifecycleSleepActionAllowZero: alpha,
  PodLogsQuerySplitStreams: alpha,
  PodReadyToStartContainersCondition: betaOn,
  PodSchedulingReadiness: locked,
  PortForwardWebsockets: betaOn,
  ProcMountType: betaOff,
  QOSReserved: alpha,
  RecoverVolumeExpansionFailure: betaOn,
  RecursiveReadOnlyMounts: betaOn,
  RelaxedDNSSearchValidation: alpha,
  RelaxedEnvironmentVariableValidation: betaOn,
  ReloadKubeletServerCertificateFile: betaOn,
  RemainingItemCount: locked,
  RemoteRequestHeaderUID: alpha,
  ResilientWatchCacheInitialization: betaOn,
  ResourceHealthStatus: alpha,
  RetryGenerateName: locked,
  RotateKubeletServerCertificate: betaOn,
  RuntimeClassInImageCriApi: alpha,
  SELinuxChangePolicy: alpha,
  SELinuxMount: alpha,
  SELinuxMountReadWriteOncePod: betaOn,
  SchedulerAsyncPreemption: alpha,
  SchedulerQueueingHints: betaOn,
  SeparateCacheWatchRPC: betaOn,
  SeparateTaintEvictionController: betaOn,
  ServiceAccountNodeAudienceRestriction: betaOn,
  ServiceAccountTokenJTI: locked,
  ServiceAccountTokenNodeBinding: betaOn,
  ServiceAccountTokenNodeBindingValidation: locked,
  ServiceAccountTokenPodNodeInfo: locked,
  ServiceTrafficDistribution: betaOn,
  SidecarContainers: betaOn,
  SizeMemoryBackedVolumes: locked,
  StatefulSetAutoDeletePVC: locked,
  StatefulSetStartOrdinal: locked,
  StorageNamespaceIndex: betaOn,
  StorageVersionAPI: alpha,
  StorageVersionHash: betaOn,
  StorageVersionMigrator: alpha,
  StrictCostEnforcementForVAP: locked,
  StrictCostEnforcementForWebhooks: locked,
  StructuredAuthenticationConfiguration: betaOn,
  StructuredAuthorizationConfiguration: locked,
  SupplementalGroupsPolicy: alpha,
  SystemdWatchdog: betaOn,
  TopologyAwareHints: betaOn,
  TopologyManagerPolicyAlphaOptions: alpha,
  TopologyManagerPolicyBetaOptions: betaOn,
  TopologyManagerPolicyOptions: gaOn,
  TranslateStreamCloseWebsocketRequests: betaOn,
  UnauthenticatedHTTP2DOSMitigation: betaOn,
  UnknownVersionInteroperabilityProxy: alpha,
  UserNamespacesPodSecurityStandards: alpha,
  UserNamespacesSupport: betaOff,
  VolumeAttributesClass: betaOff,
  VolumeCapacityPriority: alpha,
  WatchBookmark: locked,
  WatchCacheInitializationPostStartHook: betaOff,
  WatchFromStorageWithoutResourceVersion: betaOff,
  WatchList: betaOn,
  WatchListClient: betaOff,
  WinDSR: alpha,
  WinOverlay: betaOn,
  WindowsCPUAndMemoryAffinity: alpha,
  WindowsGracefulNodeShutdown: alpha,
  WindowsHostNetwork: { stage: 'alpha', default: true },
} as const satisfies Record<string, GateRow>;

export type FeatureGateName = keyof typeof knownGates;

/** Every feature gate with its value. */
export type FeatureGates = Readonly<Record<FeatureGateName, boolean>>;

/** An error or a warning about a feature gate. */
export interface GateProblem {
  name: string;
  message: string;
  hint?: string;
  severity: 'error' | 'warning';
}

/**
 * The values of all gates after some are set by name. A gate set by its name overrides AllAlpha and AllBeta, which
 * stand for all others of their stage. kubelet: component-base/featuregate SetFromMap
 */
export function resolveFeatureGates(set: Readonly<Record<string, boolean>> = {}): {
  featureGates: FeatureGates;
  problems: GateProblem[];
} {
  const stages: Record<GateRow['stage'], boolean | undefined> = {
    alpha: set['AllAlpha'],
    beta: set['AllBeta'],
    GA: undefined,
    deprecated: undefined,
  };
  const featureGates = mapGates((name, row) => set[name] ?? stages[row.stage] ?? row.default);
  const problems = Object.entries(set).flatMap(([name, value]) => problemOf(name, value) ?? []);
  return { featureGates, problems };
}

/** All gates at their defaults. */
export const defaultFeatureGates: FeatureGates = mapGates((_name, row) => row.default);

/** Every gate with its stage, by name. */
export function featureStages(
  gates: FeatureGates,
): { name: FeatureGateName; stage: GateRow['stage']; isEnabled: boolean }[] {
  return featureGateNames.map((name) => ({ name, stage: knownGates[name].stage, isEnabled: gates[name] }));
}

/** The gates in `set` that differ from their default but have no effect here. */
export function gatesWithoutEffect(set: Readonly<Record<string, boolean>>): string[] {
  const effective: readonly string[] = gatesWithEffect;
  return Object.entries(set)
    .filter(([name, value]) => !effective.includes(name) && rows.get(name)?.default !== value)
    .map(([name]) => name);
}

/** The gates with an effect here. Add a gate when its feature is built. */
const gatesWithEffect: readonly FeatureGateName[] = [
  'AllAlpha',
  'AllBeta',
  'CPUManagerPolicyAlphaOptions',
  'CPUManagerPolicyBetaOptions',
  'CPUManagerPolicyOptions',
  'CustomCPUCFSQuotaPeriod',
  'ImageVolume',
  'KubeletCgroupDriverFromCRI',
  'KubeletCrashLoopBackOffMax',
  'PodLevelResources',
  'TopologyManagerPolicyBetaOptions',
  'UserNamespacesSupport',
];

const featureGateNames = Object.keys(knownGates) as FeatureGateName[];

const rows: ReadonlyMap<string, GateRow> = new Map(Object.entries(knownGates));

function mapGates(valueOf: (name: string, row: GateRow) => boolean): FeatureGates {
  const values = Object.entries<GateRow>(knownGates).map(([name, row]) => [name, valueOf(name, row)]);
  return Object.fromEntries(values) as FeatureGates;
}

function problemOf(name: string, value: boolean): GateProblem | undefined {
  const row = rows.get(name);
  if (row === undefined) {
    const nearest = nearestName(name, rows.keys());
    return {
      name,
      message: `unrecognized feature gate: ${name}`,
      hint: nearest === undefined ? 'Use a gate of Kubernetes 1.32, or leave it out.' : `Did you mean "${nearest}"?`,
      severity: 'error',
    };
  }
  if (row.isLocked && value !== row.default) {
    const message = `cannot set feature gate ${name} to ${value}, it is locked to ${row.default}`;
    return { name, message, severity: 'error' };
  }
  if (row.stage !== 'GA' && row.stage !== 'deprecated') return undefined;
  return { name, message: `${row.stage} feature gate ${name} will be removed by a later release`, severity: 'warning' };
}
