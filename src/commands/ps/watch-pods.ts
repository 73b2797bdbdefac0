import { systemClock } from '../../clock.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { fetchSnapshot, followEvents } from '../../server/control/control-client.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import type { CommandDeps } from '../io/deps.ts';
import { waitForNextAgent } from '../pod/wait-for-next-agent.ts';
import type { ListedPod } from '../../engine/listing/shown-revisions.ts';

/** Minimum milliseconds between two snapshots of an agent with many events. */
const pauseMs = 200;

/** The chosen pods of a snapshot, and a function that formats some of them. */
interface PodTable {
  pods: readonly ListedPod[];
  text: (pods: readonly ListedPod[]) => Promise<string>;
}

/**
 * Prints all pods, then each pod that changed, at every event of the agent and of its successors. Resolves when the
 * output is closed. Rejects with a `UserError` if no agent runs.
 */
export async function watchPods(
  { rootDir }: { rootDir: string },
  { stdout, stderr }: CommandDeps,
  select: (snapshot: EngineSnapshot, isFirst: boolean) => Promise<PodTable>,
): Promise<void> {
  const socket = controlSocketPath(rootDir);
  const done = new AbortController();
  // The reader of our output closed it.
  stdout.once('error', () => {
    done.abort();
  });
  const seen = new Map<string, string>();
  const print = async (snapshot: EngineSnapshot, isFirst: boolean): Promise<void> => {
    const { pods, text } = await select(snapshot, isFirst);
    const changed = pods.filter((listed) => isNew(seen, listed));
    if (isFirst || changed.length > 0) stdout.write(await text(changed));
  };
  const { signal } = done;
  let isFirst = true;
  do {
    const nextChange = watchChanges(socket, signal);
    do {
      const snapshot = await fetchSnapshot(socket, { waits: !isFirst });
      if (snapshot === undefined && isFirst) throw noAgent(rootDir);
      if (snapshot === undefined) break;
      await print(snapshot, isFirst);
      isFirst = false;
    } while ((await nextChange()) && (await pause(signal)));
  } while (!signal.aborted && (await waitForNextAgent(socket, { stderr, signal })));
}

/** Returns false if the signal was aborted. */
async function pause(signal: AbortSignal): Promise<boolean> {
  await systemClock.sleep(pauseMs, { signal }).catch(() => undefined);
  return !signal.aborted;
}

/** Records the pod in `seen`. Returns true if it differs from the last time. */
function isNew(seen: Map<string, string>, { pod, rejection, replacedBy, worker, ...rest }: ListedPod): boolean {
  const { uid } = pod.metadata;
  const { waitingUpdate, restarting } = rest;
  const shown = [pod.status, rejection, replacedBy, worker?.state, worker?.lastSyncError, waitingUpdate, restarting];
  const text = JSON.stringify(shown);
  if (seen.get(uid) === text) return false;
  seen.set(uid, text);
  return true;
}

/** Returns a function that waits for events since its last call. It resolves with false once the agent has exited. */
function watchChanges(socket: string, signal: AbortSignal): () => Promise<boolean> {
  let hasChanged = false;
  let hasEnded = false;
  let wake = (): void => undefined;
  void (async () => {
    for await (const event of followEvents(socket, signal)) {
      if (event.type === 'SyncStarted' || event.type === 'PullProgressed') continue;
      hasChanged = true;
      wake();
    }
  })()
    .catch(() => undefined)
    .finally(() => {
      hasEnded = true;
      wake();
    });
  return async () => {
    if (!hasChanged && !hasEnded) await new Promise<void>((resolve) => (wake = resolve));
    hasChanged = false;
    return !hasEnded;
  };
}
