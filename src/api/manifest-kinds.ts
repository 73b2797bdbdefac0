import { nearestName } from './nearest-name.ts';
import { podHint } from './object-type.ts';

/** The kinds that are carried out here, with their apiVersion. */
export const carriedOutKinds = {
  Pod: 'v1',
  ConfigMap: 'v1',
  Secret: 'v1',
  CronJob: 'batch/v1',
  DaemonSet: 'apps/v1',
  Deployment: 'apps/v1',
  Job: 'batch/v1',
  ReplicaSet: 'apps/v1',
  ReplicationController: 'v1',
  StatefulSet: 'apps/v1',
} as const;

export type CarriedOutKind = keyof typeof carriedOutKinds;

/** What becomes of the objects of a kind. */
export type KindMeaning =
  | { type: 'carriedOut'; kind: CarriedOutKind }
  /** `itemKind` is the kind of all items; absent for the List of anything. */
  | { type: 'list'; itemKind?: string }
  | { type: 'notCarriedOut'; reason: string }
  /** No such kind, or not of this apiVersion; `field` is the one to look at. */
  | { type: 'unknown'; field: 'apiVersion' | 'kind'; message: string; hint: string };

/** What the objects of an apiVersion and kind are to this program. */
export function kindMeaning(apiVersion: string, kind: string): KindMeaning {
  if (isCarriedOut(kind)) {
    const expected = carriedOutKinds[kind];
    if (apiVersion === expected) return { type: 'carriedOut', kind };
    return wrongVersion(apiVersion, kind, expected);
  }
  if (kind === 'List') return apiVersion === 'v1' ? { type: 'list' } : wrongVersion(apiVersion, kind, 'v1');
  const itemKind = /^(.+)List$/.exec(kind)?.[1];
  if (itemKind !== undefined) {
    const meaning = kindMeaning(apiVersion, itemKind);
    return meaning.type === 'unknown' ? meaning : { type: 'list', itemKind };
  }
  const known = otherKinds.get(kind);
  if (known?.group === groupOf(apiVersion)) return { type: 'notCarriedOut', reason: known.reason };
  if (groupOf(apiVersion).includes('.') && !groupOf(apiVersion).endsWith('.k8s.io')) {
    return { type: 'notCarriedOut', reason: 'custom resources need an API server and a controller' };
  }
  if (known) return wrongVersion(apiVersion, kind, known.group);
  const nearest = nearestName(kind, [...Object.keys(carriedOutKinds), 'List', 'PodList', ...otherKinds.keys()]);
  return {
    type: 'unknown',
    field: 'kind',
    message: `kind "${kind}" is not known`,
    hint: nearest === undefined ? 'Check its spelling.' : `Did you mean "${nearest}"?`,
  };
}

function isCarriedOut(kind: string): kind is CarriedOutKind {
  return Object.hasOwn(carriedOutKinds, kind);
}

/** `expected` is an apiVersion or only its group. */
function wrongVersion(apiVersion: string, kind: string, expected: string): KindMeaning {
  return {
    type: 'unknown',
    field: 'apiVersion',
    message: `apiVersion "${apiVersion}" is not supported`,
    hint: kind === 'Pod' ? podHint : `A ${kind} has "apiVersion: ${expected}".`,
  };
}

/** `apps` of `apps/v1`; empty for `v1`. */
function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

const network = 'the network is that of the container runtime';
const access = 'there is no API server to guard';
const storage = 'there are no persistent volumes here';
const cluster = 'it is for the API server of a cluster';

/** Kinds of Kubernetes that mean nothing to a node alone, by API group. */
const otherKindsByGroup: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': {
    Binding: 'pods are not scheduled, they run here',
    ComponentStatus: cluster,
    Endpoints: network,
    Event: cluster,
    LimitRange: cluster,
    Namespace: 'a namespace is there as soon as a pod names it',
    Node: 'this program is the node',
    PersistentVolume: storage,
    PersistentVolumeClaim: storage,
    PodTemplate: 'a template alone runs nothing',
    ResourceQuota: cluster,
    Service: network,
    ServiceAccount: access,
  },
  'admissionregistration.k8s.io': {
    MutatingWebhookConfiguration: cluster,
    ValidatingAdmissionPolicy: cluster,
    ValidatingAdmissionPolicyBinding: cluster,
    ValidatingWebhookConfiguration: cluster,
  },
  'apiextensions.k8s.io': { CustomResourceDefinition: cluster },
  'apiregistration.k8s.io': { APIService: cluster },
  apps: { ControllerRevision: cluster },
  autoscaling: { HorizontalPodAutoscaler: 'a pod runs once on this node' },
  'certificates.k8s.io': { CertificateSigningRequest: cluster, ClusterTrustBundle: cluster },
  'coordination.k8s.io': { Lease: cluster },
  'discovery.k8s.io': { EndpointSlice: network },
  'events.k8s.io': { Event: cluster },
  'flowcontrol.apiserver.k8s.io': { FlowSchema: cluster, PriorityLevelConfiguration: cluster },
  'networking.k8s.io': { Ingress: network, IngressClass: network, NetworkPolicy: network },
  'node.k8s.io': { RuntimeClass: 'the default runtime is used for every pod' },
  policy: { PodDisruptionBudget: 'nothing but this node stops its pods' },
  'rbac.authorization.k8s.io': { ClusterRole: access, ClusterRoleBinding: access, Role: access, RoleBinding: access },
  'resource.k8s.io': {
    DeviceClass: cluster,
    ResourceClaim: cluster,
    ResourceClaimTemplate: cluster,
    ResourceSlice: cluster,
  },
  'scheduling.k8s.io': { PriorityClass: 'write the number into spec.priority of the pod' },
  'storage.k8s.io': {
    CSIDriver: storage,
    CSINode: storage,
    CSIStorageCapacity: storage,
    StorageClass: storage,
    VolumeAttachment: storage,
    VolumeAttributesClass: storage,
  },
};

const otherKinds: ReadonlyMap<string, { group: string; reason: string }> = new Map(
  Object.entries(otherKindsByGroup).flatMap(([group, reasons]) =>
    Object.entries(reasons).map(([kind, reason]) => [kind, { group, reason }] as const),
  ),
);
