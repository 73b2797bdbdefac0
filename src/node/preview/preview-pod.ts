import { podKey } from '../../api/values/pod-names.ts';
import type { Container, Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import type { ConfigObjectLookup } from '../../api/values/config-object.ts';
import type { NodeClassLookup } from '../../api/values/node-class.ts';
import type { StorageLookup } from '../../api/values/persistent-volume.ts';
import { pullReference } from '../../api/values/image-name.ts';
import { systemClock } from '../../clock.ts';
import type { PodSandboxConfig } from '../../cri/types.ts';
import { PodDirs } from '../../engine/host/pod-dirs.ts';
import { generateContainerMounts, hostsFileOf } from '../../engine/kuberuntime/container-mounts.ts';
import { hostsFilePath } from '../../engine/network/hosts-file.ts';
import { type EnvFiles, envFileKey, makeEnvironment } from '../../engine/kuberuntime/request/environment.ts';
import { generateContainerConfig } from '../../engine/kuberuntime/request/generate-container-config.ts';
import { podSandboxConfig } from '../../engine/kuberuntime/pod-sandbox-config.ts';
import type { NodeConfig } from '../../engine/config/node-config.ts';
import { VolumeClaims } from '../../engine/persistent-volumes/volume-claims.ts';
import { VolumeManager } from '../../engine/volumes/volume-manager.ts';
import { nodeUserNamespace, podUserNamespace, type UserNamespace } from '../../engine/userns/user-namespaces.ts';
import { PathGuard } from '../../engine/host/path-guard.ts';
import { UserError } from '../../errors.ts';

/** The CRI requests of a pod, in order, and the files created for it. */
export interface PodPreview {
  /** `namespace/name` */
  pod: string;
  requests: PreviewedRequest[];
  files: { path: string; content: string }[];
}

export interface PreviewedRequest {
  method: 'RunPodSandbox' | 'PullImage' | 'CreateContainer';
  /** Condition of the request; absent if it is always sent. */
  when?: string;
  /** The CRI message. Values in angle brackets are only known at run time. */
  request?: object;
  /** The message with which the pod waits, if there is no request. */
  refused?: string;
}

interface PreviewDeps {
  node: NodeConfig;
  configObjects: ConfigObjectLookup & NodeClassLookup & StorageLookup;
}

const sandboxConfigAbove = '<config of RunPodSandbox>';

/** Computes all requests up to the start of the containers, as the engine does. Creates and writes nothing. */
export async function previewPod(pod: Pod, deps: PreviewDeps): Promise<PodPreview> {
  const sandbox = await orRefused(() =>
    podSandboxConfig(pod, 0, deps.node, undefined, { userNamespace: userNamespaceOf(pod, deps.node) }),
  );
  const { metadata, spec } = pod;
  const containers = initAndRegularContainers(spec);
  const requests = await Promise.all(
    containers.map(async (container) => [
      ...pullRequests(pod, container),
      { method: 'CreateContainer' as const, ...(await orRefused(() => createContainer(pod, container, deps))) },
    ]),
  );
  const config: PodSandboxConfig | undefined = sandbox.request;
  return {
    pod: podKey(metadata),
    requests: [
      { method: 'RunPodSandbox', ...sandbox, ...(config && { request: { config, ...handlerOf(pod, deps) } }) },
      ...(config ? requests.flat() : []),
    ],
    files: await files(pod, config, deps),
  };
}

/**
 * Empty for the default handler, and for a class that no manifest declares, which is reported as a separate problem.
 */
function handlerOf(pod: Pod, { configObjects }: PreviewDeps): { runtimeHandler?: string } {
  const found = configObjects.runtimeClass(pod.spec.runtimeClassName ?? '');
  return found === undefined ? {} : { runtimeHandler: found.handler };
}

function pullRequests({ metadata }: Pod, { image = '', imagePullPolicy }: Container): PreviewedRequest[] {
  if (imagePullPolicy === 'Never') return [];
  const reference = pullReference(image);
  if (reference === undefined) return [{ method: 'PullImage', refused: `"${image}" is not an image name` }];
  return [
    {
      method: 'PullImage',
      ...(imagePullPolicy !== 'Always' && { when: 'the image is not present' }),
      request: {
        image: { image: reference, annotations: metadata.annotations ?? {} },
        sandboxConfig: sandboxConfigAbove,
      },
    },
  ];
}

function createContainer(pod: Pod, container: Container, { node, configObjects }: PreviewDeps): object {
  const { allocatable, clusterDomain, selinuxEnabled, rootDir } = node;
  const podDirs = new PodDirs({ rootDir });
  const claims = new VolumeClaims({
    rootDir,
    storage: configObjects,
    node: { name: node.nodeName, labels: node.labels },
    podDirs,
  });
  const volumes = new VolumeManager({
    paths: new PathGuard({ maxHung: 1 }),
    podDirs,
    configObjects,
    allocatable,
    clock: systemClock,
    claims,
  });
  const podIPs = podIPsOf(pod, node);
  const envs = makeEnvironment(pod, container, {
    podIPs,
    nodeIPs: node.nodeIPs(),
    allocatable,
    configObjects,
    envFiles: assumedEnvFiles(container),
  });
  const mounts = generateContainerMounts(
    {
      pod,
      container,
      podIPs,
      envs,
      volumes: volumes.mountPoints(pod),
      // Assumed, because the runtime is not queried.
      supportsRecursiveReadOnly: true,
      podDir: podDirs.podDir(pod.metadata.uid),
      clusterDomain,
      selinuxEnabled,
    },
    `${podDirs.podDir(pod.metadata.uid)}/containers/${container.name}/<random>`,
  );
  const config = generateContainerConfig({
    ...withoutUserCheck(pod, container),
    restartCount: 0,
    imageRef: '<id of the image>',
    imageUser: { username: '<user of the image>' },
    envs,
    mounts,
    node: node.containerNode,
    security: { userNamespace: userNamespaceOf(pod, node) },
  });
  return { podSandboxId: '<id of the sandbox>', config, sandboxConfig: sandboxConfigAbove };
}

/** A pod with ids of its own is assumed to get the first range. */
function userNamespaceOf({ spec }: Pod, { userNamespaceIDs: { first, length } }: NodeConfig): UserNamespace {
  return spec.hostUsers === false ? podUserNamespace({ hostId: first, length }) : nodeUserNamespace;
}

/** Init containers write the files later, so each key stands for its value. */
function assumedEnvFiles({ env = [] }: Container): EnvFiles {
  const texts = new Map<string, string>();
  for (const { valueFrom: { fileKeyRef } = {} } of env) {
    if (fileKeyRef === undefined) continue;
    const file = envFileKey(fileKeyRef);
    texts.set(file, `${texts.get(file) ?? ''}${fileKeyRef.key}='<${fileKeyRef.key} of ${fileKeyRef.path}>'\n`);
  }
  return texts;
}

/**
 * Removes the check for a root user, because the image's user is not known yet. The check does not appear in the
 * configuration.
 */
function withoutUserCheck(pod: Pod, container: Container): { pod: Pod; container: Container } {
  const unchecked = <T extends object>(context: T | undefined): T =>
    Object.fromEntries(Object.entries(context ?? {}).filter(([key]) => key !== 'runAsNonRoot')) as T;
  const { spec } = pod;
  return {
    pod: {
      ...pod,
      spec: { ...spec, ...(spec.securityContext && { securityContext: unchecked(spec.securityContext) }) },
    },
    container: {
      ...container,
      ...(container.securityContext && { securityContext: unchecked(container.securityContext) }),
    },
  };
}

function podIPsOf({ spec }: Pod, { nodeIPs }: NodeConfig): readonly string[] {
  return spec.hostNetwork === true ? nodeIPs() : ['<pod IP>'];
}

async function files(
  pod: Pod,
  config: PodSandboxConfig | undefined,
  { node }: PreviewDeps,
): Promise<PodPreview['files']> {
  const { rootDir, clusterDomain } = node;
  const podDir = new PodDirs({ rootDir }).podDir(pod.metadata.uid);
  const hosts = await orRefused(() => hostsFileOf(pod, { podIPs: podIPsOf(pod, node), clusterDomain }));
  return [
    ...(hosts.request === undefined ? [] : [{ path: hostsFilePath(podDir), content: hosts.request }]),
    ...(config?.dnsConfig
      ? [{ path: '<folder of the sandbox>/resolv.conf', content: resolvConfText(config.dnsConfig) }]
      : []),
  ];
}

async function orRefused<T>(make: () => T | Promise<T>): Promise<{ request?: T; refused?: string }> {
  try {
    return { request: await make() };
  } catch (error) {
    if (error instanceof UserError) return { refused: error.message };
    throw error;
  }
}

/**
 * The resolver file that a runtime creates from a sandbox's DNS settings. containerd: sandbox_run_linux.go
 * parseDNSOptions
 */
function resolvConfText({
  servers = [],
  searches = [],
  options = [],
}: NonNullable<PodSandboxConfig['dnsConfig']>): string {
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
