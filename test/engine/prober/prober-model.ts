import { type ProbeChange, ProberManager } from '../../../src/engine/prober/prober-manager.ts';
import type { ProbeType } from '../../../src/engine/container/probe-results.ts';
import { ExecSyncResponse } from '../../../src/cri/generated/cri.ts';
import { WallClockHistory } from '../../../src/flow/wall-clock-history.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { type Outcome, ProbedPod, type Probed, type ProbeTimes } from './probed-pod.ts';

/** A run of a probe that was not answered yet. */
interface Call {
  readonly key: string;
  readonly uid: string;
  /** How often it was made in a row, as a run that could not be made is. */
  readonly attempt: number;
  readonly signal: AbortSignal | undefined;
  answer: (outcome: Outcome) => void;
}

const maxAttempts = 3;
/** The prober counts a timer that fires so much early as in time. */
const timerSlackMs = 1;
const types = ['startup', 'readiness', 'liveness'] as const;
export const uids = ['always', 'never'] as const;
type UID = (typeof uids)[number];

/**
 * Two pods of one container that has every kind of probe, whose runs are answered when a test says so, also after they
 * were called off. What must never be is collected in `violations` where it happens.
 */
export class ProberModel {
  readonly #clock = new FakeClock();
  readonly #calls: Call[] = [];
  readonly violations: string[] = [];
  readonly #pods: Record<UID, ProbedPod>;
  readonly #manager: ProberManager;
  /** The run that was answered last, when it could not be made: it is made again at once, in the same container. */
  #failed: { key: string; id: string; attempt: number; at: number } | undefined;

