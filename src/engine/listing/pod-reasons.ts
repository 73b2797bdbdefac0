import { boundedText } from '../../bounded-text.ts';
import { humanDuration } from '../../api/values/pod-printer.ts';
import type { EngineSnapshot } from '../view/snapshot.ts';
import type { ListedPod, ShownPod } from './shown-revisions.ts';

/** Longest reason where no terminal bounds it, in characters. */
const maxReasonLength = 200;

/**
 * Why each pod is not Ready, in one line as by `explain`. Empty for a pod that is well, and without an agent. Loads the
 * explanations only if a pod needs one.
 */
export async function podReasons(
  pods: readonly ShownPod[],
  node: EngineSnapshot | undefined,
  now: number,
): Promise<string[]> {
  if (node === undefined || pods.every((shown) => isWell(shown, node))) return pods.map(() => '');
  const { explainPod } = await import('../explain/explain-pod.ts');
  return pods.map((shown) => {
    if (isWell(shown, node)) return '';
    const { listed, update } = shown;
    const { stage, cause, ways, nextTryAt } = explainPod({ ...(update ?? listed), node });
    if (stage === 'running' || (stage === 'finished' && ways.length === 0)) return '';
    const next = nextTryAt === undefined || nextTryAt <= now ? '' : `; next try in ${humanDuration(nextTryAt - now)}`;
    return boundedText(`${update === undefined ? '' : 'its update: '}${cause}${next}`, maxReasonLength);
  });
}

/** True if nothing about the pod needs an explanation. */
function isWell({ listed, update }: ShownPod, node: EngineSnapshot): boolean {
  if (update !== undefined || listed.waitingUpdate !== undefined || node.runtime.error !== undefined) return false;
  return isReady(listed) && !hasManifestError(listed, node);
}

function isReady({ pod, worker }: ListedPod): boolean {
  if (pod.status?.phase === 'Succeeded') return true;
  if (pod.status?.phase !== 'Running' || worker?.state !== 'sync') return false;
  return pod.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

function hasManifestError({ pod }: ListedPod, { sources }: EngineSnapshot): boolean {
  const { namespace, name } = pod.metadata;
  return sources.some(({ problems }) =>
    problems.some(
      ({ severity, lastGoodPods = [], message }) =>
        severity === 'error' &&
        (lastGoodPods.some((one) => one.namespace === namespace && one.name === name) ||
          message.startsWith(`Pod ${namespace}/${name} is declared `)),
    ),
  );
}
