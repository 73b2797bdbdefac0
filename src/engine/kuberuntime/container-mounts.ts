import { randomBytes } from 'node:crypto';
import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Container, Pod } from '../../api/types.ts';
import { expand } from '../../api/values/expand.ts';
import type { ContainerConfig } from '../../cri/types.ts';
import { UserError } from '../../errors.ts';
import { settleAll } from '../../flow/settle-all.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { ifPresent } from '../../files/if-present.ts';
import { writeNewFile } from '../../files/regular-file.ts';
import { terminationLogsDirectory } from '../container/log-paths.ts';
import { hostsFileContent, hostsFilePath, shouldMountHostsFile } from '../network/hosts-file.ts';
import { bindSubPath, type SubPath, subPathTarget } from '../volumes/sub-path.ts';
import type { MountedVolume } from '../volumes/volume-mounter.ts';
import type { EnvironmentVariable } from './request/environment.ts';
import { podHostname } from './request/hostname.ts';

/** Maximum number of termination logs per container. Logs of failed starts also count. */
const maxTerminationLogs = 5;

type Mount = NonNullable<ContainerConfig['mounts']>[number];
type VolumeMount = NonNullable<Container['volumeMounts']>[number];

/** Writes the hosts file of a pod with this content and the names of services. */
type WriteHostsFile = (pod: Pod, content: string) => Promise<void>;

interface MountRequest {
  pod: Pod;
  container: Container;
  podIPs: readonly string[];
  /** The container's variables, for subPathExpr. */
  envs: readonly EnvironmentVariable[];
  volumes: ReadonlyMap<string, MountedVolume>;
  /** True if the runtime's default handler supports recursively read-only mounts. */
  supportsRecursiveReadOnly: boolean;
  /** `<root-dir>/pods/<uid>` */
  podDir: string;
  clusterDomain: string;
  /** True if the machine enforces or logs SELinux policy. Files of the agent then get the container's label. */
  selinuxEnabled: boolean;
}

/**
 * Creates the files that a container mounts: volume subpaths, hosts file and termination log. Resolves with all its
 * mounts. Rejects with a `UserError` if a mount is invalid.
 */
export async function containerMounts(request: MountRequest, writeHostsFile: WriteHostsFile): Promise<Mount[]> {
  const terminationLog = terminationLogPath(request);
  const mounts = generateContainerMounts(request, terminationLog);
  for (const subPath of subPathsOf(request)) await bindSubPath(subPath);
  await settleAll([
    hasHostsFile(request) ? makeHostsFile(request, writeHostsFile) : undefined,
    hasTerminationLog(request) ? makeTerminationLog(terminationLog) : undefined,
  ]);
  return mounts;
}

/**
 * The mounts of a container: volumes in spec order, hosts file, termination log. kubelet: kubelet_pods.go makeMounts,
 * kuberuntime_container.go makeMounts
 */
export function generateContainerMounts(request: MountRequest, terminationLog: string): Mount[] {
  const { container, podDir } = request;
  const mounts = (container.volumeMounts ?? []).map((mount, index) => ({
    ...volumeMount(mount, index, request),
    ...(isFirstOfManaged(index, request) ? relabel(request) : {}),
  }));
  if (hasHostsFile(request)) {
    mounts.push({ containerPath: '/etc/hosts', hostPath: hostsFilePath(podDir), ...relabel(request) });
  }
  if (hasTerminationLog(request)) {
    const containerPath = absolute(container.terminationMessagePath ?? '');
    mounts.push({ containerPath, hostPath: terminationLog, ...relabel(request) });
  }
  return mounts;
}

/** Content of a pod's hosts file. For a pod on the host network it includes the node's file. */
export async function hostsFileOf(
  pod: Pod,
  { podIPs, clusterDomain }: Pick<MountRequest, 'podIPs' | 'clusterDomain'>,
): Promise<string> {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  const { hostAliases, hostNetwork = false } = pod.spec;
  const nodeHostsFile = hostNetwork ? await readFile('/etc/hosts', 'utf8') : '';
  return hostsFileContent({ podIPs, hostname, domain, hostAliases, hostNetwork, nodeHostsFile });
}

function hasHostsFile({ pod, container, podIPs }: MountRequest): boolean {
  return shouldMountHostsFile(container, { hostNetwork: pod.spec.hostNetwork ?? false, podIPs });
}

function hasTerminationLog({ container }: MountRequest): boolean {
  return (container.terminationMessagePath ?? '') !== '';
}

/**
 * True for the first mount of a volume that belongs to the pod. One mount relabels the whole volume; other volumes keep
 * their labels.
 */
function isFirstOfManaged(index: number, { container: { volumeMounts = [] }, volumes }: MountRequest): boolean {
  const name = volumeMounts[index]?.name ?? '';
  return volumes.get(name)?.managed === true && volumeMounts.findIndex((mount) => mount.name === name) === index;
}

const relabel = ({ selinuxEnabled }: MountRequest): { selinuxRelabel?: true } =>
  selinuxEnabled ? { selinuxRelabel: true } : {};

