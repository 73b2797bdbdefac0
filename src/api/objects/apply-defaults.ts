import type * as core from 'kubernetes-types/core/v1.js';
import { canonicalObject } from './canonical-form.ts';
import { defaultImagePullPolicy } from '../values/image-name.ts';
import { defaultFeatureGates, type FeatureGates } from '../values/feature-gates.ts';
import { hasPodLevelResources } from '../values/pod-level-resources.ts';
import { podLevelLimits, podLevelRequests } from '../values/resource-totals.ts';
import { formatQuantity, roundUpToMilli, toQuantity } from '../values/quantity.ts';
import type { RawPod, ResourceList } from '../types.ts';
import { initAndRegularContainers } from '../values/containers.ts';

/** A pod with all defaults, but without the name, namespace and UID that `toStaticPod` sets. */
export type DefaultedPod = Omit<RawPod, 'metadata' | 'spec'> & {
  metadata: NonNullable<RawPod['metadata']>;
  spec: core.PodSpec;
};

/**
 * Returns a copy of a Pod in canonical form, with the versioned defaults.
 *
 * kubelet: pkg/apis/core/v1/defaults.go, called in the order of zz_generated.defaults.go SetObjectDefaults_Pod
 */
export function applyDefaults(raw: RawPod, gates: FeatureGates = defaultFeatureGates): DefaultedPod {
  // Safe cast: canonicalObject copies exactly the fields of the type. The copy may be changed.
  const pod = canonicalObject('Pod', raw) as RawPod;
  const { metadata = {}, spec = { containers: [] } } = pod;
  const annotations = withoutLegacyInitContainers(metadata.annotations);
  if (annotations) metadata.annotations = annotations;
  else delete metadata.annotations;
  setSpecDefaults(spec, gates);
  return { ...pod, metadata, spec };
}

function setSpecDefaults(spec: core.PodSpec, gates: FeatureGates): void {
  spec.dnsPolicy ??= 'ClusterFirst';
  spec.enableServiceLinks ??= true;
  spec.restartPolicy ??= 'Always';
  spec.schedulerName ??= 'default-scheduler';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  const serviceAccountName = spec.serviceAccountName ?? spec.serviceAccount;
  if (serviceAccountName !== undefined) {
    spec.serviceAccountName = serviceAccountName;
    spec.serviceAccount = serviceAccountName;
  }
  if (spec.overhead) spec.overhead = roundResources(spec.overhead);
  if (spec.resources) spec.resources = defaultResources(spec.resources, false);
  for (const volume of spec.volumes ?? []) setVolumeDefaults(volume);
  for (const container of initAndRegularContainers(spec)) {
    setContainerDefaults(container, spec.hostNetwork ?? false);
    if (container.resources) container.resources = defaultResources(container.resources, true);
  }
  for (const container of spec.ephemeralContainers ?? []) setEphemeralContainerDefaults(container);
  if (gates.PodLevelResources) setPodLevelResources(spec);
}

/**
 * In a pod with pod-level resources, a missing limit of huge pages is the sum of its containers. A missing request is
 * the sum of its containers' requests, or else the pod's limit. kubelet: defaults.go defaultHugePagePodLimits,
 * defaultPodRequests
 */
function setPodLevelResources(spec: core.PodSpec): void {
  if (!hasPodLevelResources(spec)) return;
  const limits = podLevelLimits(spec);
  if (Object.keys(limits).length > 0) spec.resources = { ...spec.resources, limits };
  if (Object.keys(spec.resources?.limits ?? {}).length === 0) return;
  const requests = podLevelRequests(spec);
  if (Object.keys(requests).length > 0) spec.resources = { ...spec.resources, requests };
}

export function setEphemeralContainerDefaults(container: core.EphemeralContainer): void {
  setContainerDefaults(container, false);
  if (container.resources) container.resources = defaultResources(container.resources, false);
}

/** Sets the defaults that containers of all three kinds share. */
function setContainerDefaults(container: core.Container | core.EphemeralContainer, hostNetwork: boolean): void {
  container.imagePullPolicy ??= defaultImagePullPolicy(container.image ?? '');
  container.terminationMessagePath ??= '/dev/termination-log';
  container.terminationMessagePolicy ??= 'File';
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ??= 'v1';
    if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false;
  }
  for (const port of container.ports ?? []) {
    port.protocol ??= 'TCP';
    if (hostNetwork && port.containerPort !== 0) port.hostPort ??= port.containerPort;
  }
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
    if (probe) setProbeDefaults(probe);
  }
  setHttpGetDefaults(container.lifecycle?.postStart?.httpGet);
  setHttpGetDefaults(container.lifecycle?.preStop?.httpGet);
}