  constructor(times: ProbeTimes) {
    this.#pods = { always: new ProbedPod('always', times), never: new ProbedPod('never', times) };
    this.#manager = new ProberManager({
      clock: this.#clock,
      wallClock: new WallClockHistory(this.#clock),
      runtime: {
        execSync: ({ containerId = '', cmd = [] } = {}, { signal } = {}) =>
          this.#begin(containerId, cmd[0] as ProbeType, cmd[1] as UID, signal),
      },
      getStatus: (uid) => this.#pods[uid as UID].status,
      onChange: (change) => {
        this.#takeChange(change);
      },
      checkHealth: () => Promise.reject(new Error('no gRPC probe is run')),
      emit: () => undefined,
      nodeIPs: () => ['192.0.2.1'],
      random: () => 0.5,
    });
  }

  /** As the syncs of a pod do, of one that ends too. */
  sync(uid: UID): void {
    const pod = this.#pods[uid];
    if (pod.stage !== 'ending') {
      pod.stage = 'wanted';
      this.#manager.addPod(pod.pod);
      for (const type of types) {
        // A run of its last life keeps the probe busy until it is answered; the next sync begins anew then.
        if (this.#calls.some(({ key }) => key === `${uid}/${type}`)) continue;
        if (!pod.isOver) pod.probes[type].workerSince ??= this.#clock.monotonic();
      }
    }
    pod.look(this.#manager.results, this.#clock.monotonic());
    this.#manager.triggerReadiness(uid, pod.status);
    const { started, ready, state } = pod.container;
    if (started === true && !ready && state?.running !== undefined) pod.probes.readiness.isTriggered = true;
  }

  start(uid: UID): void {
    this.#pods[uid].start(this.#clock.now());
  }

  exit(uid: UID): void {
    this.#pods[uid].exit();
  }

  /** The pod begins to end. */
  end(uid: UID): void {
    const pod = this.#pods[uid];
    if (pod.stage !== 'wanted') return;
    pod.stage = 'ending';
    pod.probes.liveness.workerSince = undefined;
    pod.probes.startup.workerSince = undefined;
    this.#manager.stopLivenessAndStartup(pod.pod);
    this.#expectAborted((key) => key === `${uid}/liveness` || key === `${uid}/startup`);
  }

  remove(uid: UID, how: 'removePod' | 'retain'): void {
    this.#pods[uid].remove();
    if (how === 'removePod') this.#manager.removePod(uid);
    else this.#manager.retain(new Set(uids.filter((one) => this.#pods[one].stage !== 'removed')));
    this.#expectAborted((key) => key.startsWith(`${uid}/`));
  }

  /** The nth run of a probe ends. */
  answer(nth: number, outcome: Outcome): void {
    this.#answer(this.#calls[nth], outcome);
  }

  /** The nth run cannot be made, nor can the next ones of its probe. */
  async fail(nth: number, times: number): Promise<void> {
    const { key } = this.#calls[nth] ?? {};
    for (let time = 0; time < times; time++) {
      this.#answer(
        this.#calls.find((call) => call.key === key),
        'error',
      );
      await this.wait(0);
    }
  }

  wait(ms: number): Promise<void> {
    return this.#clock.advance(ms);
  }

  /** Nothing that is to be probed is left alone for longer than a period. */
  async checkPeriods(): Promise<void> {
    await this.wait(0);
    for (const uid of uids) for (const type of types) this.#checkPeriod(uid, type);
  }

  /** Everything is answered and removed: nothing is left of it. */
  async stop(): Promise<void> {
    for (const uid of uids) this.remove(uid, 'removePod');
    while (this.#calls.length > 0) this.answer(0, 'success');
    await this.wait(0);
    const { startup, readiness, liveness } = this.#manager.results;
    const left = startup.size + readiness.size + liveness.size + this.#clock.pending;
    if (left > 0) this.violations.push(`${left} results and timers are left of pods that are gone`);
    for (const uid of uids) {
      const workers = this.#manager.workersOf(uid);
      if (workers.startup.size + workers.readiness.size > 0) this.violations.push(`workers of ${uid} are left`);
    }
  }

  #answer(call: Call | undefined, outcome: Outcome): void {
    if (call === undefined) return;
    this.#calls.splice(this.#calls.indexOf(call), 1);
    call.answer(outcome);
    if (call.signal?.aborted === true) return;
    const probed = this.#probed(call.key);
    probed.idleSince = this.#clock.monotonic();
    if (outcome !== 'error') probed.outcomes.push(outcome);
  }

  #begin(id: string, type: ProbeType, uid: UID, signal: AbortSignal | undefined): Promise<ExecSyncResponse> {
    const key = `${uid}/${type}`;
    const probed = this.#probed(key);
    if (this.#calls.some((call) => call.key === key)) this.violations.push(`${key} is run twice at a time`);
    const attempt = this.#attemptOf(key, id);
    if (attempt > maxAttempts) this.violations.push(`${key} is tried ${attempt} times`);
    if (attempt === 1) {
      this.#checkRun(id, type, uid);
      const at = this.#clock.monotonic();
      probed.last = { id, at, isLate: at === probed.idleSince };
      probed.isTriggered = false;
    }
    return new Promise((resolve, reject) => {
      this.#calls.push({
        ...{ key, uid, attempt, signal },
        answer: (outcome) => {
          const isToBeRetried = outcome === 'error' && signal?.aborted !== true;
          this.#failed = isToBeRetried ? { key, id, attempt, at: this.#clock.monotonic() } : undefined;
          if (outcome === 'error') reject(new Error('made to fail'));
          else resolve(ExecSyncResponse.fromPartial({ exitCode: outcome === 'success' ? 0 : 1 }));
        },
      });
    });
  }

  /** After the last attempt a new run begins at once only where one was asked for, or a tick came, meanwhile. */
  #attemptOf(key: string, id: string): number {
    const failed = this.#failed;
    if (failed?.key !== key || failed.id !== id || failed.at !== this.#clock.monotonic()) return 1;
    const { isTriggered, last } = this.#probed(key);
    const mayBeNew = isTriggered || this.#clock.monotonic() > (last?.at ?? 0);
    return failed.attempt === maxAttempts && mayBeNew ? 1 : failed.attempt + 1;
  }

  #checkRun(id: string, type: ProbeType, uid: UID): void {
    const { container, stage, probes, times } = this.#pods[uid];
    const probed = probes[type];
    const now = this.#clock.monotonic();
    const wrong = (what: string): void => {
      this.violations.push(`${uid}/${type} of ${id} is run ${what}`);
    };
    if (stage === 'removed' || (stage === 'ending' && type !== 'readiness')) wrong(`while the pod is ${stage}`);
    const startedAt = container.state?.running?.startedAt;
    if (startedAt === undefined || container.containerID !== `fake://${id}`) wrong('while it does not run');
    else if (this.#clock.now() - Date.parse(startedAt) + timerSlackMs < times.initialDelaySeconds * 1000)
      wrong('before its delay');
    if ((container.started === true) === (type === 'startup')) wrong(`while started is ${String(container.started)}`);
    if (probed.decided.has(id)) wrong('although it is decided');
    const { last, isTriggered } = probed;
    // A run that began late, as the one before it took so long, is followed by the next one when that is due.
    const mayCome = isTriggered || last?.isLate === true;
    if (last?.id === id && !mayCome && now - last.at < times.periodSeconds * 1000) wrong('before its period');
    this.#checkPeriod(uid, type);
  }

  #checkPeriod(uid: UID, type: ProbeType): void {
    const { probes, times } = this.#pods[uid];
    if (this.#calls.some(({ key }) => key === `${uid}/${type}`)) return;
    const due = this.#pods[uid].dueSince(type, this.#clock);
    if (due === undefined) return;
    const waitedMs = this.#clock.monotonic() - Math.max(due, probes[type].idleSince);
    if (waitedMs > times.periodSeconds * 1000) this.violations.push(`${uid}/${type} was not run for ${waitedMs} ms`);
  }

  #takeChange({ podUID, type, containerID, result }: ProbeChange): void {
    const pod = this.#pods[podUID as UID];
    const probed = pod.probes[type];
    const wrong = (why: string): void => {
      this.violations.push(`${podUID}/${type} of ${containerID} is ${result} ${why}`);
    };
    if (pod.stage === 'removed' || (pod.stage === 'ending' && type !== 'readiness')) wrong(`after it was stopped`);
    const isRunning =
      pod.container.state?.running !== undefined && pod.container.containerID === `fake://${containerID}`;
    const { successThreshold, failureThreshold } = pod.times;
    const threshold = type === 'readiness' ? successThreshold : 1;
    if (result === 'success' && type !== 'liveness' && !endsWith(probed.outcomes, 'success', threshold)) {
      wrong(`after ${probed.outcomes.join()}`);
    }
    const isFirst = pod.told.get(`${type}/${containerID}`) === undefined;
    pod.told.set(`${type}/${containerID}`, result);
    if (result === 'failure' && isRunning && !(isFirst && type === 'readiness')) {
      if (!endsWith(probed.outcomes, 'failure', failureThreshold)) wrong(`after ${probed.outcomes.join()}`);
    }
    if (isRunning && ((type === 'startup' && result !== 'unknown') || (type === 'liveness' && result === 'failure'))) {
      probed.decided.add(containerID);
    }
  }

  #expectAborted(isMeant: (key: string) => boolean): void {
    for (const { key, signal } of this.#calls) {
      if (isMeant(key) && signal?.aborted !== true) this.violations.push(`${key} is not called off`);
    }
  }

  #probed(key: string): Probed {
    const [uid, type] = key.split('/') as [UID, ProbeType];
    return this.#pods[uid].probes[type];
  }
}

function endsWith(outcomes: readonly Outcome[], outcome: Outcome, times: number): boolean {
  return outcomes.length >= times && outcomes.slice(-times).every((one) => one === outcome);
}
