// Writes src/api/generated/manifest-schema.ts: the fields of every object in manifests, with their kinds. They come
// from the declarations of kubernetes-types and the additions in src/api/types.ts. What TypeScript cannot express about
// the Go types (pointers, integer widths, bytes) is listed here by hand.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '..');
const types = path.join(root, 'node_modules/kubernetes-types');
const sources = [
  path.join(types, 'apps/v1.d.ts'),
  path.join(types, 'batch/v1.d.ts'),
  path.join(types, 'core/v1.d.ts'),
  path.join(types, 'discovery/v1.d.ts'),
  path.join(types, 'meta/v1.d.ts'),
  path.join(types, 'node/v1.d.ts'),
  path.join(types, 'scheduling/v1.d.ts'),
  path.join(types, 'storage/v1.d.ts'),
  path.join(root, 'src/api/types.ts'),
];
const output = path.join(root, 'src/api/generated/manifest-schema.ts');

/** The objects that a manifest may declare. */
const roots = [
  'Pod',
  'ConfigMap',
  'Secret',
  'CronJob',
  'DaemonSet',
  'Deployment',
  'Job',
  'ReplicaSet',
  'ReplicationController',
  'StatefulSet',
  'RuntimeClass',
  'PriorityClass',
  'PersistentVolumeClaim',
  'PersistentVolume',
  'CSIDriver',
  'Service',
  'Endpoints',
  'EndpointSlice',
];

/** 64-bit integers. Every other number has 32 bits. */
const int64Fields = new Set([
  'CSIDriverSpec.nodeAllocatableUpdatePeriodSeconds',
  'CronJobSpec.startingDeadlineSeconds',
  'DaemonSetStatus.observedGeneration',
  'DeploymentStatus.observedGeneration',
  'JobSpec.activeDeadlineSeconds',
  'LinuxContainerUser.gid',
  'LinuxContainerUser.supplementalGroups',
  'LinuxContainerUser.uid',
  'ObjectMeta.deletionGracePeriodSeconds',
  'ObjectMeta.generation',
  'PodCondition.observedGeneration',
  'PodSecurityContext.fsGroup',
  'PodSecurityContext.runAsGroup',
  'PodSecurityContext.runAsUser',
  'PodSecurityContext.supplementalGroups',
  'PodSpec.activeDeadlineSeconds',
  'PodSpec.terminationGracePeriodSeconds',
  'PodStatus.observedGeneration',
  'Probe.terminationGracePeriodSeconds',
  'ReplicaSetStatus.observedGeneration',
  'ReplicationControllerStatus.observedGeneration',
  'SecurityContext.runAsGroup',
  'SecurityContext.runAsUser',
  'ServiceAccountTokenProjection.expirationSeconds',
  'SleepAction.seconds',
  'StatefulSetStatus.observedGeneration',
  'TokenRequest.expirationSeconds',
  'Toleration.tolerationSeconds',
]);

/**
 * Optional fields whose explicit zero value Go keeps, because it differs from absence: pointers, and lists without
 * omitempty.
 */
const pointerFields = new Set(
  Object.entries({
    AppArmorProfile: ['localhostProfile'],
    AzureDiskVolumeSource: ['cachingMode', 'fsType', 'kind', 'readOnly'],
    CSIDriverSpec: [
      'attachRequired',
      'fsGroupPolicy',
      'nodeAllocatableUpdatePeriodSeconds',
      'podInfoOnMount',
      'preventPodSchedulingIfMissing',
      'requiresRepublish',
      'seLinuxMount',
      'serviceAccountTokenInSecrets',
      'storageCapacity',
    ],
    CSIVolumeSource: ['fsType', 'readOnly'],
    ClientIPConfig: ['timeoutSeconds'],
    ClusterTrustBundleProjection: ['name', 'optional', 'signerName'],
    ConfigMapEnvSource: ['optional'],
    ConfigMapKeySelector: ['optional'],
    ConfigMapProjection: ['optional'],
    ConfigMapVolumeSource: ['defaultMode', 'optional'],
    Container: ['restartPolicy'],
    ContainerStatus: ['started', 'stopSignal'],
    DeploymentStatus: ['terminatingReplicas'],
    DownwardAPIVolumeFile: ['mode'],
    DownwardAPIVolumeSource: ['defaultMode'],
    EmptyDirVolumeSource: ['sizeLimit'],
    EndpointConditions: ['ready', 'serving', 'terminating'],
    EphemeralContainer: ['restartPolicy'],
    FCVolumeSource: ['lun'],
    FileKeySelector: ['optional'],
    GRPCAction: ['service'],
    HostPathVolumeSource: ['type'],
    ISCSIVolumeSource: ['initiatorName'],
    KeyToPath: ['mode'],
    Lifecycle: ['stopSignal'],
    LocalVolumeSource: ['fsType'],
    ObjectMeta: ['deletionGracePeriodSeconds'],
    OwnerReference: ['blockOwnerDeletion', 'controller'],
    PersistentVolumeClaimSpec: ['storageClassName', 'volumeAttributesClassName', 'volumeMode'],
    PersistentVolumeSpec: ['volumeAttributesClassName', 'volumeMode'],
    PodCertificateProjection: ['maxExpirationSeconds'],
    PodDNSConfigOption: ['value'],
    PodResourceClaim: ['resourceClaimName', 'resourceClaimTemplateName'],
    PodResourceClaimStatus: ['resourceClaimName'],
    PodSchedulingGroup: ['podGroupName'],
    PodSecurityContext: [
      'fsGroup',
      'fsGroupChangePolicy',
      'runAsGroup',
      'runAsNonRoot',
      'runAsUser',
      'seLinuxChangePolicy',
      'supplementalGroupsPolicy',
    ],
    PodSpec: [
      'activeDeadlineSeconds',
      'automountServiceAccountToken',
      'enableServiceLinks',
      'hostUsers',
      'hostnameOverride',
      'preemptionPolicy',
      'priority',
      'runtimeClassName',
      'setHostnameAsFQDN',
      'shareProcessNamespace',
      'terminationGracePeriodSeconds',
    ],
    Probe: ['terminationGracePeriodSeconds'],
    ProjectedVolumeSource: ['defaultMode', 'sources'],
    ReplicaSetStatus: ['terminatingReplicas'],
    ResourceHealth: ['message'],
    SeccompProfile: ['localhostProfile'],
    SecretEnvSource: ['optional'],
    SecretKeySelector: ['optional'],
    SecretProjection: ['optional'],
    SecretVolumeSource: ['defaultMode', 'optional'],
    SecurityContext: [
      'allowPrivilegeEscalation',
      'privileged',
      'procMount',
      'readOnlyRootFilesystem',
      'runAsGroup',
      'runAsNonRoot',
      'runAsUser',
    ],
    ServiceAccountTokenProjection: ['expirationSeconds'],
    ServiceSpec: ['allocateLoadBalancerNodePorts'],
    TokenRequest: ['expirationSeconds'],
    Toleration: ['tolerationSeconds'],
    TopologySpreadConstraint: ['minDomains', 'nodeAffinityPolicy', 'nodeTaintsPolicy'],
    TypedLocalObjectReference: ['apiGroup'],
    TypedObjectReference: ['apiGroup', 'namespace'],
    VolumeMount: ['mountPropagation', 'recursiveReadOnly'],
    VolumeMountStatus: ['recursiveReadOnly'],
    WindowsSecurityContextOptions: ['gmsaCredentialSpec', 'gmsaCredentialSpecName', 'hostProcess', 'runAsUserName'],
  }).flatMap(([type, fields]) => fields.map((field) => `${type}.${field}`)),
);