function volumeMount(mount: VolumeMount, index: number, request: MountRequest): Mount {
  const { mountPath, readOnly = false, mountPropagation = 'None' } = mount;
  const volume = volumeOf(mount, request);
  const subPath = subPathOf(mount, index, request);
  return {
    containerPath: absolute(mountPath),
    hostPath: subPath ? subPathTarget(subPath) : volume.hostPath,
    ...(volume.image && imageMount(volume.image, mount, request)),
    readonly: readOnly || volume.readOnly,
    propagation: propagations[mountPropagation] ?? 'PROPAGATION_PRIVATE',
    ...(isRecursivelyReadOnly(mount, request.supportsRecursiveReadOnly) && { recursiveReadOnly: true }),
  };
}

/** The runtime resolves the subpath inside the image. kubelet: kubelet_pods.go makeMounts */
function imageMount(
  image: NonNullable<MountedVolume['image']>,
  mount: VolumeMount,
  { envs }: MountRequest,
): Pick<Mount, 'image' | 'imageSubPath'> {
  const imageSubPath = expandSubPath(mount, envs);
  return { image, ...(imageSubPath !== '' && { imageSubPath }) };
}

function volumeOf({ name }: VolumeMount, { container, volumes }: MountRequest): MountedVolume {
  const volume = volumes.get(name);
  if (volume !== undefined) return volume;
  throw new UserError(`cannot find volume "${name}" to mount into container "${container.name}"`);
}

/** The subpaths of volumes that a container mounts. */
function subPathsOf(request: MountRequest): SubPath[] {
  return (request.container.volumeMounts ?? []).flatMap((mount, index) => subPathOf(mount, index, request) ?? []);
}

/** Returns undefined if the whole volume, or part of an image, is mounted. */
function subPathOf(mount: VolumeMount, mountIndex: number, request: MountRequest): SubPath | undefined {
  const path = expandSubPath(mount, request.envs);
  const { podDir, container } = request;
  const { hostPath: volumePath, image } = volumeOf(mount, request);
  if (path === '' || image !== undefined) return undefined;
  return { podDir, volumeName: mount.name, volumePath, path, containerName: container.name, mountIndex };
}

/** kubelet: kubelet_pods.go translateMountPropagation */
const propagations: Record<string, NonNullable<Mount['propagation']>> = {
  None: 'PROPAGATION_PRIVATE',
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
};

const absolute = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

async function makeHostsFile(request: MountRequest, write: WriteHostsFile): Promise<void> {
  await write(request.pod, await hostsFileOf(request.pod, request));
}

/** Each instance gets a new file, so that it never shows the message of its predecessor. */
function terminationLogPath({ container, podDir }: MountRequest): string {
  return join(terminationLogsDirectory(podDir, container.name), randomBytes(4).toString('hex'));
}

async function makeTerminationLog(path: string): Promise<void> {
  const folder = dirname(path);
  const old = await ifPresent(readdir(folder));
  if (old === undefined) await makeFolder(folder, 0o750);
  // The next start retries the removal.
  else await removeOldLogs(old.map((name) => join(folder, name))).catch(() => undefined);
  await writeNewFile(path, '', 0o666);
}

/**
 * Every instance that writes to one of these files has exited. The kubelet keeps all files until the pod is removed.
 */
async function removeOldLogs(paths: readonly string[]): Promise<void> {
  if (paths.length < maxTerminationLogs) return;
  const found = await Promise.all(paths.map(async (path) => ({ path, stats: await lstat(path) })));
  // Remove files without a message first, then the oldest.
  const best = found.sort(
    ({ stats: a }, { stats: b }) => Number(b.size > 0) - Number(a.size > 0) || b.mtimeMs - a.mtimeMs,
  );
  for (const { path } of best.slice(maxTerminationLogs - 1)) await rm(path, { force: true });
}

/**
 * The subpath of a mount. Empty for the whole volume. Throws a `UserError` if it refers to a missing or empty variable,
 * or leaves the volume. kubelet: kubelet_pods.go makeMounts
 */
export function expandSubPath(
  { subPath = '', subPathExpr = '' }: VolumeMount,
  envs: readonly EnvironmentVariable[],
): string {
  const path = subPathExpr === '' ? subPath : expandSubPathExpr(subPathExpr, envs);
  if (path.startsWith('/')) throw new UserError(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split('/').includes('..')) {
    throw new UserError(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  }
  return path;
}

/**
 * Replaces the variables in the text; the result may be outside of the volume. Throws a `UserError` if a variable is
 * missing or empty. kubelet: container/helpers.go ExpandContainerVolumeMounts
 */
export function expandSubPathExpr(text: string, envs: readonly EnvironmentVariable[]): string {
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  const missing = new Set<string>();
  const expanded = expand(text, (name) => {
    const value = values.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new UserError(`missing value for ${[...missing].sort().join(', ')}`);
  return expanded;
}

/**
 * True if a mount is recursively read-only. `isSupported`: by the runtime's default handler. Throws a `UserError` if
 * that is required but impossible. kubelet: kubelet_pods.go resolveRecursiveReadOnly
 */
export function isRecursivelyReadOnly(
  { name, readOnly, mountPropagation = 'None', recursiveReadOnly: mode }: VolumeMount,
  isSupported: boolean,
): boolean {
  if (mode === undefined || mode === 'Disabled') return false;
  const because = (problem: string): UserError =>
    new UserError(
      `failed to resolve recursive read-only mode: volume "${name}" requested recursive read-only mode, but it is not ${problem}`,
    );
  if (readOnly !== true) throw because('read-only');
  if (mountPropagation !== 'None') throw because(`compatible with propagation "${mountPropagation}"`);
  if (mode === 'Enabled' && !isSupported) throw because('supported by the runtime');
  return isSupported;
}
