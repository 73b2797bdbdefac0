import type { RuntimeClass } from '../../api/values/node-class.ts';
import type { Pod } from '../../api/types.ts';
import { loadManifest } from '../../engine/config/load-manifest.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import type { RemoteManifestOptions } from '../../engine/config/polled/remote-manifest.ts';
import { manifestTexts, stdinOrigin } from '../sources/manifest-texts.ts';
import { readManifestURL } from '../sources/read-manifest-url.ts';
import { withNodeClasses } from '../sources/with-node-classes.ts';
import { joined, type ManifestsRequest, readManifests } from '../sources/read-manifests.ts';
import type { DesiredNode } from './node-state.ts';
import { type KnownWorkloads, withWorkloadPods } from './with-workload-pods.ts';

interface Request extends ManifestsRequest {
  /** Classes of the configuration. */
  runtimeClasses: readonly RuntimeClass[];
  /** URLs of other manifests. */
  remote: readonly RemoteManifestOptions[];
  workloads: KnownWorkloads;
}

/** Reads the declarations of the manifests, and their UIDs under other origins. */
export async function readDesiredNode(request: Request): Promise<DesiredNode & SourceUpdate> {
  const files = await readManifests({ ...request, allPositions: true });
  const remote = await Promise.all(request.remote.map(readManifestURL));
  // With errors, nothing is compared, and the paths may be missing.
  const isBroken = files.problems.some(({ severity }) => severity === 'error');
  const texts = isBroken ? [] : await manifestTexts(request.manifests, request.stdin);
  const podsOf = (text: Uint8Array, origin: string): Pod[] => loadManifest(text, origin, request).pods;
  const textOf = new Map(
    texts.flatMap(({ bytes }) => podsOf(bytes, stdinOrigin).map((pod) => [podFullName(pod.metadata), bytes] as const)),
  );
  const declared = joined([files, ...remote]);
  return {
    ...withNodeClasses(withWorkloadPods(declared, request.workloads), request.runtimeClasses),
    // Without those of templates that only records still have.
    problems: withNodeClasses(declared, request.runtimeClasses).problems,
    urls: remote.map(({ where }) => where),
    uidUnder: (pod, origin) => {
      const text = textOf.get(podFullName(pod.metadata));
      return (
        text &&
        podsOf(text, origin).find((other) => podFullName(other.metadata) === podFullName(pod.metadata))?.metadata.uid
      );
    },
  };
}