function setProbeDefaults(probe: core.Probe): void {
  probe.timeoutSeconds ??= 1;
  probe.periodSeconds ??= 10;
  probe.successThreshold ??= 1;
  probe.failureThreshold ??= 3;
  setHttpGetDefaults(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= '';
}

function setHttpGetDefaults(httpGet: core.HTTPGetAction | undefined): void {
  if (!httpGet) return;
  httpGet.path ??= '/';
  httpGet.scheme ??= 'HTTP';
}

/** A limit without a request becomes the request as well, in a container with any resources at all. */
function defaultResources(resources: core.ResourceRequirements, limitsAreRequests: boolean): core.ResourceRequirements {
  const limits = resources.limits && roundResources(resources.limits);
  const written = resources.requests && roundResources(resources.requests);
  const requests = limitsAreRequests && limits ? { ...limits, ...written } : written;
  return { ...resources, ...(limits && { limits }), ...(requests && { requests }) };
}

/** Amounts in their canonical form, rounded up to thousandths. */
export function roundResources(resources: ResourceList): ResourceList {
  return Object.fromEntries(
    Object.entries(resources).map(([name, text]) => [name, formatQuantity(roundUpToMilli(toQuantity(text)))]),
  );
}

const defaultMode = 0o644;

function setVolumeDefaults(volume: core.Volume): void {
  const { configMap, downwardAPI, ephemeral, hostPath, image, projected, secret } = volume;
  if (Object.keys(volume).every((field) => field === 'name')) volume.emptyDir = {};
  setLegacyVolumeDefaults(volume);
  if (configMap) configMap.defaultMode ??= defaultMode;
  if (downwardAPI) {
    downwardAPI.defaultMode ??= defaultMode;
    setDownwardFileDefaults(downwardAPI.items);
  }
  if (ephemeral?.volumeClaimTemplate) setClaimTemplateDefaults(ephemeral.volumeClaimTemplate);
  if (hostPath) hostPath.type ??= '';
  if (image) image.pullPolicy ??= defaultImagePullPolicy(image.reference ?? '');
  if (projected) {
    projected.defaultMode ??= defaultMode;
    for (const { downwardAPI: files, serviceAccountToken } of projected.sources ?? []) {
      setDownwardFileDefaults(files?.items);
      if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= 3600;
    }
  }
  if (secret) secret.defaultMode ??= defaultMode;
}

/**
 * Defaults of storage-system volumes. A node without a cluster cannot mount them, but the pod must look as in a
 * cluster.
 */
function setLegacyVolumeDefaults(volume: core.Volume): void {
  const { azureDisk, iscsi, rbd, scaleIO } = volume;
  if (azureDisk) {
    volume.azureDisk = { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false, ...azureDisk };
  }
  if (iscsi) iscsi.iscsiInterface ??= 'default';
  if (rbd) volume.rbd = { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring', ...rbd };
  if (scaleIO) volume.scaleIO = { storageMode: 'ThinProvisioned', fsType: 'xfs', ...scaleIO };
}

function setDownwardFileDefaults(files: core.DownwardAPIVolumeFile[] | undefined): void {
  for (const { fieldRef } of files ?? []) if (fieldRef) fieldRef.apiVersion ??= 'v1';
}

function setClaimTemplateDefaults({ spec }: core.PersistentVolumeClaimTemplate): void {
  spec.volumeMode ??= 'Filesystem';
  const { limits, requests } = spec.resources ?? {};
  spec.resources = {
    ...(limits && { limits: roundResources(limits) }),
    ...(requests && { requests: roundResources(requests) }),
  };
}

/**
 * Drops the annotations from the time before init containers were fields. kubelet: core/v1/conversion.go
 * dropInitContainerAnnotations
 */
function withoutLegacyInitContainers(
  annotations: Record<string, string> | undefined,
): Record<string, string> | undefined {
  if (!annotations) return undefined;
  const kept = Object.entries(annotations).filter(
    ([key]) => !/^pod\.(?:alpha|beta)\.kubernetes\.io\/init-container(?:s|-statuses)$/.test(key),
  );
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}
