import type { WorkloadAction } from '../../engine/workloads/workload-operations.ts';
import type { WorkloadSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { type AgentSocket, fetchSnapshot, operateWorkload } from '../../server/control/control-client.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import type { CommandDeps } from '../io/deps.ts';
import { patientSocket } from '../io/patient-socket.ts';
import { findWorkload } from '../objects/find-workload.ts';
import { joinKind } from '../objects/kind-and-name.ts';

export interface WorkloadFlags {
  rootDir: string;
  namespace?: string;
}

interface Operation {
  action: WorkloadAction;
  options?: { replicas?: number; to?: number };
  shown: (workload: WorkloadSnapshot, done: string) => string;
}

/** Finds the workloads that the args name. Rejects with a `UserError` if no agent runs, or a word matches none. */
export async function workloadsNamed(
  args: readonly string[],
  { rootDir, namespace }: WorkloadFlags,
  { stderr }: CommandDeps,
): Promise<{ socket: AgentSocket; workloads: WorkloadSnapshot[] }> {
  const socket = patientSocket(controlSocketPath(rootDir), stderr);
  const snapshot = await fetchSnapshot(socket, { settled: true });
  if (snapshot === undefined) throw noAgent(rootDir);
  return { socket, workloads: joinKind(args).map((word) => findWorkload(snapshot, word, namespace)) };
}

/** Finds all workloads before the first action, so that a wrong name changes nothing. Prints a line for each. */
export async function operateWorkloads(
  args: readonly string[],
  flags: WorkloadFlags,
  deps: CommandDeps,
  { action, options, shown }: Operation,
): Promise<void> {
  const { socket, workloads } = await workloadsNamed(args, flags, deps);
  for (const workload of workloads) {
    const done = await operateWorkload(socket, workload, action, options);
    if (done === undefined) throw new UserError('kubelet-ts exited');
    deps.stdout.write(`${shown(workload, done)}\n`);
  }
}
