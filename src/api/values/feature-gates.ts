import { kubernetesVersion } from './kubernetes-version.ts';
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
const deprecatedOn = { stage: 'deprecated', default: true } as const;
const deprecatedLocked = { stage: 'deprecated', default: false, isLocked: true } as const;
const deprecatedLockedOn = { stage: 'deprecated', default: true, isLocked: true } as const;

/**
 * The feature gates of a kubelet 1.36. Most concern other programs. kubelet: pkg/features/versioned_kube_features.go,
 * client-go features, component-base logs/api/v1
 */
const knownGates = {
  APIResponseCompression: betaOn,
  APIServerIdentity: betaOn,
  APIServerTracing: locked,
  APIServingWithRoutine: alpha,
  AggregatedDiscoveryRemoveBetaType: deprecatedLockedOn,
  AllAlpha: alpha,
  AllBeta: betaOff,
  AllowDNSOnlyNodeCSR: deprecated,
  AllowInsecureKubeletCertificateSigningRequests: deprecated,
  AllowOverwriteTerminationGracePeriodSeconds: deprecatedLocked,
  AllowParsingUserUIDFromCertAuth: betaOn,
  AllowServiceExternalIPs: gaOn,
  AllowUnsafeMalformedObjectDeletion: alpha,
  AnonymousAuthConfigurableEndpoints: locked,
  AnyVolumeDataSource: locked,
  AtomicFIFO: betaOn,
  AuthorizeNodeWithSelectors: locked,
  AuthorizePodWebsocketUpgradeCreatePermission: betaOn,
  AuthorizeWithSelectors: locked,
  BtreeWatchCache: locked,
  CBORServingAndStorage: alpha,
  CPUManagerPolicyAlphaOptions: alpha,
  CPUManagerPolicyBetaOptions: betaOn,
  CPUManagerPolicyOptions: locked,
  CRDObservedGenerationTracking: betaOn,
  CRDValidationRatcheting: locked,
  CRIListStreaming: alpha,
  CSIServiceAccountTokenSecrets: locked,
  CSIVolumeHealth: alpha,
  ChangeContainerStatusOnKubeletRestart: deprecated,
  ClearingNominatedNodeNameAfterBinding: betaOn,
  ClientsAllowCARotation: betaOn,
  ClientsAllowCBOR: alpha,
  ClientsAllowTLSCacheGC: betaOn,
  ClientsPreferCBOR: alpha,
  CloudControllerManagerWatchBasedRoutesReconciliation: alpha,
  CloudControllerManagerWebhook: alpha,
  ClusterTrustBundle: betaOff,
  ClusterTrustBundleProjection: betaOff,
  ComponentFlagz: betaOn,
  ComponentStatusz: betaOn,
  ConcurrentWatchObjectDecode: betaOff,
  ConsistentListFromCache: locked,
  ConstrainedImpersonation: betaOn,
  ContainerCheckpoint: betaOn,
  ContainerRestartRules: betaOn,
  ContainerStopSignals: alpha,
  ContextualLogging: betaOn,
  CoordinatedLeaderElection: betaOff,
  CrossNamespaceVolumeDataSource: alpha,
  CustomCPUCFSQuotaPeriod: gaOn,
  CustomResourceFieldSelectors: locked,
  DRAAdminAccess: locked,
  DRAConsumableCapacity: betaOn,
  DRADeviceBindingConditions: betaOn,
  DRADeviceTaintRules: betaOff,
  DRADeviceTaints: betaOn,
  DRAExtendedResource: betaOn,
  DRAListTypeAttributes: alpha,
  DRANodeAllocatableResources: alpha,
  DRAPartitionableDevices: betaOn,
  DRAPrioritizedList: gaOn,
  DRAResourceClaimDeviceStatus: betaOn,
  DRAResourceClaimGranularStatusAuthorization: betaOn,
  DRAResourcePoolStatus: alpha,
  DRASchedulerFilterTimeout: betaOn,
  DRAWorkloadResourceClaims: alpha,
  DeclarativeValidation: locked,
  DeclarativeValidationBeta: betaOn,
  DeclarativeValidationTakeover: deprecated,
  DeploymentReplicaSetTerminatingReplicas: betaOn,
  DetectCacheInconsistency: betaOn,
  DisableAllocatorDualWrite: locked,
  DisableCPUQuotaWithExclusiveCPUs: deprecatedOn,
  DisableNodeKubeProxyVersion: deprecatedLockedOn,
  DynamicResourceAllocation: locked,
  EnvFiles: betaOn,
  EventedPLEG: alpha,
  ExecProbeTimeout: locked,
  ExtendWebSocketsToKubelet: betaOn,
  ExternalServiceAccountTokenSigner: locked,
  GangScheduling: alpha,
  GenericWorkload: alpha,
  GitRepoVolumeDriver: deprecatedLocked,
  GracefulNodeShutdown: betaOn,
  GracefulNodeShutdownBasedOnPodPriority: betaOn,
  HPAConfigurableTolerance: betaOn,
  HPAScaleToZero: alpha,
  HostnameOverride: betaOn,
  ImageMaximumGCAge: locked,
  ImageVolume: locked,
  ImageVolumeWithDigest: alpha,
  InOrderInformers: locked,
  InOrderInformersBatchProcess: betaOn,
  InPlacePodLevelResourcesVerticalScaling: betaOn,
  InPlacePodVerticalScaling: locked,
  InPlacePodVerticalScalingExclusiveCPUs: alpha,
  InPlacePodVerticalScalingExclusiveMemory: alpha,
  InPlacePodVerticalScalingInitContainers: betaOn,
  InformerResourceVersion: gaOn,
  JobBackoffLimitPerIndex: locked,
  JobManagedBy: locked,
  JobPodReplacementPolicy: locked,
  JobSuccessPolicy: locked,
  KMSv1: deprecated,
  KubeletCgroupDriverFromCRI: locked,
  KubeletCrashLoopBackOffMax: betaOn,
  KubeletEnsureSecretPulledImages: betaOn,
  KubeletFineGrainedAuthz: locked,
  KubeletInUserNamespace: alpha,
  KubeletPSI: locked,
  KubeletPodResourcesDynamicResources: locked,
  KubeletPodResourcesGet: locked,
  KubeletPodResourcesListUseActivePods: deprecatedOn,
  KubeletRegistrationGetOnExistsOnly: deprecated,
  KubeletSeparateDiskGC: betaOn,
  KubeletServiceAccountTokenForCredentialProviders: betaOn,
  KubeletTracing: locked,
  ListFromCacheSnapshot: betaOn,
  LocalStorageCapacityIsolationFSQuotaMonitoring: betaOff,
  LogarithmicScaleDown: locked,
  LoggingAlphaOptions: alpha,
  LoggingBetaOptions: betaOn,
  ManifestBasedAdmissionControlConfig: alpha,
  MatchLabelKeysInPodAffinity: locked,
  MatchLabelKeysInPodTopologySpread: betaOn,
  MatchLabelKeysInPodTopologySpreadSelectorMerge: betaOn,
  MaxUnavailableStatefulSet: betaOff,
  MemoryQoS: alpha,
  MultiCIDRServiceAllocator: locked,
  MutableCSINodeAllocatableCount: locked,
  MutablePVNodeAffinity: alpha,
  MutablePodResourcesForSuspendedJobs: betaOn,
  MutableSchedulingDirectivesForSuspendedJobs: betaOn,
  MutatingAdmissionPolicy: gaOn,
  NFTablesProxyMode: locked,
  NativeHistograms: alpha,
  NodeDeclaredFeatures: betaOn,
  NodeInclusionPolicyInPodTopologySpread: locked,
  NodeLogQuery: locked,
  NodeSwap: locked,
  NominatedNodeNameForExpectation: betaOn,
  OpenAPIEnums: betaOn,
  OpportunisticBatching: betaOn,
  OrderedNamespaceDeletion: locked,
  PLEGOnDemandRelist: betaOn,
  PersistentVolumeClaimUnusedSinceTime: alpha,
  PodAndContainerStatsFromCRI: alpha,
  PodCertificateRequest: betaOff,
  PodDeletionCost: betaOn,
  PodLevelResourceManagers: alpha,
  PodLevelResources: betaOn,
  PodLifecycleSleepAction: locked,
  PodLifecycleSleepActionAllowZero: locked,
  PodLogsQuerySplitStreams: alpha,
  PodObservedGenerationTracking: locked,
  PodReadyToStartContainersCondition: betaOn,
  PodSchedulingReadiness: locked,
  PodTopologyLabelsAdmission: betaOn,
  PodsAPI: alpha,
  PortForwardWebsockets: betaOn,
  PreferSameTrafficDistribution: locked,
  PreventStaticPodAPIReferences: betaOn,
  ProcMountType: locked,
  QOSReserved: alpha,
  RecoverVolumeExpansionFailure: locked,
  RecursiveReadOnlyMounts: locked,
  ReduceDefaultCrashLoopBackOffDecay: alpha,
  RelaxedDNSSearchValidation: locked,
  RelaxedEnvironmentVariableValidation: locked,
  RelaxedServiceNameValidation: betaOn,
  ReloadKubeletClientCAFile: betaOn,
  ReloadKubeletServerCertificateFile: betaOn,
  RemoteRequestHeaderUID: betaOn,
  ResilientWatchCacheInitialization: locked,
  ResourceHealthStatus: betaOn,
  ResourceHealthStatusMessage: betaOn,
  RestartAllContainersOnContainerExits: betaOn,
  RetryGenerateName: locked,
  RotateKubeletServerCertificate: betaOn,
  RuntimeClassInImageCriApi: alpha,
  SELinuxChangePolicy: locked,
  SELinuxMount: betaOff,
  SELinuxMountReadWriteOncePod: locked,
  SchedulerAsyncAPICalls: betaOff,
  SchedulerAsyncPreemption: betaOn,
  SchedulerPopFromBackoffQ: betaOn,
  SchedulerQueueingHints: locked,
  SeparateCacheWatchRPC: deprecatedLocked,
  SeparateTaintEvictionController: locked,
  ServiceAccountNodeAudienceRestriction: betaOn,
  ServiceAccountTokenJTI: locked,
  ServiceAccountTokenNodeBinding: locked,
  ServiceAccountTokenNodeBindingValidation: locked,
  ServiceAccountTokenPodNodeInfo: locked,
  ServiceCIDRStatusFieldWiping: deprecatedOn,
  ShardedListAndWatch: alpha,
  SidecarContainers: locked,
  SizeBasedListCostEstimate: betaOn,
  StaleControllerConsistencyDaemonSet: betaOn,
  StaleControllerConsistencyJob: betaOn,
  StaleControllerConsistencyReplicaSet: betaOn,
  StaleControllerConsistencyStatefulSet: betaOn,
  StatefulSetSemanticRevisionComparison: betaOn,
  StorageCapacityScoring: alpha,
  StorageNamespaceIndex: deprecatedOn,
  StorageVersionAPI: alpha,
  StorageVersionHash: betaOn,
  StorageVersionMigrator: betaOff,
  StreamingCollectionEncodingToJSON: locked,
  StreamingCollectionEncodingToProtobuf: locked,
  StrictIPCIDRValidation: betaOn,
  StructuredAuthenticationConfiguration: locked,
  StructuredAuthenticationConfigurationEgressSelector: betaOn,
  StructuredAuthenticationConfigurationJWKSMetrics: betaOn,
  SupplementalGroupsPolicy: locked,
  SystemdWatchdog: locked,
  TaintTolerationComparisonOperators: alpha,
  TokenRequestServiceAccountUIDValidation: betaOn,
  TopologyAwareWorkloadScheduling: alpha,
  TopologyManagerPolicyAlphaOptions: alpha,
  TopologyManagerPolicyBetaOptions: betaOn,
  TopologyManagerPolicyOptions: locked,
  TranslateStreamCloseWebsocketRequests: betaOn,
  UnauthenticatedHTTP2DOSMitigation: betaOn,
  UnknownVersionInteroperabilityProxy: betaOn,
  UnlockWhileProcessingFIFO: betaOn,
  UserNamespacesHostNetworkSupport: alpha,
  UserNamespacesSupport: locked,
  VolumeAttributesClass: locked,
  VolumeLimitScaling: alpha,
  WatchCacheInitializationPostStartHook: betaOn,
  WatchList: betaOn,
  WatchListClient: betaOn,
  WinDSR: locked,
  WinOverlay: locked,
  WindowsCPUAndMemoryAffinity: alpha,
  WindowsGracefulNodeShutdown: betaOn,
  WindowsHostNetwork: deprecated,
  WorkloadAwarePreemption: alpha,
  WorkloadWithJob: alpha,
} as const satisfies Record<string, GateRow>;

