import { decodeManifest } from './decode-manifest.ts';
import type { ManifestDocument } from './manifest-document.ts';
import type { ManifestProblem } from './manifest-problem.ts';
import { type StaticPodOptions, toStaticPod } from './static-pod.ts';
import { unsupportedFields } from './supported-fields.ts';
import type { Pod } from './types.ts';
import { type FieldError, validatePod } from './validate-pod.ts';

/** What came of a manifest: a pod to run, or errors; warnings in both cases. */
export interface LoadResult {
  pod?: Pod;
  problems: ManifestProblem[];
}

/**
 * Reads a manifest all the way to a pod to run: decodes it, applies the defaults, makes it a static pod of this node and
 * validates that. Every problem with a field names its line and column.
 *
 * kubelet: config/common.go tryDecodeSinglePod
 */
export function loadPod(bytes: Uint8Array | string, options: StaticPodOptions): LoadResult {
  const { pod: raw, problems, document } = decodeManifest(bytes, options.origin);
  if (!raw || !document) return { problems };
  if ((raw.metadata?.name ?? '') === '') {
    const nameless = { field: 'metadata.name', message: 'A name is needed', severity: 'error' } as const;
    return { problems: [...problems, locate(document, nameless)] };
  }
  const pod = toStaticPod(raw, options);
  const broken = validatePod(pod);
  const errors = (broken.length > 0 ? broken : refusedByLoader(pod)).map(({ field, type, message }) =>
    locate(document, { field, message: `${type}: ${message}`, severity: 'error' }),
  );
  if (errors.length > 0) return { problems: [...problems, ...errors] };
  return { pod, problems: [...problems, ...unsupportedFields(pod).map((warning) => locate(document, warning))] };
}

function locate(
  document: ManifestDocument,
  problem: Pick<ManifestProblem, 'message' | 'severity'> & { field: string },
): ManifestProblem {
  return { origin: document.origin, ...document.positionOf(problem.field), ...problem };
}

/** What is valid, yet needs an API server in a way that the kubelet refuses to load. */
function refusedByLoader({ spec }: Pod): FieldError[] {
  const refuse = (field: string): FieldError => ({
    field,
    type: 'Forbidden',
    message: 'static pods cannot use this, as it needs an API server',
  });
  const bundles = (spec.volumes ?? []).flatMap(({ projected }, index) =>
    (projected?.sources ?? []).flatMap(({ clusterTrustBundle }, at) =>
      clusterTrustBundle ? [refuse(`spec.volumes[${index}].projected.sources[${at}].clusterTrustBundle`)] : [],
    ),
  );
  return spec.resourceClaims ? [...bundles, refuse('spec.resourceClaims')] : bundles;
}
