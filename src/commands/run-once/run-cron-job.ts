import { existsSync } from 'node:fs';
import type { Pod } from '../../api/types.ts';
import type { EngineSnapshot, WorkloadSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { podResult, runExitCode } from '../../node/run-once/pod-result.ts';
import type { RunOnceRequest, RunOnceResult } from '../../node/run-once/run-once-node.ts';
import { exitCodes, type PodOutcome, podOutcome } from '../../node/run-once/run-once-outcome.ts';
import { type AgentSocket, fetchSnapshot, operateWorkload } from '../../server/control/control-client.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { snapshotsAtEvents } from '../../server/control/snapshots-at-events.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { timeLimit } from '../io/time-limit.ts';
import { patientSocket } from '../io/patient-socket.ts';
import { knownWorkloads, podsOfRun, workloadAt, workloadNamed } from '../objects/find-workload.ts';
import { notFound } from '../objects/not-found.ts';
import { JobOutput, type OutputRequest } from './job-output.ts';

/** Throws a `UserError` if an arg names a workload that does not run once, such as `deploy/web`, and no file. */
export function refuseOtherWorkloads(args: readonly string[]): void {
  for (const arg of args) {
    const { kind, name = '' } = existsSync(arg) ? {} : (workloadNamed(arg) ?? {});
    if (kind === undefined || kind === 'CronJob') continue;
    const named = visible(`${kind.toLowerCase()}/${name}`);
    const hint =
      kind === 'Job'
        ? `Run its failed pods again: kubelet-ts retry ${named}`
        : `Restart it: kubelet-ts restart ${named}`;
    throw new UserError(`run-once runs manifests or a CronJob, and ${visible(arg)} is neither`, { hint });
  }
}

/** Returns true for `cronjob/NAME` or `cj/NAMESPACE/NAME`, unless there is a file of this name. */
export function namesCronJob(word: string): boolean {
  return /^(cj|cronjobs?(\.batch)?)\/[^/]+(\/[^/]+)?$/i.test(word) && !existsSync(word);
}

interface Request extends OutputRequest, Pick<RunOnceRequest, 'timeoutMs' | 'interrupted' | 'allLogs'> {}

/**
 * Has the agent run a declared CronJob now, shows the output of its pods, and waits until its Job has finished. An
 * interrupt and the time-out stop the wait, not the run. Rejects with a `UserError` then, if no agent runs, or if none
 * declares it.
 */
export async function runCronJob(word: string, request: Request, deps: CommandDeps): Promise<RunOnceResult> {
  const { rootDir, timeoutMs, interrupted, stderr } = request;
  const socket = patientSocket(controlSocketPath(rootDir), deps.stderr);
  const snapshot = await fetchSnapshot(socket, { settled: true });
  if (snapshot === undefined) throw noAgent(rootDir, { orElse: 'Or name its file: kubelet-ts run-once FILE.' });
  const [kind = '', ...path] = word.split('/');
  const [name = '', namespace] = path.reverse();
  const cron = workloadAt(snapshot, `${kind}/${name}`, namespace);
  if (cron === undefined) throw notFound({ kind: 'CronJob', name }, knownWorkloads(snapshot));
  const job = await operateWorkload(socket, cron, 'run');
  if (job === undefined) throw new UserError('kubelet-ts exited');
  stderr.write(`${visible(`job.batch/${job} created`)}\n`);
  const output = new JobOutput(request, deps);
  const timedOut = timeLimit(timeoutMs);
  const signal = AbortSignal.any([interrupted, timedOut]);
  const cut = { interrupted, timedOut };
  const { result, pods } = await finishedJob({ cron, job }, socket, { signal, output }).catch(
    async (error: unknown) => {
      await output.end(signal);
      if (!signal.aborted) throw error;
      throw new UserError(`job ${visible(job)} still runs`, {
        exitCode: interrupted.aborted ? exitCodes.interrupted : exitCodes.timedOut,
        hint: `Check it: kubelet-ts describe job/${visible(job)}`,
      });
    },
  );
  await output.shown(pods, cut);
  const results = await Promise.all(
    pods.map((pod) => podResult(pod, outcomeOf(pod, job), { ...request, podLogsDir: output.podLogsDir })),
  );
  const isShown = await output.end(signal);
  stderr.write(`${visible(`job.batch/${job} ${result === 'Complete' ? 'completed' : 'failed'}`)}\n`);
  const outcomes = result === 'Complete' ? [] : [...results, failedJob];
  const exitCode = runExitCode(outcomes, { deciding: undefined, isRemoved: true, isShown });
  return { results, unremoved: [], exitCode, isLogPrefixed: output.hasPrefixes };
}

/** Counts if no pod failed by itself. */
const failedJob: PodOutcome = { outcome: 'failed', exitCode: 1, message: '' };

/** A pod without an outcome was stopped with its Job, for example at a deadline. */
const outcomeOf = (pod: Pod, job: string): PodOutcome =>
  podOutcome(pod, { until: 'completed' }) ?? { ...failedJob, message: `stopped with job ${job}` };

/** Shows the output of the Job until it has finished. Rejects if the agent exits, and if the signal is aborted. */
async function finishedJob(
  { cron, job }: { cron: WorkloadSnapshot; job: string },
  socket: AgentSocket,
  { signal, output }: { signal: AbortSignal; output: JobOutput },
): Promise<{ result: 'Complete' | 'Failed'; pods: Pod[] }> {
  let hasBegun = false;
  let pods: Pod[] = [];
  for await (const snapshot of snapshotsAtEvents(socket, signal)) {
    const known = cronJobIn(snapshot, cron);
    const run = known?.cronJob?.jobs.find(({ name }) => name === job);
    if (known === undefined || (hasBegun && run === undefined)) {
      throw new UserError(`job ${visible(job)} was removed before its result was read`);
    }
    hasBegun = run !== undefined;
    const current = podsOfRun(snapshot, known, job).map(({ pod }) => pod);
    // Those of a finished Job may be removed at once.
    if (current.length > 0) pods = current;
    await output.show(pods, { isSingle: run?.completions === 1 });
    if (run?.finishedAt !== undefined && run.result !== undefined) return { result: run.result, pods };
  }
  throw new UserError(`kubelet-ts exited before job ${visible(job)} had finished`);
}

const cronJobIn = ({ workloads = [] }: EngineSnapshot, cron: WorkloadSnapshot): WorkloadSnapshot | undefined =>
  workloads.find(
    ({ kind, namespace, name }) => kind === cron.kind && namespace === cron.namespace && name === cron.name,
  );