/** The gates that a gate needs when it is on. kubelet: kube_features.go defaultKubernetesFeatureGateDependencies */
const gateDependencies: Readonly<Record<string, readonly FeatureGateName[]>> = {
  AuthorizeNodeWithSelectors: ['AuthorizeWithSelectors'],
  ClusterTrustBundleProjection: ['ClusterTrustBundle'],
  DRAAdminAccess: ['DynamicResourceAllocation'],
  DRAConsumableCapacity: ['DynamicResourceAllocation'],
  DRADeviceBindingConditions: ['DynamicResourceAllocation', 'DRAResourceClaimDeviceStatus'],
  DRADeviceTaintRules: ['DRADeviceTaints'],
  DRADeviceTaints: ['DynamicResourceAllocation'],
  DRAExtendedResource: ['DynamicResourceAllocation'],
  DRAListTypeAttributes: ['DynamicResourceAllocation'],
  DRANodeAllocatableResources: ['DynamicResourceAllocation'],
  DRAPartitionableDevices: ['DynamicResourceAllocation'],
  DRAPrioritizedList: ['DynamicResourceAllocation'],
  DRAResourceClaimGranularStatusAuthorization: ['DynamicResourceAllocation', 'DRAResourceClaimDeviceStatus'],
  DRAResourcePoolStatus: ['DynamicResourceAllocation'],
  DRASchedulerFilterTimeout: ['DynamicResourceAllocation'],
  DRAWorkloadResourceClaims: ['DynamicResourceAllocation', 'GenericWorkload'],
  DeclarativeValidationTakeover: ['DeclarativeValidation'],
  DisableAllocatorDualWrite: ['MultiCIDRServiceAllocator'],
  ExtendWebSocketsToKubelet: ['NodeDeclaredFeatures'],
  GangScheduling: ['GenericWorkload'],
  GracefulNodeShutdownBasedOnPodPriority: ['GracefulNodeShutdown'],
  ImageVolumeWithDigest: ['ImageVolume'],
  InPlacePodLevelResourcesVerticalScaling: ['InPlacePodVerticalScaling', 'PodLevelResources', 'NodeDeclaredFeatures'],
  InPlacePodVerticalScalingExclusiveCPUs: ['InPlacePodVerticalScaling'],
  InPlacePodVerticalScalingExclusiveMemory: ['InPlacePodVerticalScaling'],
  InPlacePodVerticalScalingInitContainers: ['InPlacePodVerticalScaling', 'NodeDeclaredFeatures'],
  MatchLabelKeysInPodTopologySpreadSelectorMerge: ['MatchLabelKeysInPodTopologySpread'],
  PodCertificateRequest: ['AuthorizeNodeWithSelectors'],
  PodLevelResourceManagers: ['PodLevelResources'],
  PodLifecycleSleepActionAllowZero: ['PodLifecycleSleepAction'],
  ProcMountType: ['UserNamespacesSupport'],
  ResourceHealthStatus: ['DynamicResourceAllocation'],
  ResourceHealthStatusMessage: ['ResourceHealthStatus'],
  RestartAllContainersOnContainerExits: ['ContainerRestartRules', 'NodeDeclaredFeatures'],
  ServiceAccountTokenNodeBinding: ['ServiceAccountTokenNodeBindingValidation'],
  StaleControllerConsistencyDaemonSet: ['AtomicFIFO'],
  StaleControllerConsistencyJob: ['AtomicFIFO'],
  StaleControllerConsistencyReplicaSet: ['AtomicFIFO'],
  StaleControllerConsistencyStatefulSet: ['AtomicFIFO'],
  StorageVersionAPI: ['APIServerIdentity'],
  StructuredAuthenticationConfigurationEgressSelector: ['StructuredAuthenticationConfiguration'],
  StructuredAuthenticationConfigurationJWKSMetrics: ['StructuredAuthenticationConfiguration'],
  TopologyAwareWorkloadScheduling: ['GenericWorkload'],
  UnknownVersionInteroperabilityProxy: ['APIServerIdentity'],
  UserNamespacesHostNetworkSupport: ['UserNamespacesSupport', 'NodeDeclaredFeatures'],
  WindowsGracefulNodeShutdown: ['GracefulNodeShutdown'],
  WorkloadAwarePreemption: ['GangScheduling'],
  WorkloadWithJob: ['GenericWorkload'],
};

