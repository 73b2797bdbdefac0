import { boundedText } from '../../text/bounded-text.ts';
import { humanDuration } from '../../api/values/duration.ts';
import { isWell } from '../view/is-well.ts';
import type { EngineSnapshot } from '../view/snapshot.ts';
import type { ShownPod } from './shown-revisions.ts';

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
  if (node === undefined || pods.every((shown) => isShownWell(shown, node))) return pods.map(() => '');
  const { explainPod } = await import('../explain/explain-pod.ts');
  return pods.map((shown) => {
    if (isShownWell(shown, node)) return '';
    const { listed, update } = shown;
    const { stage, cause, ways, nextTryAt } = explainPod({ ...(update ?? listed), node });
    if (stage === 'running' || (stage === 'finished' && ways.length === 0)) return '';
    const next = nextTryAt === undefined || nextTryAt <= now ? '' : `; next try in ${humanDuration(nextTryAt - now)}`;
    return boundedText(`${update === undefined ? '' : 'its update: '}${cause}${next}`, maxReasonLength);
  });
}

/** True if neither the pod nor its update needs an explanation. */
function isShownWell({ listed, update }: ShownPod, node: EngineSnapshot): boolean {
  return update === undefined && isWell(listed, node);
}
