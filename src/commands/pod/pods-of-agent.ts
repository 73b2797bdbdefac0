import type { Writable } from 'node:stream';
import { parseLabelSelector } from '../../api/values/label-selector.ts';
import { podKey, type PodRef } from '../../api/values/pod-names.ts';
import { nearestName } from '../../api/text/nearest-name.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { fetchSnapshot } from '../../server/control/control-client.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { visible } from '../../text/visible-text.ts';
import { patientSocket } from '../io/patient-socket.ts';
import { podsOfWorkload, workloadAt, workloadWords } from './find-workload.ts';
import { resolvePods, withoutPodKind } from './resolve-pods.ts';
import { unknownWorkload } from './unknown-workload.ts';
import { unknownPodHint } from './refused-manifest.ts';

/** Flags that select pods instead of names. */
export interface PodSelection {
  namespace?: string;
  all?: boolean;
  selector?: string;
}

/**
 * The pods of the agent on this root-dir that the args or flags select. Rejects with a `UserError` if no agent runs, if
 * a name matches no pod or several, and unless either names or flags select pods.
 */
export async function podsOfAgent(
  rootDir: string,
  words: readonly string[],
  choice: PodSelection,
  stderr: Writable,
): Promise<PodRef[]> {
  const { namespace, all = false, selector } = choice;
  const isOfAll = all || selector !== undefined;
  const names = workloadWords(withoutPodKind(words, isOfAll));
  if (isOfAll === names.length > 0)
    throw new UserError(isOfAll ? 'name pods, or use --all or -l, not both' : 'name pods, or use --all or -l');
  const isSelected = selector === undefined ? () => true : parseLabelSelector(selector);
  const snapshot = await fetchSnapshot(patientSocket(controlSocketPath(rootDir), stderr), { settled: true });
  if (snapshot === undefined) throw noAgent(rootDir);
  if (!isOfAll) return podsNamed(snapshot, names, namespace);
  const chosen = snapshot.pods
    .filter(({ replacedBy, worker }) => replacedBy === undefined && worker.state !== 'terminated')
    .map(({ pod: { metadata } }) => metadata)
    .filter((one) => (namespace === undefined || one.namespace === namespace) && isSelected(one.labels ?? {}));
  const byKey = new Map(chosen.map((one) => [podKey(one), refOf(one)]));
  return [...byKey.values()];
}

/** A workload, such as `deploy/web`, means all its pods. */
async function podsNamed(
  snapshot: EngineSnapshot,
  words: readonly string[],
  namespace: string | undefined,
): Promise<PodRef[]> {
  const found = words.map(async (word) => {
    const workload = workloadAt(snapshot, word, namespace);
    if (workload === undefined) return [await podNamed(snapshot, word, namespace)];
    const pods = podsOfWorkload(snapshot, workload).map(({ pod: { metadata } }) => metadata);
    if (pods.length === 0) throw new UserError(`${visible(word)} has no pods`);
    return pods.map(refOf);
  });
  return (await Promise.all(found)).flat();
}

const refOf = ({ namespace, name, uid }: PodRef): PodRef => ({ namespace, name, uid });

async function podNamed(snapshot: EngineSnapshot, pod: string, namespace: string | undefined): Promise<PodRef> {
  const { nodeName, pods } = snapshot;
  const found = resolvePods(pods, { pod, namespace, nodeName }, (listed) => listed.pod.metadata);
  const names = new Map(found.map(({ pod: { metadata } }) => [podKey(metadata), metadata]));
  const [first] = names.values();
  if (first !== undefined && names.size === 1) return refOf(first);
  if (first !== undefined) {
    const list = [...names.keys()].join(', ');
    throw new UserError(`several pods match "${pod}": ${list}`, { hint: 'Name one as namespace/name.' });
  }
  const workload = await unknownWorkload(pod, namespace, snapshot);
  if (workload !== undefined) throw workload;
  const near = nearestName(
    pod,
    pods.map((listed) => listed.pod.metadata.name),
  );
  const hint = (await unknownPodHint({ pod, namespace }, snapshot, near)) ?? 'kubelet-ts ps lists the pods.';
  throw new UserError(`no pod "${pod}"`, { hint });
}
