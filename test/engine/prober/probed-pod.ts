import type { ContainerStatus, Pod, PodStatus } from '../../../src/api/types.ts';
import type { ProbeResults, ProbeType } from '../../../src/engine/container/probe-results.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import type { FakeClock } from '../../fakes/fake-clock.ts';

export type Outcome = 'success' | 'failure' | 'error';

export interface ProbeTimes {
  initialDelaySeconds: number;
  periodSeconds: number;
  successThreshold: number;
  failureThreshold: number;
}

/** What is known of one probe of one pod. */
export interface Probed {
  /** Of its runs, newest last. */
  outcomes: Outcome[];
  /** Container and time of the last run, and whether it began as soon as the one before it ended. */
  last: { id: string; at: number; isLate: boolean } | undefined;
  idleSince: number;
  /** Since when it is to be run; undefined: it is not. */
  workerSince: number | undefined;
  /** It was told to run at once since it ran last. */
  isTriggered: boolean;
  /** Containers about which there is nothing more to find out. */
  readonly decided: Set<string>;
}

/** A pod, its container as it is, and its status as the last sync saw it. */
export class ProbedPod {
  readonly pod: Pod;
  readonly times: ProbeTimes;
  readonly told = new Map<string, string>();
  stage: 'wanted' | 'ending' | 'removed' = 'removed';
  probes: Record<ProbeType, Probed> = noProbes();
  status: PodStatus = statusOf(waiting);
  #real: ContainerStatus = waiting;
  #seenAt = 0;
  #containers = 0;

  constructor(uid: string, times: ProbeTimes) {
    this.times = times;
    const probe = (type: ProbeType): object => ({
      exec: { command: [type, uid] },
      ...times,
      successThreshold: type === 'readiness' ? times.successThreshold : 1,
    });
    const container = makeContainer({
      ...{ name: 'app', startupProbe: probe('startup'), readinessProbe: probe('readiness') },
      livenessProbe: probe('liveness'),
    });
    const restartPolicy = uid === 'never' ? 'Never' : 'Always';
    this.pod = makePod({ metadata: { uid, name: uid }, spec: { restartPolicy, containers: [container] } });
  }

  get container(): ContainerStatus {
    return this.status.containerStatuses?.[0] ?? waiting;
  }

  /** Its container ended and is not started again. */
  get isOver(): boolean {
    return this.pod.spec.restartPolicy === 'Never' && this.container.state?.terminated !== undefined;
  }

  start(now: number): void {
    if (this.stage !== 'wanted' || this.#real.state?.running !== undefined) return;
    if (this.pod.spec.restartPolicy === 'Never' && this.#real.state?.terminated !== undefined) return;
    const containerID = `fake://${this.pod.metadata.uid}-${++this.#containers}`;
    this.#real = { ...waiting, containerID, state: { running: { startedAt: new Date(now).toISOString() } } };
  }

  exit(): void {
    if (this.#real.state?.running === undefined) return;
    const at = this.#real.state.running.startedAt ?? '';
    this.#real = { ...this.#real, state: { terminated: { exitCode: 0, startedAt: at, finishedAt: at } } };
  }

  remove(): void {
    this.stage = 'removed';
    this.probes = noProbes();
    this.#real = waiting;
    this.status = statusOf(waiting);
  }

  look(results: ProbeResults, now: number): void {
    const id = (this.#real.containerID ?? '').slice('fake://'.length);
    const isRunning = this.#real.state?.running !== undefined;
    const started = isRunning && results.startup.get(id) === 'success';
    const ready = started && results.readiness.get(id) === 'success';
    const before = this.container;
    this.status = statusOf({ ...this.#real, started, ready });
    if (before.containerID !== this.#real.containerID || before.started !== started) this.#seenAt = now;
  }

  /** Since when the probe is to be run, on the monotonic clock. */
  dueSince(type: ProbeType, clock: FakeClock): number | undefined {
    const { workerSince, decided } = this.probes[type];
    const { state, started, containerID = '' } = this.container;
    if (workerSince === undefined || state?.running?.startedAt === undefined) return undefined;
    if ((started === true) === (type === 'startup') || decided.has(containerID.slice('fake://'.length)))
      return undefined;
    const ranMs = clock.now() - Date.parse(state.running.startedAt) - this.times.initialDelaySeconds * 1000;
    return Math.max(workerSince, this.#seenAt, clock.monotonic() - ranMs);
  }
}

function noProbes(): Record<ProbeType, Probed> {
  const none = (): Probed => ({
    ...{ outcomes: [], last: undefined, idleSince: -1, workerSince: undefined, isTriggered: false },
    decided: new Set(),
  });
  return { startup: none(), readiness: none(), liveness: none() };
}

const statusOf = (container: ContainerStatus): PodStatus => ({ phase: 'Running', containerStatuses: [container] });

const waiting: ContainerStatus = {
  ...{ name: 'app', image: '', imageID: '', restartCount: 0, ready: false, started: false, state: { waiting: {} } },
};
