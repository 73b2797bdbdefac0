import { nearestName } from '../text/nearest-name.ts';

/** The kinds that this program runs or uses, with their apiVersion. */
export const supportedKinds = {
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
  RuntimeClass: 'node.k8s.io/v1',
  PriorityClass: 'scheduling.k8s.io/v1',
  PersistentVolumeClaim: 'v1',
  PersistentVolume: 'v1',
  CSIDriver: 'storage.k8s.io/v1',
  Service: 'v1',
  Endpoints: 'v1',
  EndpointSlice: 'discovery.k8s.io/v1',
} as const;

export type SupportedKind = keyof typeof supportedKinds;

/** Hint on the apiVersion and kind to write. `kind` is the kind the object names. */
export function hintForApiVersion(kind: string): string {
  if (kind === 'Pod' || !isSupportedKind(kind)) return 'A manifest starts with "apiVersion: v1" and "kind: Pod".';
  return `Write "apiVersion: ${supportedKinds[kind]}".`;
}

export function isSupportedKind(kind: string): kind is SupportedKind {
  return Object.hasOwn(supportedKinds, kind);
}

/** The kind that a word most likely misspells. Returns undefined if no kind is close. */
export function nearestKind(word: string): string | undefined {
  return nearestName(word, Object.keys(supportedKinds));
}

/** How this program treats objects of a kind. */
export type KindMeaning =
  | { type: 'supported'; kind: SupportedKind }
  /** `itemKind` is the kind of all items; absent for a plain `List`. */
  | { type: 'list'; itemKind?: string }
  /** `isMissed` is true if pods run differently than in a cluster that has this object. */
  | { type: 'unsupported'; reason: string; isMissed: boolean }
  /** An unknown kind, or a known one with another apiVersion; `field` is the field to correct. */
  | { type: 'unknown'; field: 'apiVersion' | 'kind'; message: string; hint: string };

/** How this program treats objects of an apiVersion and kind. */
export function kindMeaning(apiVersion: string, kind: string): KindMeaning {
  if (kind === 'List')
    return apiVersion === 'v1' ? { type: 'list' } : wrongVersion(apiVersion, 'Write "apiVersion: v1".');
  const itemKind = kind.endsWith('List') ? kind.slice(0, -'List'.length) : undefined;
  const meaning = itemMeaning(apiVersion, itemKind ?? kind);
  return itemKind === undefined || meaning.type === 'unknown' ? meaning : { type: 'list', itemKind };
}

function itemMeaning(apiVersion: string, kind: string): KindMeaning {
  const group = apiVersion.includes('/') ? (apiVersion.split('/', 1)[0] ?? '') : '';
  if (isCustom(group, kind)) {
    return { type: 'unsupported', reason: 'custom resources need an API server and a controller', isMissed: true };
  }
  if (isSupportedKind(kind)) {
    if (apiVersion === supportedKinds[kind]) return { type: 'supported', kind };
    return wrongVersion(apiVersion, hintForApiVersion(kind));
  }
  const reason = otherKinds.get(kind);
  if (reason !== undefined) return { type: 'unsupported', reason, isMissed: missedKinds.has(kind) };
  const ofGroup = otherGroups.get(group);
  if (ofGroup !== undefined) return { type: 'unsupported', reason: ofGroup, isMissed: true };
  const nearest = nearestName(kind, [...Object.keys(supportedKinds), 'List', ...otherKinds.keys()]);
  return {
    type: 'unknown',
    field: 'kind',
    message: `kind "${kind}" is not known`,
    hint: nearest === undefined ? 'Check its spelling.' : `Did you mean "${nearest}"?`,
  };
}

/** True if the group belongs neither to Kubernetes nor is a misspelling of the group that has the kind. */
function isCustom(group: string, kind: string): boolean {
  if (!group.includes('.') || ownGroups.has(group) || otherGroups.has(group)) return false;
  const own = isSupportedKind(kind) ? supportedKinds[kind].split('/', 1) : [];
  return nearestName(group, own) === undefined;
}

/** The groups of the kinds that this program runs or uses, without the core group. */
const ownGroups: ReadonlySet<string> = new Set(
  Object.values(supportedKinds).flatMap((apiVersion) => (apiVersion === 'v1' ? [] : apiVersion.split('/', 1))),
);

const forAPIServer = 'it is for the API server of a cluster';
const ofNetwork = 'the network is that of the container runtime';
const keepsCount = 'a workload keeps its replicas until you change them';
const forBuilding = 'its manifests have to be built first, with kubectl kustomize FOLDER > FILE.yaml';
const forKubeadm = 'it is for kubeadm';
const configures = 'it configures another program';