/** Gates of kubelet 1.32 that 1.36 no longer knows. */
const removedGates: ReadonlySet<string> = new Set([
  'APIListChunking',
  'AdmissionWebhookMatchConditions',
  'AggregatedDiscoveryEndpoint',
  'AllowServiceLBStatusOnNonLB',
  'AppArmor',
  'AppArmorFields',
  'CPUManager',
  'CSIMigrationPortworx',
  'ComponentSLIs',
  'CronJobsScheduledAnnotation',
  'DevicePluginCDIDevices',
  'DisableCloudProviders',
  'DisableKubeletCloudCredentialProviders',
  'EfficientWatchResumption',
  'ElasticIndexedJob',
  'HonorPVReclaimPolicy',
  'InPlacePodVerticalScalingAllocatedStatus',
  'InTreePluginPortworxUnregister',
  'JobPodFailurePolicy',
  'KubeProxyDrainingTerminatingNodes',
  'LoadBalancerIPMode',
  'MemoryManager',
  'PDBUnhealthyPodEvictionPolicy',
  'PersistentVolumeLastPhaseTransitionTime',
  'PodDisruptionConditions',
  'PodIndexLabel',
  'RemainingItemCount',
  'ServiceTrafficDistribution',
  'SizeMemoryBackedVolumes',
  'StatefulSetAutoDeletePVC',
  'StatefulSetStartOrdinal',
  'StrictCostEnforcementForVAP',
  'StrictCostEnforcementForWebhooks',
  'StructuredAuthorizationConfiguration',
  'TopologyAwareHints',
  'UserNamespacesPodSecurityStandards',
  'VolumeCapacityPriority',
  'WatchBookmark',
  'WatchFromStorageWithoutResourceVersion',
]);

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
  return { featureGates, problems: [...problems, ...unmetDependencies(featureGates, set)] };
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
  'ComponentFlagz',
  'ComponentStatusz',
  'ContainerRestartRules',
  'ContainerStopSignals',
  'CustomCPUCFSQuotaPeriod',
  'DisableCPUQuotaWithExclusiveCPUs',
  'EnvFiles',
  'ExtendWebSocketsToKubelet',
  'HostnameOverride',
  'InPlacePodVerticalScalingInitContainers',
  'KubeletCrashLoopBackOffMax',
  'KubeletEnsureSecretPulledImages',
  'MemoryQoS',
  'PodLevelResources',
  'RestartAllContainersOnContainerExits',
  'StrictIPCIDRValidation',
];

