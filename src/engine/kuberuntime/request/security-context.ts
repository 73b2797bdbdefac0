import { posix } from 'node:path';
import type { PodSecurityContext, SecurityContext } from 'kubernetes-types/core/v1.js';
import type { Container, Pod } from '../../../api/types.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../../cri/types.ts';
import { UserError } from '../../../errors.ts';
import { appArmorProfile } from './apparmor-profile.ts';
import type { UserNamespace } from '../../userns/user-namespaces.ts';
import { namespacesForContainer, namespacesForPod } from './namespace-options.ts';

type SandboxSecurityContext = NonNullable<NonNullable<PodSandboxConfig['linux']>['securityContext']>;
type ContainerSecurityContext = NonNullable<NonNullable<ContainerConfig['linux']>['securityContext']>;
type SeccompProfile = NonNullable<ContainerSecurityContext['seccomp']>;

/** Settings of the node for the security context of a pod. */
export interface SecurityNode {
  /** Folder of the Localhost seccomp profiles: `<root-dir>/seccomp`. */
  seccompProfileRoot: string;
  /** True if containers without a seccomp profile get the runtime's default. */
  seccompDefault: boolean;
  /** The existing /sys/devices/system/cpu/cpu<N>/thermal_throttle folders, hidden from containers. */
  thermalThrottlePaths?: readonly string[];
}

/** Parts of the security context that are computed elsewhere. */
export interface PodSecurity {
  userNamespace?: UserNamespace | undefined;
  /** Supplemental groups of its volumes. */
  volumeGroups?: readonly number[];
  /** Id of the container whose processes an ephemeral container sees. */
  targetContainerID?: string | undefined;
}