/**
 * Fields that are optional in TypeScript but that Go always writes: values that are not pointers and on which omitempty
 * has no effect.
 */
const alwaysFields = new Set([
  'PersistentVolumeClaimSpec.resources',
  'PersistentVolumeClaimTemplate.metadata',
  'ResourceFieldSelector.divisor',
]);

/** Maps with byte values, which are base64 in the manifest. */
const bytesFields = new Set(['ConfigMap.binaryData', 'Secret.data']);

/** Fields of older releases that 1.36 no longer has. */
const removedFields = new Set(['PodResourceClaim.source']);

const scalarKinds = { Time: 'time', MicroTime: 'time', Quantity: 'quantity', FieldsV1: 'any' };

/** Returns every interface in the sources by name, merged with its additions. */
function readInterfaces() {
  const interfaces = new Map();
  const visit = (node) => {
    if (ts.isInterfaceDeclaration(node)) {
      const members = node.members.filter(ts.isPropertySignature);
      interfaces.set(node.name.text, [...(interfaces.get(node.name.text) ?? []), ...members]);
    } else if (ts.isModuleDeclaration(node) || ts.isModuleBlock(node)) {
      ts.forEachChild(node, visit);
    }
  };
  for (const file of sources) {
    ts.forEachChild(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true), visit);
  }
  return interfaces;
}

function kindOf(type, field) {
  switch (type.kind) {
    case ts.SyntaxKind.StringKeyword:
      return bytesFields.has(field) ? 'bytes' : 'string';
    case ts.SyntaxKind.BooleanKeyword:
      return 'bool';
    case ts.SyntaxKind.NumberKeyword:
      return int64Fields.has(field) ? 'int64' : 'int32';
    case ts.SyntaxKind.LiteralType:
      return 'string';
  }
  if (ts.isUnionTypeNode(type)) return 'intOrString';
  if (ts.isArrayTypeNode(type)) return `[]${kindOf(type.elementType, field)}`;
  if (ts.isTypeLiteralNode(type)) return `map ${kindOf(type.members[0].type, field)}`;
  if (ts.isTypeReferenceNode(type)) {
    const name = type.typeName.text;
    if (name === 'Record') return `map ${kindOf(type.typeArguments[1], field)}`;
    return name === 'Array' ? `[]${kindOf(type.typeArguments[0], field)}` : (scalarKinds[name] ?? name);
  }
  throw new Error(`${field}: no kind for ${type.getText()}`);
}

function describe(interfaces, typeName, schema) {
  if (typeName in schema) return;
  const members = interfaces.get(typeName);
  if (!members) throw new Error(`No declaration of ${typeName}`);
  const fields = (schema[typeName] = {});
  for (const member of members) {
    const name = member.name.text;
    const field = `${typeName}.${name}`;
    if (removedFields.has(field)) continue;
    const kind = kindOf(member.type, field);
    fields[name] =
      (!member.questionToken || alwaysFields.has(field) ? '!' : pointerFields.has(field) ? '*' : '') + kind;
    const element = kind.replaceAll(/\[\]|map /g, '');
    if (/^[A-Z]/.test(element)) describe(interfaces, element, schema);
  }
}

const schema = {};
const interfaces = readInterfaces();
for (const root of roots) describe(interfaces, root, schema);
for (const field of [...int64Fields, ...pointerFields, ...alwaysFields, ...bytesFields]) {
  const [type, name] = field.split('.');
  if (schema[type]?.[name] === undefined) throw new Error(`${field} is listed here but is not a field of any object`);
}
mkdirSync(path.dirname(output), { recursive: true });
writeFileSync(
  output,
  `// Made by scripts/generate-manifest-schema.mjs. Do not edit.\nexport const manifestSchema = ${JSON.stringify(schema, null, 2)};\n`,
);
