import type { ConfigObject } from '../../api/values/config-object.ts';
import type { Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';

/** Returns the values of the Secrets among these objects. */
export function secretsOf(objects: readonly ConfigObject[]): Uint8Array[] {
  return objects.flatMap((object) => (object.kind === 'Secret' ? [...object.data.values()] : []));
}

/**
 * Returns public names in the manifests of these pods. Messages about the pods need them, so they are never redacted.
 */
export function publicNames(pods: readonly Pod[]): string[] {
  return pods.flatMap(({ metadata: { name, namespace }, spec }) => [
    name,
    namespace,
    ...(spec.nodeName === undefined ? [] : [spec.nodeName]),
    ...(spec.volumes ?? []).map((volume) => volume.name),
    ...initAndRegularContainers(spec).flatMap((container) => [
      container.name,
      ...(container.image === undefined ? [] : [container.image]),
    ]),
  ]);
}
