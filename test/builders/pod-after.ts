import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import type { Pod, RawPod } from '../../src/api/types.ts';
import { makeStaticPod } from './static-pod.ts';

/**
 * A static pod that has its name as its UID and waits for others as `dependsOn` says. If that is empty, it waits for
 * none.
 */
export function podAfter(
  name: string,
  dependsOn: string,
  more: { namespace?: string; spec?: Partial<RawPod['spec']> } = {},
): Pod {
  const annotations = dependsOn === '' ? undefined : { [dependsOnAnnotation]: dependsOn };
  return makeStaticPod(name, { uid: name, ...(annotations && { annotations }), ...more });
}
