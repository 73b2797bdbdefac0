import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import type { Pod, RawPod } from '../../src/api/types.ts';
import { makeStaticPod } from './static-pod.ts';

/** A static pod with its name for UID, that waits for others as `dependsOn` says; empty: for none. */
export function podAfter(
  name: string,
  dependsOn: string,
  more: { namespace?: string; spec?: Partial<RawPod['spec']> } = {},
): Pod {
  const annotations = dependsOn === '' ? undefined : { [dependsOnAnnotation]: dependsOn };
  return makeStaticPod(name, { uid: name, ...(annotations && { annotations }), ...more });
}
