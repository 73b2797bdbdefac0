import { toStaticPod } from '../../src/api/objects/static-pod.ts';
import type { Container, Pod, RawPod } from '../../src/api/types.ts';
import { staticPodReferences } from '../../src/api/validation/static-pod-references.ts';
import { validatePod } from '../../src/api/validation/validate-pod.ts';
import { configAnnotations } from '../../src/api/values/config-annotations.ts';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { withoutDisabledFields } from '../../src/api/values/disabled-fields.ts';
import { podQOSClass } from '../../src/api/values/qos.ts';
import { podLimits, podRequests, toResourceList } from '../../src/api/values/resource-totals.ts';
import { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';
import { podUIDHash } from '../../src/engine/config/load-manifest.ts';
import { containerOOMScoreAdj } from '../../src/engine/container-manager/oom-score-adj.ts';
import { containerHashHex } from '../../src/engine/container/container-hash.ts';
import { expandSubPathExpr } from '../../src/engine/kuberuntime/container-mounts.ts';
import { type EnvironmentVariable, makeEnvironment } from '../../src/engine/kuberuntime/request/environment.ts';
import { expandContainerCommandAndArgs } from '../../src/engine/kuberuntime/request/generate-container-config.ts';
import { podHostname } from '../../src/engine/kuberuntime/request/hostname.ts';
import { admitPod } from '../../src/engine/lifecycle/admit-pod.ts';
import { sysctlAllowlist } from '../../src/engine/lifecycle/sysctl-allowlist.ts';
import { UserError } from '../../src/errors.ts';
import { decodeManifest, loadPod } from '../builders/load-pod.ts';

/** One recorded manifest; test/golden/manifests/README.md says what each member means. */
export interface ManifestCase {
  name: string;
  manifest?: string;
  manifestBase64?: string;
  expect: Recorded;
}

interface Recorded {
  parsed: boolean;
  accepted: boolean;
  fieldErrors: { field: string; type: string }[];
  refusedReference?: string;
  pod?: Pod;
  qosClass?: string;
  requests?: Record<string, string>;
  limits?: Record<string, string>;
  containerHash?: Record<string, string>;
  hostname?: string;
  hostDomain?: string;
  admit?: { admit: boolean; reason?: string };
  runtime?: Record<string, JsonObject & { envError?: boolean }>;
}
type JsonObject = Record<string, unknown>;

/** What was recorded of a manifest and what our code makes of it, in one form, without what is not to be compared. */
export function replayManifest(manifestCase: ManifestCase): { expected: JsonObject; actual: JsonObject } {
  const bytes = bytesOf(manifestCase);
  const options = {
    nodeName: 'edge1',
    source: 'file',
    origin: `/manifests/${manifestCase.name}.yaml`,
    hash: podUIDHash,
  } as const;
  const { pod: raw } = decodeManifest(bytes, options.origin);
  const { pod, problems } = loadPod(bytes, options);
  const named = raw?.metadata?.name ? toStaticPod(raw, options) : undefined;
  const fieldErrors = named ? validatePod(named) : [];
  const [reference] = named && fieldErrors.length === 0 ? staticPodReferences(named) : [];
  const { expect } = manifestCase;
  return {
    expected: {
      ...verdict(expect),
      fieldErrors: asSet(expect.fieldErrors),
      refusedReference: expect.refusedReference,
      ...(expect.accepted ? { pod: comparable(expect.pod ?? {}, raw), ...recordedRuntime(expect) } : {}),
    },
    actual: {
      parsed: raw !== undefined,
      accepted: pod !== undefined,
      saysWhy: problems.some(({ severity }) => severity === 'error'),
      fieldErrors: asSet(fieldErrors.map(({ field, type }) => ({ field, type: typeNames[type] ?? type }))),
      refusedReference: reference?.kind,
      ...(pod && expect.accepted ? { pod: comparable(pod, raw), ...heldPod(pod) } : {}),
    },
  };
}

/** A manifest that is refused says why. */
function verdict({ parsed, accepted }: Recorded): JsonObject {
  return { parsed, accepted, saysWhy: !accepted };
}

function bytesOf({ manifest, manifestBase64 = '' }: ManifestCase): Uint8Array {
  return manifest === undefined ? Buffer.from(manifestBase64, 'base64') : Buffer.from(manifest);
}

const typeNames: Readonly<Record<string, string>> = {
  'Duplicate value': 'FieldValueDuplicate',
  Forbidden: 'FieldValueForbidden',
  'Invalid value': 'FieldValueInvalid',
  'Not found': 'FieldValueNotFound',
  'Required value': 'FieldValueRequired',
  'Too long': 'FieldValueTooLong',
  'Too many': 'FieldValueTooMany',
  'Unsupported value': 'FieldValueNotSupported',
};

function asSet(errors: readonly { field: string; type: string }[]): string[] {
  return [...new Set(errors.map(({ field, type }) => `${field}: ${type}`))].sort();
}

/** The members about a pod that is held which are compared as they stand. */
function recordedRuntime({ runtime = {}, ...recorded }: Recorded): JsonObject {
  const { qosClass, requests, limits, containerHash, hostname, hostDomain, admit } = recorded;
  return { qosClass, requests, limits, containerHash, hostname, hostDomain, admit, runtime };
}

function heldPod(loaded: Pod): JsonObject {
  const { metadata } = loaded;
  const annotations = { ...metadata.annotations, [configAnnotations.source]: 'file' };
  const pod = withoutDisabledFields({ ...loaded, metadata: { ...metadata, annotations } }, defaultFeatureGates);
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const { hostname, domain } = podHostname(pod, 'cluster.local');
  return {
    qosClass: podQOSClass(pod),
    requests: toResourceList(podRequests(pod)),
    limits: toResourceList(podLimits(pod)),
    containerHash: Object.fromEntries(containers.map((container) => [container.name, containerHashHex(container)])),
    hostname,
    hostDomain: domain,
    admit: admission(pod),
    runtime: Object.fromEntries(containers.map((container) => [container.name, containerRuntime(pod, container)])),
  };
}

const memoryCapacityBytes = 8n * 1024n ** 3n;
const allocatable = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '100Gi', pods: '110' };

