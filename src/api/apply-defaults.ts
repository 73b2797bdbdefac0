import type * as core from 'kubernetes-types/core/v1.js';
import { canonicalObject } from './canonical-form.ts';
import { defaultImagePullPolicy } from './image-name.ts';
import { formatQuantity, roundUpToMilli, toQuantity } from './quantity.ts';
import type { RawPod, ResourceList } from './types.ts';

/** A pod with all defaults, still without the name, namespace and UID that `toStaticPod` gives. */
export type DefaultedPod = Omit<RawPod, 'metadata' | 'spec'> & {
  metadata: NonNullable<RawPod['metadata']>;
  spec: core.PodSpec;
};

/**
 * The versioned defaults of a Pod, on a copy in canonical form.
 *
 * kubelet: pkg/apis/core/v1/defaults.go, called in the order of zz_generated.defaults.go SetObjectDefaults_Pod
 */
export function applyDefaults(raw: RawPod): DefaultedPod {
  // canonicalObject follows the declarations of the type and makes nothing else.
  const pod = canonicalObject('Pod', raw) as RawPod;
  const annotations = withoutLegacyInitContainers(pod.metadata?.annotations);
  const metadata: DefaultedPod['metadata'] = { ...pod.metadata };
  delete metadata.annotations;
  return {
    ...pod,
    metadata: { ...metadata, ...(annotations && { annotations }) },
    spec: defaultSpec(pod.spec ?? { containers: [] }),
  };
}

function defaultSpec(spec: core.PodSpec): core.PodSpec {
  const hostNetwork = spec.hostNetwork ?? false;
  const serviceAccountName = spec.serviceAccountName ?? spec.serviceAccount;
  const overhead = spec.overhead && roundResources(spec.overhead);
  return {
    dnsPolicy: 'ClusterFirst',
    enableServiceLinks: true,
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    ...spec,
    ...((spec.terminationGracePeriodSeconds ?? 0) < 0 && { terminationGracePeriodSeconds: 1 }),
    ...(serviceAccountName !== undefined && { serviceAccountName, serviceAccount: serviceAccountName }),
    ...(overhead && { overhead }),
    ...(spec.resources && { resources: defaultResources(spec.resources, false) }),
    ...(spec.volumes && { volumes: spec.volumes.map(defaultVolume) }),
    ...(spec.initContainers && {
      initContainers: spec.initContainers.map((container) => defaultContainer(container, hostNetwork)),
    }),
    containers: spec.containers.map((container) => defaultContainer(container, hostNetwork)),
    ...(spec.ephemeralContainers && {
      ephemeralContainers: spec.ephemeralContainers.map((container) => defaultCommon(container, false)),
    }),
  };
}

function defaultContainer(container: core.Container, hostNetwork: boolean): core.Container {
  const { resources } = container;
  return {
    ...defaultCommon(container, hostNetwork),
    ...(resources && { resources: defaultResources(resources, true) }),
  };
}

/** What containers, init containers and ephemeral containers have in common. */
function defaultCommon<T extends core.Container | core.EphemeralContainer>(container: T, hostNetwork: boolean): T {
  const { env, lifecycle, livenessProbe, ports, readinessProbe, resources, startupProbe } = container;
  return {
    imagePullPolicy: defaultImagePullPolicy(container.image ?? ''),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ...container,
    ...(env && { env: env.map(defaultEnvVar) }),
    ...(lifecycle && { lifecycle: defaultLifecycle(lifecycle) }),
    ...(livenessProbe && { livenessProbe: defaultProbe(livenessProbe) }),
    ...(ports && { ports: ports.map((port) => defaultPort(port, hostNetwork)) }),
    ...(readinessProbe && { readinessProbe: defaultProbe(readinessProbe) }),
    ...(resources && { resources: defaultResources(resources, false) }),
    ...(startupProbe && { startupProbe: defaultProbe(startupProbe) }),
  };
}

function defaultEnvVar(envVar: core.EnvVar): core.EnvVar {
  const { valueFrom } = envVar;
  return valueFrom?.fieldRef
    ? { ...envVar, valueFrom: { ...valueFrom, fieldRef: defaultFieldRef(valueFrom.fieldRef) } }
    : envVar;
}

function defaultFieldRef(fieldRef: core.ObjectFieldSelector): core.ObjectFieldSelector {
  return { apiVersion: 'v1', ...fieldRef };
}

function defaultPort(port: core.ContainerPort, hostNetwork: boolean): core.ContainerPort {
  const usesHostPort = hostNetwork && port.hostPort === undefined && port.containerPort !== 0;
  return { protocol: 'TCP', ...port, ...(usesHostPort && { hostPort: port.containerPort }) };
}

