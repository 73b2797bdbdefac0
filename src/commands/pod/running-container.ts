import { podKey } from '../../api/values/pod-names.ts';
import { UserError } from '../../errors.ts';
import type { CommandDeps } from '../io/deps.ts';
import type { OpenPod } from './open-pod.ts';
import { defaultContainer, hasBegun, isRunning, namedContainer } from './select-pod.ts';

/**
 * Name and id of the running container for a command: the named one, or the default one of the pod with a message on
 * stderr. Throws a `UserError` with the reason if it is not running.
 */
export function runningContainer(
  { stderr }: Pick<CommandDeps, 'stderr'>,
  { pod, notStartedBecause, awaitedInit }: OpenPod,
  name: string | undefined,
): { name: string; id: string } {
  const { container, note } =
    name === undefined ? defaultContainer(pod) : { container: namedContainer(pod, name), note: '' };
  stderr.write(note);
  const [newest] = container.attempts;
  if (newest !== undefined && isRunning(container)) return { name: container.name, id: newest.id };
  const reason = notStartedBecause(container.name);
  const because = reason === undefined ? '' : `: ${reason}`;
  const shown = hasBegun(container) ? container : awaitedInit(container.name);
  throw new UserError(`container "${container.name}" of pod ${podKey(pod)} is not running${because}`, {
    hint:
      shown === undefined
        ? `Show its events: kubelet-ts describe ${podKey(pod)}`
        : `Show ${shown === container ? 'its' : 'that'} output: kubelet-ts logs ${podKey(pod)} -c ${shown.name}`,
  });
}
