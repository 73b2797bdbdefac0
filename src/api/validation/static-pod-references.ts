import type { Pod } from '../types.ts';
import { objectReferences } from '../values/config-object-references.ts';

/** One place where a pod refers to an object of an API server. */
export interface StaticPodReference {
  /** The kubelet's word, such as `secrets`. */
  kind: string;
  field: string;
}

/**
 * What a kubelet refuses in a static pod, in the order in which it checks. kubelet-ts reads these objects from
 * documents next to the pod. kubelet: pkg/api/pod/util.go HasAPIObjectReference
 */
export function staticPodReferences(pod: Pod): StaticPodReference[] {
  const { spec } = pod;
  const references = objectReferences(pod);
  const named = (kind: string, word: string): StaticPodReference[] =>
    references.flatMap((one) => (one.kind === kind ? [{ kind: word, field: one.field }] : []));
  return [
    ...(spec.serviceAccountName ? [{ kind: 'serviceaccounts', field: 'spec.serviceAccountName' }] : []),
    ...named('Secret', 'secrets'),
    ...secretsOfLegacyVolumes(spec),
    ...named('ConfigMap', 'configmaps'),
    ...(spec.resourceClaims?.length ? [{ kind: 'resourceclaims', field: 'spec.resourceClaims' }] : []),
    ...volumeReferences(spec),
  ];
}

const volumesWithSecretRef = ['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'] as const;

function secretsOfLegacyVolumes({ volumes = [] }: Pod['spec']): StaticPodReference[] {
  return volumes.flatMap((volume, index) => {
    const fields = volumesWithSecretRef
      .filter((kind) => volume[kind]?.secretRef?.name)
      .map((kind) => `${kind}.secretRef`);
    if (volume.azureFile?.secretName) fields.push('azureFile.secretName');
    return fields.map((field) => ({ kind: 'secrets', field: `spec.volumes[${index}].${field}` }));
  });
}

/** Words for volumes that refer to an object by their kind, and for sources of projected volumes. */
const volumeWords = {
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
} as const;
const projectionWords = {
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
} as const;

function volumeReferences({ volumes = [] }: Pod['spec']): StaticPodReference[] {
  return volumes.flatMap((volume, index) => {
    const field = `spec.volumes[${index}]`;
    const sources = volume.projected?.sources ?? [];
    return [
      ...wordsOf(volume, volumeWords, field),
      ...sources.flatMap((source, at) => wordsOf(source, projectionWords, `${field}.projected.sources[${at}]`)),
    ];
  });
}

function wordsOf(object: object, words: Readonly<Record<string, string>>, field: string): StaticPodReference[] {
  const used = Object.entries(words).filter(([kind]) => Object.hasOwn(object, kind));
  return used.map(([kind, word]) => ({ kind: word, field: `${field}.${kind}` }));
}
