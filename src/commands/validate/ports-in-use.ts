import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { describeListener, findPortListeners, listenerHint } from '../../engine/network/port-listeners.ts';

/** A warning for each host port on which a program of this machine listens. */
export async function portsInUse({ where, pods }: Pick<SourceUpdate, 'where' | 'pods'>): Promise<ManifestProblem[]> {
  const found = await Promise.all(
    pods.map(async (pod) => ({ name: pod.metadata.name, listeners: await findPortListeners(pod) })),
  );
  return found.flatMap(({ name, listeners }) =>
    listeners.map((listener) => ({
      origin: where,
      field: listener.field,
      message: `pod ${name}: ${describeListener(listener)}`,
      hint: listenerHint,
      severity: 'warning' as const,
    })),
  );
}
