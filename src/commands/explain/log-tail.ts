import type { Pod } from '../../api/types.ts';
import { runtimeContainerID } from '../../api/values/container-statuses.ts';
import { type Part, partsOf } from '../../engine/explain/subject.ts';
import type { Explanation, Stage } from '../../engine/explain/explanation.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import type { CommandDeps } from '../io/deps.ts';
import { lastLines } from '../pod/last-lines.ts';
import type { PodFlags } from '../pod/open-pod.ts';

/**
 * The last lines of the container that an explanation is about, by its name. Resolves with undefined if its output
 * cannot be the cause, or if its log cannot be read.
 */
export async function logTail(
  deps: CommandDeps,
  flags: PodFlags,
  pod: Pod,
  { stage, container: name }: Explanation,
): Promise<Record<string, string> | undefined> {
  const part = partsOf(pod).find(({ container }) => container.name === name);
  const containerId = runtimeContainerID(part && explainingID(stage, part));
  if (name === undefined || containerId === '') return undefined;
  try {
    return await withRuntime(deps.connect(flags), async ({ runtime }) => {
      const { status } = await runtime.containerStatus({ containerId });
      return { [name]: await lastLines(status?.logPath ?? '') };
    });
  } catch {
    // The explanation is as good without it: the way out names the command that prints the log.
    return undefined;
  }
}

/** The id of the instance whose output may explain this stage. */
function explainingID(stage: Stage, { status }: Part): string | undefined {
  const { state, lastState } = status ?? {};
  if (ofEnded.includes(stage)) return (state?.terminated ?? lastState?.terminated)?.containerID;
  return ofRunning.includes(stage) && state?.running ? status?.containerID : undefined;
}

const ofEnded: readonly Stage[] = ['back-off', 'finished'];
const ofRunning: readonly Stage[] = ['start', 'probe'];
