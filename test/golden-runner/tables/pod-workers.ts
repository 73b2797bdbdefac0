import type { Pod } from '../../../src/api/types.ts';
import { systemClock } from '../../../src/clock.ts';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import type { PodSyncer } from '../../../src/engine/pod-workers/pod-worker.ts';
import { PodWorkers } from '../../../src/engine/pod-workers/pod-workers.ts';
import { NetworkNotReadyError } from '../../../src/engine/pod-workers/sync-pod-error.ts';
import type { SyncPodType } from '../../../src/engine/pod-workers/update-pod-options.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { tableAdapter } from '../table-adapter.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

type Outcome = 'ok' | 'error' | 'terminal' | 'networkNotReady' | 'untilCancelled';
type Kind = 'sync' | 'terminating' | 'terminatingRuntime' | 'terminated';
interface Step {
  op: 'update' | 'syncKnownPods';
  type?: SyncPodType;
  pod?: Pod;
  runningPod?: { uid: string; name: string };
  kill?: { evict?: boolean; override?: number };
  desired?: Pod[];
}
interface In {
  running: string[];
  results: Record<string, Partial<Record<Kind, Outcome[]>>>;
  steps: Step[];
}
interface StepOut {
  calls: Record<string, object[]>;
  queue: Record<string, string[]>;
  known?: Record<string, object>;
  state: Record<string, string[]>;
}

export const podWorkers = tableAdapter<In>('pod-workers', async (input) => ({ steps: await replay(input) }));

async function replay(input: In): Promise<StepOut[]> {
  let now: StepOut = { calls: {}, queue: {}, state: {} };
  const results = structuredClone(input.results);
  const record = async (uid: string, kind: Kind, call: object, signal: AbortSignal): Promise<boolean> => {
    (now.calls[uid] ??= []).push(call);
    const outcome = results[uid]?.[kind]?.shift() ?? 'ok';
    if (outcome === 'error') throw new Error('made to fail');
    if (outcome === 'networkNotReady') throw new NetworkNotReadyError('network is not ready');
    if (outcome === 'untilCancelled') await untilAborted(signal);
    return outcome === 'terminal';
  };
  const syncer: PodSyncer = {
    syncPod: (type, pod, _status, signal) =>
      record(pod.metadata.uid, 'sync', { call: 'sync', type, image: pod.spec.containers[0]?.image }, signal),
    syncTerminatingPod: async (pod, _status, gracePeriodSeconds, signal) => {
      const call = { call: 'terminating', gracePeriodSeconds: gracePeriodSeconds ?? null };
      await record(pod.metadata.uid, 'terminating', call, signal);
    },
    syncTerminatingRuntimePod: async ({ uid }, signal) => {
      await record(uid, 'terminatingRuntime', { call: 'terminatingRuntime' }, signal);
    },
    syncTerminatedPod: async (pod, _status, signal) => {
      await record(pod.metadata.uid, 'terminated', { call: 'terminated' }, signal);
    },
  };
  const status = (uid: string): RuntimePodStatus => ({
    uid,
    name: '',
    namespace: '',
    ips: [],
    containerStatuses: [],
    sandboxStatuses: input.running.includes(uid)
      ? [{ id: 's', attempt: 0, state: 'ready', createdAt: 0, networkMode: 'pod', ip: null }]
      : [],
  });
  const workers = new PodWorkers({
    faults: silentFaults(),
    syncer,
    syncFrequencyMs: 60_000,
    getNewerThan: (uid) => Promise.resolve(status(uid)),
    getCached: status,
    enqueue: (uid, delayMs) => {
      (now.queue[uid] ??= []).push(queueName(delayMs));
    },
    onNameFreed: () => undefined,
    clock: systemClock,
    random: () => 0.5,
    logger: silentLogger,
    emit: () => undefined,
  });
  const seen = new Set<string>();
  const steps: StepOut[] = [];
  for (const step of input.steps) {
    now = { calls: {}, queue: {}, state: {} };
    if (step.op === 'update') {
      const { type = 'sync', pod, runningPod, kill } = step;
      seen.add(pod?.metadata.uid ?? runningPod?.uid ?? '');
      workers.updatePod({
        type,
        ...(pod === undefined ? {} : { pod }),
        ...(runningPod === undefined
          ? {}
          : { runningPod: { ...runningPod, namespace: 'default', createdAt: 0, sandboxes: [], containers: [] } }),
        ...(kill === undefined
          ? {}
          : {
              killPodOptions: {
                ...(kill.evict === undefined ? {} : { evict: kill.evict }),
                ...(kill.override === undefined ? {} : { gracePeriodSecondsOverride: kill.override }),
              },
            }),
      });
    } else {
      const desired = step.desired ?? [];
      now.known = Object.fromEntries(workers.syncKnownPods(new Set(desired.map((pod) => pod.metadata.uid))));
    }
    await settled();
    for (const uid of seen) {
      const state = stateOf(workers, uid);
      if (state.length > 0) now.state[uid] = state;
    }
    steps.push(now);
  }
  return steps;
}

function stateOf(workers: PodWorkers, uid: string): string[] {
  const answers: [string, boolean][] = [
    ['knownTerminated', workers.isPodKnownTerminated(uid)],
    ['couldHaveRunningContainers', workers.couldHaveRunningContainers(uid)],
    ['shouldBeFinished', workers.shouldPodBeFinished(uid)],
    ['terminationRequested', workers.isPodTerminationRequested(uid)],
    ['containersShouldTerminate', workers.shouldPodContainersBeTerminating(uid)],
    ['runtimeShouldBeRemoved', workers.shouldPodRuntimeBeRemoved(uid)],
    ['contentShouldBeRemoved', workers.shouldPodContentBeRemoved(uid)],
  ];
  return answers.filter(([, yes]) => yes).map(([name]) => name);
}

function queueName(delayMs: number): string {
  if (delayMs === 0) return 'now';
  if (delayMs >= 60_000) return 'resync';
  return delayMs >= 10_000 ? 'backoff' : 'soon';
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}

/** Lets everything run that waits for nothing but promises. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
