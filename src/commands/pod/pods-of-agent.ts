import type { Writable } from 'node:stream';
import type { Pod } from '../../api/types.ts';
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
import { podsOfWord } from '../objects/find-workload.ts';
import { joinKind, kindAndName } from '../objects/kind-and-name.ts';
import { resolvePods, withoutPodKind } from './resolve-pods.ts';
import { unknownWorkload } from '../objects/unknown-workload.ts';
import { unknownPodHint } from '../objects/refused-manifest.ts';

/** Flags that select pods instead of names. */
export interface PodSelection {
  namespace?: string;
  all?: boolean;
  selector?: string;
  /** Which pods of a workload, or of all, are selected. A pod that is named always is. Defaults to all. */
  isConcerned?: (pod: Pod) => boolean;
}

/**
 * The pods of the agent on this root-dir that the args or flags select. Rejects with a `UserError` if no agent runs, if
 * a name matches no pod or several, and unless either names or flags select pods.
 */
export async function podsOfAgent(
  rootDir: string,
  args: readonly string[],
  choice: PodSelection,
  stderr: Writable,
): Promise<PodRef[]> {
  const { namespace, all = false, selector, isConcerned = () => true } = choice;
  const isOfAll = all || selector !== undefined;
  const names = joinKind(withoutPodKind(args, isOfAll));
  if (isOfAll === names.length > 0)
    throw new UserError(isOfAll ? 'name pods, or use --all or -l, not both' : 'name pods, or use --all or -l');
  const isSelected = selector === undefined ? () => true : parseLabelSelector(selector);
  const snapshot = await fetchSnapshot(patientSocket(controlSocketPath(rootDir), stderr), { settled: true });
  if (snapshot === undefined) throw noAgent(rootDir);
  if (!isOfAll) return podsNamed(snapshot, names, namespace, isConcerned);
  const chosen = snapshot.pods
    .filter(({ replacedBy, worker }) => replacedBy === undefined && worker.state !== 'terminated')
    .filter(({ pod }) => isConcerned(pod))
    .map(({ pod: { metadata } }) => metadata)
    .filter((one) => (namespace === undefined || one.namespace === namespace) && isSelected(one.labels ?? {}));
  const byKey = new Map(chosen.map((one) => [podKey(one), refOf(one)]));
  return [...byKey.values()];
}

/** A workload, such as `deploy/web`, or a run of a CronJob means all its pods. */
async function podsNamed(
  snapshot: EngineSnapshot,
  args: readonly string[],
  namespace: string | undefined,
  isConcerned: (pod: Pod) => boolean,
): Promise<PodRef[]> {
  const found = args.map(async (word) => {
    const pods = podsOfWord(snapshot, word, namespace)?.map(({ pod }) => pod);
    if (pods === undefined) return [await podNamed(snapshot, word, namespace)];
    const [first] = pods;
    if (first === undefined) throw hasNoPods(word);
    const chosen = pods.filter(isConcerned);
    if (chosen.length > 0) return chosen.map(({ metadata }) => refOf(metadata));
    throw new UserError(`all pods of ${visible(word)} have finished`, {
      hint: `Run one of them again: kubelet-ts retry ${visible(first.metadata.name)}`,
    });
  });
  return (await Promise.all(found)).flat();
}

function hasNoPods(word: string): UserError {
  const isCronJob = kindAndName(word)?.kind === 'CronJob';
  const hint = isCronJob ? `Run it now: kubelet-ts run-once ${word}` : `Find out why: kubelet-ts describe ${word}`;
  return new UserError(visible(`${word} has no pods`), { hint: visible(hint) });
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