function defaultProbe(probe: core.Probe): core.Probe {
  return {
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
    ...probe,
    ...(probe.httpGet && { httpGet: defaultHttpGet(probe.httpGet) }),
    ...(probe.grpc && { grpc: { service: '', ...probe.grpc } }),
  };
}

function defaultLifecycle(lifecycle: core.Lifecycle): core.Lifecycle {
  const { postStart, preStop } = lifecycle;
  return {
    ...lifecycle,
    ...(postStart?.httpGet && { postStart: { ...postStart, httpGet: defaultHttpGet(postStart.httpGet) } }),
    ...(preStop?.httpGet && { preStop: { ...preStop, httpGet: defaultHttpGet(preStop.httpGet) } }),
  };
}

function defaultHttpGet(httpGet: core.HTTPGetAction): core.HTTPGetAction {
  return { path: '/', scheme: 'HTTP', ...httpGet };
}

/** A limit without a request is the request too, for containers that ask for resources at all. */
function defaultResources(resources: core.ResourceRequirements, limitsAreRequests: boolean): core.ResourceRequirements {
  const limits = resources.limits && roundResources(resources.limits);
  const written = resources.requests && roundResources(resources.requests);
  const requests = limitsAreRequests && limits ? { ...limits, ...written } : written;
  return { ...resources, ...(limits && { limits }), ...(requests && { requests }) };
}

function roundResources(resources: ResourceList): ResourceList {
  return Object.fromEntries(
    Object.entries(resources).map(([name, text]) => [name, formatQuantity(roundUpToMilli(toQuantity(text)))]),
  );
}

const defaultMode = 0o644;

function defaultVolume(volume: core.Volume): core.Volume {
  const { azureDisk, configMap, downwardAPI, ephemeral, hostPath, iscsi, projected, rbd, scaleIO, secret } = volume;
  if (Object.keys(volume).every((field) => field === 'name')) return { ...volume, emptyDir: {} };
  return {
    ...volume,
    ...(azureDisk && {
      azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false, ...azureDisk },
    }),
    ...(configMap && { configMap: { defaultMode, ...configMap } }),
    ...(downwardAPI && {
      downwardAPI: {
        defaultMode,
        ...downwardAPI,
        ...(downwardAPI.items && { items: downwardAPI.items.map(defaultDownwardFile) }),
      },
    }),
    ...(ephemeral && { ephemeral: defaultEphemeral(ephemeral) }),
    ...(hostPath && { hostPath: { type: '', ...hostPath } }),
    ...(iscsi && { iscsi: { iscsiInterface: 'default', ...iscsi } }),
    ...(projected && {
      projected: {
        defaultMode,
        ...projected,
        ...(projected.sources && { sources: projected.sources.map(defaultProjection) }),
      },
    }),
    ...(rbd && { rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring', ...rbd } }),
    ...(scaleIO && { scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs', ...scaleIO } }),
    ...(secret && { secret: { defaultMode, ...secret } }),
  };
}

function defaultDownwardFile(file: core.DownwardAPIVolumeFile): core.DownwardAPIVolumeFile {
  return file.fieldRef ? { ...file, fieldRef: defaultFieldRef(file.fieldRef) } : file;
}

function defaultProjection(source: core.VolumeProjection): core.VolumeProjection {
  const { downwardAPI, serviceAccountToken } = source;
  return {
    ...source,
    ...(downwardAPI?.items && { downwardAPI: { ...downwardAPI, items: downwardAPI.items.map(defaultDownwardFile) } }),
    ...(serviceAccountToken && { serviceAccountToken: { expirationSeconds: 3600, ...serviceAccountToken } }),
  };
}

function defaultEphemeral(ephemeral: core.EphemeralVolumeSource): core.EphemeralVolumeSource {
  const template = ephemeral.volumeClaimTemplate;
  if (!template) return ephemeral;
  const { limits, requests } = template.spec.resources ?? {};
  return {
    ...ephemeral,
    volumeClaimTemplate: {
      ...template,
      spec: {
        volumeMode: 'Filesystem',
        ...template.spec,
        resources: {
          ...(limits && { limits: roundResources(limits) }),
          ...(requests && { requests: roundResources(requests) }),
        },
      },
    },
  };
}

/** Annotations of before init containers were fields. kubelet: core/v1/conversion.go dropInitContainerAnnotations */
function withoutLegacyInitContainers(
  annotations: Record<string, string> | undefined,
): Record<string, string> | undefined {
  if (!annotations) return undefined;
  const kept = Object.entries(annotations).filter(
    ([key]) => !/^pod\.(?:alpha|beta)\.kubernetes\.io\/init-container(?:s|-statuses)$/.test(key),
  );
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}
