import { podKey } from '../../api/values/pod-names.ts';
import { nearestName } from '../../api/text/nearest-name.ts';
import { UserError } from '../../errors.ts';
import { fetchSnapshot } from '../../server/control/control-client.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { podsMeant } from './pods-meant.ts';

/**
 * The pods that these references mean, of the agent on this root-dir. Rejects with a `UserError` if no agent runs, or
 * if a reference means no pod or several.
 */
export async function podsOfAgent(
  rootDir: string,
  references: readonly string[],
  namespace: string | undefined,
): Promise<{ namespace: string; name: string }[]> {
  const snapshot = await fetchSnapshot(controlSocketPath(rootDir), { settled: true });
  if (snapshot === undefined) throw noAgent(rootDir);
  const { nodeName, pods } = snapshot;
  return references.map((pod) => {
    const found = podsMeant(pods, { pod, namespace, nodeName }, (listed) => listed.pod.metadata);
    const names = new Map(found.map(({ pod: { metadata } }) => [podKey(metadata), metadata]));
    const [first] = names.values();
    if (first !== undefined && names.size === 1) return { namespace: first.namespace, name: first.name };
    if (first !== undefined) {
      const list = [...names.keys()].join(', ');
      throw new UserError(`several pods match "${pod}": ${list}`, { hint: 'Name one as namespace/name.' });
    }
    const near = nearestName(
      pod,
      pods.map((listed) => listed.pod.metadata.name),
    );
    const hint = near === undefined ? 'kubelet-ts ps lists the pods.' : `Did you mean ${near}?`;
    throw new UserError(`no pod "${pod}"`, { hint });
  });
}
