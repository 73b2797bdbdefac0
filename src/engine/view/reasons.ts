/**
 * Reasons that users see in container states and events. kubelet: events/event.go, container/sync_result.go,
 * images/types.go
 */
export const reasons = {
  // Container states.
  completed: 'Completed',
  containerCreating: 'ContainerCreating',
  podInitializing: 'PodInitializing',
  crashLoopBackOff: 'CrashLoopBackOff',
  createContainerConfigError: 'CreateContainerConfigError',
  createContainerError: 'CreateContainerError',
  runContainerError: 'RunContainerError',
  postStartHookError: 'PostStartHookError',
  errImagePull: 'ErrImagePull',
  imagePullBackOff: 'ImagePullBackOff',
  imageInspectError: 'ImageInspectError',
  errImageNeverPull: 'ErrImageNeverPull',
  invalidImageName: 'InvalidImageName',
  registryUnavailable: 'RegistryUnavailable',
  signatureValidationFailed: 'SignatureValidationFailed',
  // Results of a sync that no container status shows.
  killContainerError: 'KillContainerError',
  killPodSandboxError: 'KillPodSandboxError',
  createPodSandboxError: 'CreatePodSandboxError',
  configPodSandboxError: 'ConfigPodSandboxError',
  // Why a pod stopped.
  terminated: 'Terminated',
  // Reasons of waiting and terminated containers that the kubelet itself assigns.
  containerStatusUnknown: 'ContainerStatusUnknown',
  restartingAllContainers: 'RestartingAllContainers',
  // Events.
  backOff: 'BackOff',
  containerGCFailed: 'ContainerGCFailed',
  created: 'Created',
  evicted: 'Evicted',
  evictionThresholdMet: 'EvictionThresholdMet',
  failed: 'Failed',
  failedCreatePodContainer: 'FailedCreatePodContainer',
  failedCreatePodSandBox: 'FailedCreatePodSandBox',
  failedKillPod: 'FailedKillPod',
  failedMount: 'FailedMount',
  failedNodeAllocatableEnforcement: 'FailedNodeAllocatableEnforcement',
  failedPodSandBoxStatus: 'FailedPodSandBoxStatus',
  failedPostStartHook: 'FailedPostStartHook',
  failedPreStopHook: 'FailedPreStopHook',
  failedSync: 'FailedSync',
  failedToRetrieveImagePullSecret: 'FailedToRetrieveImagePullSecret',
  failedValidation: 'FailedValidation',
  freeDiskSpaceFailed: 'FreeDiskSpaceFailed',
  imageGCFailed: 'ImageGCFailed',
  inspectFailed: 'InspectFailed',
  invalidImageID: 'InvalidImageID',
  invalidDiskCapacity: 'InvalidDiskCapacity',
  killing: 'Killing',
  manifestBroken: 'ManifestBroken',
  manifestGood: 'ManifestGood',
  nodeAllocatableEnforced: 'NodeAllocatableEnforced',
  networkNotReady: 'NetworkNotReady',
  notDeclared: 'NotDeclared',
  nodeHasDiskPressure: 'NodeHasDiskPressure',
  nodeHasInsufficientMemory: 'NodeHasInsufficientMemory',
  nodeHasInsufficientPID: 'NodeHasInsufficientPID',
  nodeHasNoDiskPressure: 'NodeHasNoDiskPressure',
  nodeHasSufficientMemory: 'NodeHasSufficientMemory',
  nodeHasSufficientPID: 'NodeHasSufficientPID',
  oomKilling: 'OOMKilling',
  possibleMemoryBackedVolumesOnDisk: 'PossibleMemoryBackedVolumesOnDisk',
  preempting: 'Preempting',
  probeWarning: 'ProbeWarning',
  pulled: 'Pulled',
  pulling: 'Pulling',
  sandboxChanged: 'SandboxChanged',
  shutdown: 'Shutdown',
  started: 'Started',
  systemOOM: 'SystemOOM',
  /** Ours: containerd could not work with its store. */
  storeReplaced: 'ContainerdStoreReplaced',
  unhealthy: 'Unhealthy',
  // Not in the kubelet, which nothing restores.
  upgradeUndone: 'UpgradeUndone',
  // Not in the kubelet, which only updates its Node object.
  nodeAddressChanged: 'NodeAddressChanged',
  // Not in the kubelet, whose runtime silently sends a program's packets to the pod.
  hostPortInUse: 'HostPortInUse',
  // Not in the kubelet, which does nothing with Services.
  serviceProblem: 'ServiceProblem',
  // Not in the kubelet, which has no rules for pods.
  networkRulesRestored: 'NetworkRulesRestored',
  // Not in the kubelet, which gives pods servers that they cannot reach.
  noReachableNameServer: 'NoReachableNameServer',
  // Not in the kubelet, because it does not run if a limit is refused.
  cgroupLimitRefused: 'CgroupLimitRefused',
  cgroupV1: 'CgroupV1',
  // Not in the kubelet, because it stops a pod before the images of its next revision are present.
  replacementWaits: 'ReplacementWaits',
  resizeStarted: 'ResizeStarted',
  resizeCompleted: 'ResizeCompleted',
  resizeDeferred: 'ResizeDeferred',
  resizeInfeasible: 'ResizeInfeasible',
  resizeError: 'ResizeError',
  // Not in the kubelet, because it never changes the image of a static pod in place.
  updatedInPlace: 'UpdatedInPlace',
  // Not in the kubelet: requests of operators for static pods.
  stopped: 'Stopped',
  runsAnew: 'RunsAnew',
  rolledBack: 'RolledBack',
  // Not in the kubelet: if it exits during a postStart hook, it later assumes that the container has started.
  repeatedPostStartHook: 'RepeatedPostStartHook',
  // Not in the kubelet, which reports nothing for four minutes, the deadline of the call.
  sandboxDelayed: 'SandboxDelayed',
  // Not in the kubelet: another owner has a pod with the same UID.
  podUIDTaken: 'PodUIDTaken',
  // Not in the kubelet, which only logs it.
  imageRemoved: 'ImageRemoved',
  deadContainersRemoved: 'DeadContainersRemoved',
  // Not in the kubelet: an API server refuses such pods.
  unknownClass: 'UnknownClass',
  classConflict: 'ClassConflict',
  // Not in the kubelet: the data of a claim are kept after its pods and its manifest are removed.
  claimKept: 'ClaimKept',
  // Not in the kubelet: pods that wait for each other.
  startOrderCycle: 'StartOrderCycle',
  waitingForPods: 'WaitingForPods',
  // Not in the kubelet, which blocks while it waits.
  waitingForDevices: 'WaitingForDevices',
  // Not in the kubelet: a replica's name belongs to another pod.
  nameTaken: 'NameTaken',
  // Ours: the disk takes no record of a workload.
  recordNotWritten: 'RecordNotWritten',
  // kubelet: pkg/controller/job, pkg/controller/cronjob
  jobAlreadyActive: 'JobAlreadyActive',
  missSchedule: 'MissSchedule',
  resumed: 'Resumed',
  successfulCreate: 'SuccessfulCreate',
  suspended: 'Suspended',
} as const;

/** Last words of the message about a revision that waits while the previous revision still runs. */
export const runsOnUntilThen = 'the previous revision keeps running until then';