/** Named after the gate that `set` sets, because only that gate has a line in a file. */
function unmetDependencies(gates: FeatureGates, set: Readonly<Record<string, boolean>>): GateProblem[] {
  return Object.entries(gateDependencies).flatMap(([name, prerequisites]) =>
    gates[name as FeatureGateName]
      ? prerequisites.flatMap((needed) => (gates[needed] ? [] : [unmet(name, needed)]))
      : [],
  );

  function unmet(name: string, needed: string): GateProblem {
    return {
      name: needed in set || !(name in set) ? needed : name,
      message: `feature gate ${name} is enabled but needs ${needed}, which is disabled`,
      hint: `Also set ${name} to false, or enable ${needed}.`,
      severity: 'error',
    };
  }
}

function unknownGate(name: string): GateProblem {
  if (removedGates.has(name)) {
    const message = `feature gate ${name} was removed: Kubernetes ${kubernetesVersion} does not know it`;
    return { name, message, hint: 'Delete it.', severity: 'error' };
  }
  const nearest = nearestName(name, rows.keys());
  return {
    name,
    message: `unrecognized feature gate: ${name}`,
    hint:
      nearest === undefined
        ? `Use a gate of Kubernetes ${kubernetesVersion}, or leave it out.`
        : `Did you mean "${nearest}"?`,
    severity: 'error',
  };
}

const featureGateNames = Object.keys(knownGates) as FeatureGateName[];

const rows: ReadonlyMap<string, GateRow> = new Map(Object.entries(knownGates));

function mapGates(valueOf: (name: string, row: GateRow) => boolean): FeatureGates {
  const values = Object.entries<GateRow>(knownGates).map(([name, row]) => [name, valueOf(name, row)]);
  return Object.fromEntries(values) as FeatureGates;
}

function problemOf(name: string, value: boolean): GateProblem | undefined {
  const row = rows.get(name);
  if (row === undefined) return unknownGate(name);
  if (row.isLocked && value !== row.default) {
    const message = `cannot set feature gate ${name} to ${value}, it is locked to ${row.default}`;
    return { name, message, severity: 'error' };
  }
  if (row.stage !== 'GA' && row.stage !== 'deprecated') return undefined;
  return { name, message: `${row.stage} feature gate ${name} will be removed by a later release`, severity: 'warning' };
}
