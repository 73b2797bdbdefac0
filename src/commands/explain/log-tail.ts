import type { Pod } from '../../api/types.ts';
import { runtimeContainerID } from '../../api/values/container-statuses.ts';
import { partsOf } from '../../engine/explain/subject.ts';
import type { Explanation } from '../../engine/explain/explanation.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import type { CommandDeps } from '../io/deps.ts';
import type { PodFlags } from '../pod/open-pod.ts';

/** The last lines of a container are enough to see the cause of its end. */
const tailLines = 5;
const tailBytes = 16 * 1024;
const timeoutMs = 2000;

/**
 * The last lines of the container that an explanation is about, by its name. Resolves with undefined if it has not
 * ended, or if its log cannot be read.
 */
export async function logTail(
  deps: CommandDeps,
  flags: PodFlags,
  pod: Pod,
  { stage, container: name }: Explanation,
): Promise<Record<string, string> | undefined> {
  const part = partsOf(pod).find(({ container }) => container.name === name);
  const { state, lastState } = part?.status ?? {};
  const containerId = runtimeContainerID((state?.terminated ?? lastState?.terminated)?.containerID);
  if (stage !== 'back-off' || name === undefined || containerId === '') return undefined;
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

async function lastLines(path: string): Promise<string> {
  const { readLogs } = await import('../../engine/logs/read-logs.ts');
  const pieces: Buffer[] = [];
  const options = { path, tailLines, tailBytes, limitBytes: tailBytes, signal: AbortSignal.timeout(timeoutMs) };
  await readLogs(options, (bytes) => {
    pieces.push(Buffer.from(bytes));
    return Promise.resolve();
  });
  return Buffer.concat(pieces).toString('utf8');
}