/**
 * The other groups of Kubernetes and its tools, with the reason why their kinds are not supported. A kind with a reason
 * in `kindsByReason` keeps that one. Any unlisted group with a dot is a group of custom resources.
 */
const otherGroups: ReadonlyMap<string, string> = new Map([
  ['admission.k8s.io', forAPIServer],
  ['admissionregistration.k8s.io', forAPIServer],
  ['apiextensions.k8s.io', forAPIServer],
  ['apiregistration.k8s.io', forAPIServer],
  ['apiserver.config.k8s.io', configures],
  ['apiserver.k8s.io', configures],
  ['audit.k8s.io', configures],
  ['authentication.k8s.io', forAPIServer],
  ['authorization.k8s.io', forAPIServer],
  ['autoscaling', keepsCount],
  ['certificates.k8s.io', forAPIServer],
  ['checkpoint.k8s.io', forAPIServer],
  ['client.authentication.k8s.io', configures],
  ['controllermanager.config.k8s.io', configures],
  ['coordination.k8s.io', forAPIServer],
  ['credentialprovider.kubelet.k8s.io', configures],
  ['discovery.k8s.io', ofNetwork],
  ['events.k8s.io', forAPIServer],
  ['flowcontrol.apiserver.k8s.io', forAPIServer],
  ['imagepolicy.k8s.io', forAPIServer],
  ['internal.apiserver.k8s.io', forAPIServer],
  ['kubeadm.k8s.io', forKubeadm],
  ['kubecontrollermanager.config.k8s.io', configures],
  ['kubelet.config.k8s.io', configures],
  ['kubeproxy.config.k8s.io', configures],
  ['kubescheduler.config.k8s.io', configures],
  ['kustomize.config.k8s.io', forBuilding],
  ['lifecycle.k8s.io', forAPIServer],
  ['networking.k8s.io', ofNetwork],
  ['policy', forAPIServer],
  ['rbac.authorization.k8s.io', 'there is no API server to guard'],
  ['resource.k8s.io', forAPIServer],
  ['storagemigration.k8s.io', forAPIServer],
]);

function wrongVersion(apiVersion: string, hint: string): KindMeaning {
  return { type: 'unknown', field: 'apiVersion', message: `apiVersion "${apiVersion}" is not supported`, hint };
}

/** Kinds of Kubernetes and its tools that a node without a cluster cannot support, grouped by reason. */
const kindsByReason: Readonly<Record<string, readonly string[]>> = {
  'nothing filters the connections of pods': ['NetworkPolicy'],
  'nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node': ['Ingress'],
  'nothing routes requests by host name or path': ['IngressClass'],
  'there is no API server to guard': ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding', 'ServiceAccount'],
  'a claim becomes a folder of this node, or binds a PersistentVolume, with every class': [
    'StorageClass',
    'VolumeAttributesClass',
  ],
  'it is for the controllers of a cluster': ['CSINode', 'CSIStorageCapacity', 'VolumeAttachment'],
  [forAPIServer]: [
    'APIService',
    'Binding',
    'CertificateSigningRequest',
    'ClusterTrustBundle',
    'ComponentStatus',
    'CompositePodGroup',
    'ControllerRevision',
    'CustomResourceDefinition',
    'DeviceClass',
    'Event',
    'FlowSchema',
    'Lease',
    'LimitRange',
    'MutatingWebhookConfiguration',
    'PodGroup',
    'PriorityLevelConfiguration',
    'ResourceClaim',
    'ResourceClaimTemplate',
    'ResourceQuota',
    'ResourceSlice',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
    'Workload',
  ],
  'a namespace is there as soon as a pod names it': ['Namespace'],
  [keepsCount]: ['HorizontalPodAutoscaler'],
  'a template alone runs nothing': ['PodTemplate'],
  'it belongs to --config': ['KubeletConfiguration'],
  'it tells clients where an API server is': ['Config'],
  'nothing but this node stops its pods': ['PodDisruptionBudget'],
  'this program is the node': ['Node'],
};

/** The kinds among them that would change what runs or how it is reached, and files of other programs. */
const missedKinds: ReadonlySet<string> = new Set([
  'CompositePodGroup',
  'Config',
  'Ingress',
  'KubeletConfiguration',
  'LimitRange',
  'NetworkPolicy',
  'Node',
  'PodGroup',
  'PodTemplate',
  'ResourceClaim',
  'ResourceClaimTemplate',
  'ResourceQuota',
  'Workload',
]);

const otherKinds: ReadonlyMap<string, string> = new Map(
  Object.entries(kindsByReason).flatMap(([reason, kinds]) => kinds.map((kind) => [kind, reason] as const)),
);
