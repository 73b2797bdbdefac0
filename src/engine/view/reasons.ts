/**
 * Reasons that users see in container states and events. kubelet: events/event.go, container/sync_result.go,
 * images/types.go
 */
export const reasons = {
  // Container waiting reasons.
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
  // Results of a sync that are not shown as container reasons.
  killContainerError: 'KillContainerError',
  killPodSandboxError: 'KillPodSandboxError',
  createPodSandboxError: 'CreatePodSandboxError',
  configPodSandboxError: 'ConfigPodSandboxError',
  // What a pod ended of.
  terminated: 'Terminated',
  // Terminated reason that the kubelet makes up.
  containerStatusUnknown: 'ContainerStatusUnknown',
  // Events.
  backOff: 'BackOff',
  containerGCFailed: 'ContainerGCFailed',
  created: 'Created',
  evicted: 'Evicted',
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
  invalidDiskCapacity: 'InvalidDiskCapacity',
  killing: 'Killing',
  manifestBroken: 'ManifestBroken',
  manifestGood: 'ManifestGood',
  nodeAllocatableEnforced: 'NodeAllocatableEnforced',
  networkNotReady: 'NetworkNotReady',
  preempting: 'Preempting',
  probeWarning: 'ProbeWarning',
  pulled: 'Pulled',
  pulling: 'Pulling',
  sandboxChanged: 'SandboxChanged',
  shutdown: 'Shutdown',
  started: 'Started',
  unhealthy: 'Unhealthy',
  // The kubelet has no word for it: it does not run where a limit is refused.
  cgroupLimitRefused: 'CgroupLimitRefused',
  // Nor for this: it stops a pod before the images of its next revision are there.
  replacementWaits: 'ReplacementWaits',
  // Nor for a pod whose UID is that of another owner's.
  podUIDTaken: 'PodUIDTaken',
  // Nor for pods that wait for each other.
  startOrderCycle: 'StartOrderCycle',
  waitingForPods: 'WaitingForPods',
} as const;

/** Said of a revision that does not start yet, as the one before it is not stopped for nothing. */
export const runsOnUntilThen = 'the revision before this one runs on until then';
