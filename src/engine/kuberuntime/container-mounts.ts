import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container, Pod } from '../../api/types.ts';
import type { ContainerConfig } from '../../cri/types.ts';
import { UserError } from '../../errors.ts';
import { hostsFileContent, shouldMountHostsFile } from '../network/hosts-file.ts';
import type { MountedVolume } from '../volumes/volume-manager.ts';
import { podHostname } from './hostname.ts';

type Mount = NonNullable<ContainerConfig['mounts']>[number];

interface MountRequest {
  pod: Pod;
  container: Container;
  podIPs: readonly string[];
  volumes: ReadonlyMap<string, MountedVolume>;
  /** `<root-dir>/pods/<uid>` */
  podDir: string;
  clusterDomain: string;
  /** The machine enforces or logs SELinux policy: files of ours get the container's label. */
  selinuxEnabled: boolean;
}

/**
 * What is mounted into a container: its volumes in the order of the spec, the hosts file, the termination log. Writes the
 * two files. kubelet: kubelet_pods.go makeMounts, kuberuntime_container.go makeMounts
 */
export async function containerMounts(request: MountRequest): Promise<Mount[]> {
  const { pod, container, podIPs } = request;
  const mounts = (container.volumeMounts ?? []).map((mount, index) => ({
    ...volumeMount(mount, request),
    ...(isFirstOfManaged(index, request) ? relabel(request) : {}),
  }));
  if (shouldMountHostsFile(container, { hostNetwork: pod.spec.hostNetwork ?? false, podIPs })) {
    mounts.push({ containerPath: '/etc/hosts', hostPath: await writeHostsFile(request), ...relabel(request) });
  }
  const terminationMessagePath = container.terminationMessagePath ?? '';
  if (terminationMessagePath !== '') {
    mounts.push({
      containerPath: absolute(terminationMessagePath),
      hostPath: await makeTerminationLog(request),
      ...relabel(request),
    });
  }
  return mounts;
}

/** One label does for all mounts of a volume; what is not the pod's own keeps the label it has. */
function isFirstOfManaged(index: number, { container: { volumeMounts = [] }, volumes }: MountRequest): boolean {
  const name = volumeMounts[index]?.name ?? '';
  return volumes.get(name)?.managed === true && volumeMounts.findIndex((mount) => mount.name === name) === index;
}

const relabel = ({ selinuxEnabled }: MountRequest): { selinuxRelabel?: true } =>
  selinuxEnabled ? { selinuxRelabel: true } : {};

function volumeMount(
  {
    name,
    mountPath,
    readOnly = false,
    mountPropagation,
    subPath,
    subPathExpr,
  }: NonNullable<Container['volumeMounts']>[number],
  { container, volumes }: MountRequest,
): Mount {
  const volume = volumes.get(name);
  if (volume === undefined) {
    throw new UserError(`cannot find volume "${name}" to mount into container "${container.name}"`);
  }
  if ([subPath, subPathExpr].some((path = '') => path !== '')) {
    throw new UserError(
      `container "${container.name}" mounts a subPath of volume "${name}", which is not supported yet`,
    );
  }
  return {
    containerPath: absolute(mountPath),
    hostPath: volume.hostPath,
    ...(volume.image && { image: volume.image }),
    readonly: readOnly || volume.readOnly,
    propagation: propagations[mountPropagation ?? 'None'] ?? 'PROPAGATION_PRIVATE',
  };
}

/** kubelet: kubelet_pods.go translateMountPropagation */
const propagations: Record<string, NonNullable<Mount['propagation']>> = {
  None: 'PROPAGATION_PRIVATE',
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
};

const absolute = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

async function writeHostsFile({ pod, podIPs, podDir, clusterDomain }: MountRequest): Promise<string> {
  const path = join(podDir, 'etc-hosts');
  const { hostname, domain } = podHostname(pod, clusterDomain);
  const hostNetwork = pod.spec.hostNetwork ?? false;
  const content = hostsFileContent({
    podIPs,
    hostname,
    domain,
    hostAliases: pod.spec.hostAliases,
    hostNetwork,
    nodeHostsFile: hostNetwork ? await readFile('/etc/hosts', 'utf8') : '',
  });
  // Written in place: running containers of the pod have this very file mounted.
  await writeFile(path, content);
  await chmod(path, 0o644);
  return path;
}

/** A new file for every container, so that the words of the one before are not taken for its own. */
async function makeTerminationLog({ container, podDir }: MountRequest): Promise<string> {
  const dir = join(podDir, 'containers', container.name);
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const path = join(dir, randomBytes(4).toString('hex'));
  await writeFile(path, '', { flag: 'wx' });
  await chmod(path, 0o666);
  return path;
}