/** Whether the node of the recording takes the pod, which is its only one. */
function admission(pod: Pod): JsonObject {
  const result = admitPod(pod, [], {
    name: 'edge1',
    labels: { 'kubernetes.io/hostname': 'edge1', 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
    taints: [],
    allocatable,
    allowedSysctls: sysctlAllowlist('6.0', []),
    appArmorEnabled: true,
    pressures: [],
    evictionPolicy: 'kubelet',
    isShuttingDown: false,
    supportsSupplementalGroupsPolicy: true,
    allowsPodLevelResources: true,
  });
  return result.admit ? { admit: true } : { admit: false, reason: result.rejection.reason };
}

/** What a container is made with on the node of the recording. */
function containerRuntime(pod: Pod, container: Container): JsonObject {
  const oomScoreAdj = containerOOMScoreAdj(pod, container, memoryCapacityBytes);
  const nodeIPs = ['192.0.2.10'];
  // The volumes of the recording were empty, and a missing file is an error.
  if (container.env?.some(({ valueFrom }) => valueFrom?.fileKeyRef)) return { envError: true, oomScoreAdj };
  try {
    const envs = makeEnvironment(pod, container, {
      envFiles: new Map(),
      podIPs: pod.spec.hostNetwork === true ? nodeIPs : ['10.88.0.5'],
      nodeIPs,
      allocatable,
      configObjects: new ConfigObjects(),
    });
    const env = Object.fromEntries(envs.map(({ name, value }) => [name, value]));
    return {
      env,
      ...expandContainerCommandAndArgs(container, envs),
      oomScoreAdj,
      ...expandedSubPaths(container, envs),
    };
  } catch (error) {
    if (error instanceof UserError) return { envError: true, oomScoreAdj };
    throw error;
  }
}

/** By mount path; null where the expansion fails. */
function expandedSubPaths({ volumeMounts = [] }: Container, envs: readonly EnvironmentVariable[]): JsonObject {
  const mounts = volumeMounts.filter(({ subPathExpr = '' }) => subPathExpr !== '');
  const subPaths = mounts.map(
    ({ mountPath, subPathExpr = '' }) => [mountPath, orNull(() => expandSubPathExpr(subPathExpr, envs))] as const,
  );
  return subPaths.length === 0 ? {} : { subPaths: Object.fromEntries(subPaths) };
}

function orNull<T>(make: () => T): T | null {
  try {
    return make();
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

/** Drops what the recording says not to compare. */
function comparable(pod: object, raw: RawPod | undefined): JsonObject {
  const copy = withoutNulls(structuredClone(pod)) as JsonObject & {
    metadata: JsonObject & { annotations?: JsonObject };
    spec: JsonObject;
  };
  delete copy['status'];
  if (raw?.metadata?.uid === undefined) delete copy.metadata['uid'];
  const annotations = Object.entries(copy.metadata.annotations ?? {}).filter(
    ([key]) => !key.startsWith('kubernetes.io/config.'),
  );
  delete copy.metadata.annotations;
  if (annotations.length > 0) copy.metadata.annotations = Object.fromEntries(annotations);
  for (const list of ['containers', 'initContainers']) {
    for (const container of (copy.spec[list] ?? []) as JsonObject[]) {
      if (Object.keys(container['resources'] ?? {}).length === 0) delete container['resources'];
    }
  }
  return copy;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([key, member]) => [key, withoutNulls(member)]),
  );
}
