import { posix } from 'node:path';

interface LoggedPod {
  namespace: string;
  name: string;
  uid: string;
}

/** Folder of the links to container logs, for log collectors. */
export const containerLogLinksDir = '/var/log/containers';

const logSuffix = '.log';
/** Longest file name that common file systems allow, in bytes. */
const maxFileNameLength = 255;
/** The kubelet never looks up a container by fewer characters of its id. */
const minContainerIDLength = 6;

/** `<podLogsDir>/<namespace>_<name>_<uid>`. kubelet: kuberuntime/helpers.go BuildPodLogsDirectory */
export function podLogsDirectory(podLogsDir: string, pod: LoggedPod): string {
  return posix.join(podLogsDir, podLogsName(pod));
}

/** Returns the name of a pod's log folder. */
export function podLogsName({ namespace, name, uid }: LoggedPod): string {
  return `${namespace}_${name}_${uid}`;
}

/** kubelet: kuberuntime/helpers.go BuildContainerLogsDirectory */
export function containerLogsDirectory(podLogsDir: string, pod: LoggedPod, containerName: string): string {
  return posix.join(podLogsDirectory(podLogsDir, pod), containerName);
}

/**
 * Returns the path of a container's log, relative to the pod's folder. kubelet: kuberuntime/helpers.go
 * buildContainerLogsPath
 */
export function containerLogPath(containerName: string, restartCount: number): string {
  return posix.join(containerName, `${restartCount}${logSuffix}`);
}

/**
 * Returns the name of the link to a container's log in /var/log/containers, truncated to what file systems accept.
 * kubelet: kuberuntime/legacy.go logSymlink
 */
export function containerLogSymlinkName(
  { namespace, name }: Omit<LoggedPod, 'uid'>,
  containerName: string,
  containerID: string,
): string {
  const stem = `${name}_${namespace}_${containerName}-${containerID}`;
  return stem.slice(0, maxFileNameLength - logSuffix.length) + logSuffix;
}

/**
 * Returns the pod UID in the name of a pod's log directory. kubelet: kuberuntime/helpers.go
 * parsePodUIDFromLogsDirectory
 */
export function podUIDOfLogsDirectory(directoryName: string): string {
  return directoryName.slice(directoryName.lastIndexOf('_') + 1);
}

/**
 * Returns the pod of a log directory, parsed from its name. Returns undefined if this is not the name of a log
 * directory.
 */
export function podOfLogsDirectory(directoryName: string): LoggedPod | undefined {
  // Namespaces and names contain no underscore. UIDs from us and from manifests contain no slash.
  const [, namespace, name, uid] = /^([^_/]+)_([^_/]+)_([^/]+)$/.exec(directoryName) ?? [];
  return namespace === undefined || name === undefined || uid === undefined ? undefined : { namespace, name, uid };
}

/**
 * Returns the container id in the name of a log link, truncated as the name was. Returns undefined if the name has
 * none. kubelet: kuberuntime/legacy.go getContainerIDFromLegacyLogSymlink
 */
export function containerIDOfLogSymlink(linkName: string): string | undefined {
  if (!linkName.endsWith(logSuffix)) return undefined;
  const containerID = linkName.slice(linkName.lastIndexOf('-') + 1, -logSuffix.length);
  return containerID.length >= minContainerIDLength ? containerID : undefined;
}

/** Returns the folder of a container's termination logs, one file per instance. `podDir`: `<root-dir>/pods/<uid>` */
export function terminationLogsDirectory(podDir: string, containerName: string): string {
  return posix.join(podDir, 'containers', containerName);
}
