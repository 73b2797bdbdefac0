import { isReplicatedKind } from '../../api/values/workload.ts';
import { appliedName } from '../../engine/applied/applied-object.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { EngineSnapshot, WorkloadSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { type AgentSocket, fetchSnapshot, operateWorkload } from '../../server/control/control-client.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { workloadNamed, podsOfWorkload, workloadAt } from '../objects/find-workload.ts';
import { joinKind } from '../objects/kind-and-name.ts';
import type { WorkloadFlags } from './operate-workloads.ts';
import { waitForRollOut } from './wait-for-roll-out.ts';

/**
 * Splits the args of `restart`: workloads such as `deploy/web`, whose pods are replaced in a rollout, and all others,
 * which restart in place, as do single containers. Rejects with a `UserError` for a Job or a CronJob, and if a pod of a
 * workload is stopped, because its rollout would wait.
 */
export async function workloadsToRestart(
  args: readonly string[],
  { rootDir, namespace, container }: WorkloadFlags & { container?: string },
  socket: AgentSocket,
): Promise<{ workloads: WorkloadSnapshot[]; others: string[] }> {
  const joined = joinKind(args);
  if (!joined.some((word) => word.includes('/'))) return { workloads: [], others: joined };
  const snapshot = await fetchSnapshot(socket, { settled: true });
  if (snapshot === undefined) throw noAgent(rootDir);
  for (const word of joined) refuseJob(snapshot, word);
  if (container !== undefined) return { workloads: [], others: joined };
  const found = joined.map((word) => ({ word, workload: workloadAt(snapshot, word, namespace) }));
  const workloads = found.flatMap(({ workload }) => (workload && hasRollouts(workload) ? [workload] : []));
  for (const workload of workloads) refuseStopped(snapshot, workload);
  return {
    workloads,
    others: found.flatMap(({ word, workload }) => (workload && hasRollouts(workload) ? [] : [word])),
  };
}

/** Restarts each workload as `rollout restart` does. Waits until its pods are replaced, if `isWaiting`. */
export async function restartWorkloads(
  workloads: readonly WorkloadSnapshot[],
  socket: AgentSocket,
  deps: CommandDeps,
  wait: { isWaiting: boolean; timeoutMs: number | undefined },
): Promise<void> {
  for (const workload of workloads) {
    const done = await operateWorkload(socket, workload, 'restart');
    if (done === undefined) throw new UserError('kubelet-ts exited');
    deps.stdout.write(`${visible(`${appliedName(workload)} ${done}`)}\n`);
    if (wait.isWaiting) await waitForRollOut(workload, socket, deps, wait);
  }
}

const hasRollouts = ({ kind, conditions }: WorkloadSnapshot): boolean =>
  isReplicatedKind(kind) && !conditions.some(({ reason }) => reason === 'OnDelete');

/** A restart would run what is done again. kubectl refuses it too. */
function refuseJob({ pods }: EngineSnapshot, word: string): void {
  const { kind, name = '' } = workloadNamed(word) ?? {};
  // A namespace may have the name of a kind.
  if (pods.some(({ pod }) => pod.metadata.namespace === word.split('/')[0])) return;
  if (kind === 'CronJob')
    throw new UserError('a CronJob cannot be restarted', {
      hint: `Run it now: kubelet-ts run-once cronjob/${visible(name)}`,
    });
  if (kind === 'Job')
    throw new UserError('a Job cannot be restarted', {
      hint: `Run its failed pods again: kubelet-ts retry job/${visible(name)}`,
    });
}

function refuseStopped(snapshot: EngineSnapshot, workload: WorkloadSnapshot): void {
  const stopped = podsOfWorkload(snapshot, workload).find(({ pod }) => pod.status?.reason === reasons.stopped);
  if (stopped === undefined) return;
  const name = visible(stopped.pod.metadata.name);
  throw new UserError(`pod ${name} of ${visible(appliedName(workload))} is stopped`, {
    hint: `Start it: kubelet-ts start ${name}`,
  });
}