/** User of a container's image: a number, or a name that only the image can resolve. */
export interface ImageUser {
  uid?: bigint | number;
  username?: string;
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** kubelet: kuberuntime/kuberuntime_sandbox.go generatePodSandboxLinuxConfig */
export function sandboxSecurityContext(
  pod: Pod,
  { userNamespace, volumeGroups = [] }: PodSecurity,
): SandboxSecurityContext {
  const context: PodSecurityContext = pod.spec.securityContext ?? {};
  const fsGroup = context.fsGroup === undefined ? [] : [context.fsGroup];
  return {
    privileged: hasPrivilegedContainer(pod),
    // The sandbox runs only the pause container, for which the default profile is always enough.
    seccomp: { profileType: 'RuntimeDefault' },
    namespaceOptions: namespacesForPod(pod, userNamespace),
    runAsUser: int64(context.runAsUser),
    runAsGroup: int64(context.runAsGroup),
    selinuxOptions: context.seLinuxOptions,
    supplementalGroups: [...fsGroup, ...volumeGroups, ...(context.supplementalGroups ?? [])],
    ...groupsPolicy(context),
  };
}

/** kubelet: kuberuntime/security_context.go determineEffectiveSecurityContext */
export function containerSecurityContext(
  pod: Pod,
  container: Container,
  imageUser: ImageUser,
  node: SecurityNode,
  { userNamespace, volumeGroups = [], targetContainerID }: PodSecurity,
): ContainerSecurityContext {
  const effective = effectiveSecurityContext(pod, container);
  const context: PodSecurityContext = pod.spec.securityContext ?? {};
  const fsGroup = context.fsGroup === undefined ? [] : [context.fsGroup];
  const isMasked = effective.procMount !== 'Unmasked';
  return {
    privileged: effective.privileged ?? false,
    readonlyRootfs: effective.readOnlyRootFilesystem ?? false,
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    capabilities: effective.capabilities && {
      addCapabilities: effective.capabilities.add ?? [],
      dropCapabilities: effective.capabilities.drop ?? [],
    },
    selinuxOptions: effective.seLinuxOptions,
    ...runAsUser(effective, imageUser),
    runAsGroup: int64(effective.runAsGroup),
    seccomp: seccompProfile(pod, container, node),
    ...appArmorProfile(pod, container),
    namespaceOptions: namespacesForContainer(pod, userNamespace, targetContainerID),
    // The kubelet uses another order for the sandbox.
    supplementalGroups: [...fsGroup, ...(context.supplementalGroups ?? []), ...volumeGroups],
    ...groupsPolicy(context),
    maskedPaths: isMasked ? [...maskedPaths, ...(node.thermalThrottlePaths ?? [])] : [],
    readonlyPaths: isMasked ? readonlyPaths : [],
  };
}

/**
 * Throws a `UserError` if runAsNonRoot is set and the container would run as root or its user is unknown. kubelet:
 * kuberuntime/security_context_others.go verifyRunAsNonRoot
 */
export function verifyRunAsNonRoot(pod: Pod, container: Container, imageUser: ImageUser): void {
  const { runAsNonRoot, runAsUser: user } = effectiveSecurityContext(pod, container);
  if (!runAsNonRoot) return;
  const problem = user === undefined ? imageUserProblem(imageUser) : runAsUserProblem(user);
  if (problem === undefined) return;
  throw new UserError(`Container "${container.name}" may not run as root (runAsNonRoot), but ${problem}`, {
    hint: 'Set securityContext.runAsUser to the number of an unprivileged user.',
  });
}

function runAsUserProblem(user: number): string | undefined {
  return user === 0 ? 'its runAsUser is 0' : undefined;
}

function imageUserProblem({ uid, username }: ImageUser): string | undefined {
  if (uid === undefined && username) return `its image sets the user "${username}", which may be root`;
  return Number(uid ?? 0) === 0 ? 'its image runs as root' : undefined;
}

/** The container's settings, or else the pod's. kubelet: securitycontext/util.go DetermineEffectiveSecurityContext */
function effectiveSecurityContext({ spec }: Pod, { securityContext = {} }: Container): SecurityContext {
  const { seLinuxOptions, runAsUser: user, runAsGroup, runAsNonRoot } = spec.securityContext ?? {};
  return {
    ...(seLinuxOptions && { seLinuxOptions }),
    ...(user !== undefined && { runAsUser: user }),
    ...(runAsGroup !== undefined && { runAsGroup }),
    ...(runAsNonRoot !== undefined && { runAsNonRoot }),
    ...securityContext,
  };
}

/** The user in the spec, or else in the image, or else root. kubelet: helpers.go getImageUser */
function runAsUser(
  effective: SecurityContext,
  { uid, username = '' }: ImageUser,
): Pick<ContainerSecurityContext, 'runAsUser' | 'runAsUsername'> {
  if (effective.runAsUser !== undefined) return { runAsUser: int64(effective.runAsUser) };
  return username && uid === undefined ? { runAsUsername: username } : { runAsUser: int64(uid ?? 0) };
}

/** kubelet: kuberuntime/helpers.go getSeccompProfile */
function seccompProfile(pod: Pod, container: Container, node: SecurityNode): SeccompProfile {
  const profile = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  switch (profile?.type) {
    case undefined:
      return { profileType: node.seccompDefault ? 'RuntimeDefault' : 'Unconfined' };
    case 'RuntimeDefault':
      return { profileType: 'RuntimeDefault' };
    case 'Localhost':
      return {
        profileType: 'Localhost',
        localhostRef: posix.join(node.seccompProfileRoot, localhostProfile(profile.localhostProfile, container)),
      };
    default:
      return { profileType: 'Unconfined' };
  }
}

function localhostProfile(name: string | undefined, container: Container): string {
  if (name) return name;
  throw new UserError(`Container "${container.name}": a seccompProfile of type Localhost needs localhostProfile`, {
    hint: 'Set localhostProfile to a file below the seccomp folder of the root directory.',
  });
}

/** kubelet: container/helpers.go HasPrivilegedContainer */
function hasPrivilegedContainer({ spec }: Pod): boolean {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  return containers.some(({ securityContext }) => securityContext?.privileged === true);
}

function groupsPolicy({
  supplementalGroupsPolicy: policy,
}: PodSecurityContext): Pick<ContainerSecurityContext, 'supplementalGroupsPolicy'> {
  if (policy === undefined) return {};
  if (policy === 'Merge' || policy === 'Strict') return { supplementalGroupsPolicy: policy };
  throw new UserError(`unsupported supplementalGroupsPolicy: ${policy}`, {
    hint: 'Set securityContext.supplementalGroupsPolicy of the pod to Merge or Strict, or remove it.',
  });
}

function int64(value: bigint | number | undefined): { value: bigint | number } | undefined {
  return value === undefined ? undefined : { value };
}
