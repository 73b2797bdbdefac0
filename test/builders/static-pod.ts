import type { Pod, RawPod } from '../../src/api/types.ts';
import { toStaticPod } from '../../src/api/objects/static-pod.ts';
import { podUIDHash } from '../../src/engine/config/load-manifest.ts';

/**
 * Returns the pod that a manifest with this name becomes on node `edge1`, with defaults, so that a syncer can run it.
 * Unless overridden, it has one container `main` that is always restarted.
 */
export function makeStaticPod(
  name: string,
  {
    uid,
    namespace,
    labels,
    annotations,
    spec,
  }: {
    uid?: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    spec?: Partial<RawPod['spec']>;
  } = {},
): Pod {
  const raw: RawPod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(uid !== undefined && { uid }),
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
    },
    spec: { containers: [{ name: 'main', image: 'registry.example/app:1' }], ...spec },
  };
  return toStaticPod(raw, { nodeName: 'edge1', source: 'file', origin: `/manifests/${name}.yaml`, hash: podUIDHash });
}
