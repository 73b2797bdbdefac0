import fc from 'fast-check';
import { expect } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import type { PodSyncer } from '../../../src/engine/pod-workers/pod-worker.ts';
import { PodWorkers } from '../../../src/engine/pod-workers/pod-workers.ts';
import type { SyncPodType } from '../../../src/engine/pod-workers/update-pod-options.ts';
import { WorkQueue } from '../../../src/engine/pod-workers/work-queue.ts';
import { makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { type Steps, testModel } from '../../support/model-check.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

/** Three revisions of one pod and one of another. */
const uids = ['web-1', 'web-2', 'web-3', 'db-1'] as const;
type UID = (typeof uids)[number];
const nameOf = (uid: string): string => uid.slice(0, -2);
const podOf = (uid: UID): Pod => makePod({ metadata: { uid, name: nameOf(uid) } });

const anyUID = fc.constantFrom(...uids);

type SyncEnd = 'ok' | 'terminal' | 'error';

/** A sync that the workers began and the test has not ended. */
interface Sync {
  uid: string;
  kind: 'sync' | 'terminating' | 'terminated';
  end: (how: SyncEnd) => void;
}

/** Workers whose syncs end when the test says so; what must never happen is thrown from where it happens. */
class Bench {
  readonly clock = new FakeClock();
  readonly syncs: Sync[] = [];
  readonly violations: string[] = [];
  /** By UID: since the worker of this record began to stop it, no syncPod may run. */
  readonly #stopping = new Set<string>();
  /** Killed without a manifest: they hold no name, the caller sees to it that no pod of theirs starts. */
  readonly #undeclared = new Set<string>();
  /** By UID: seconds that the pod was last given to end. They only get fewer. */
  readonly #graces = new Map<string, number>();
  readonly terminations = { requested: 0, told: 0 };
  readonly workers: PodWorkers;
  readonly queue: WorkQueue;

  constructor() {
    this.queue = new WorkQueue({
      clock: this.clock,
      onDue: (uid) => {
        if (this.workers.has(uid)) this.workers.updatePod({ type: 'sync', pod: podOf(uid as UID) });
      },
    });
    const syncer: PodSyncer = {
      syncPod: (_type, { metadata: { uid } }, _status, signal) => this.#begin(uid, 'sync', signal),
      syncTerminatingPod: async ({ metadata: { uid } }, _status, grace = Infinity, signal) => {
        const before = this.#graces.get(uid) ?? Infinity;
        if (grace > before) this.violations.push(`${uid} is given ${grace} s to end, it had ${before} s`);
        this.#graces.set(uid, grace);
        await this.#begin(uid, 'terminating', signal);
      },
      syncTerminatingRuntimePod: async ({ uid }, signal) => {
        await this.#begin(uid, 'terminating', signal);
      },
      syncTerminatedPod: async ({ metadata: { uid } }, _status, signal) => {
        await this.#begin(uid, 'terminated', signal);
      },
    };
    this.workers = new PodWorkers({
      faults: silentFaults(),
      syncer,
      syncFrequencyMs: 60_000,
      getNewerThan: (uid) => Promise.resolve(emptyStatus(uid)),
      getCached: emptyStatus,
      enqueue: (uid, delayMs) => {
        this.queue.enqueue(uid, delayMs);
      },
      onNameFreed: (uid) => {
        this.queue.enqueue(uid, 0);
      },
      clock: this.clock,
      random: () => 0.5,
      logger: silentLogger,
      emit: (event) => {
        if (event.type !== 'WorkerStateChanged' || event.state !== 'removed') return;
        this.#stopping.delete(event.pod.uid);
        this.#graces.delete(event.pod.uid);
        this.#undeclared.delete(event.pod.uid);
      },
    });
  }

  update(uid: UID, type: SyncPodType, grace?: number): void {
    const options = { type, pod: podOf(uid) };
    if (type !== 'kill') {
      this.workers.updatePod(options);
      return;
    }
    this.terminations.requested += 1;
    const onTerminated = (): void => {
      this.terminations.told += 1;
    };
    const override = grace === undefined ? {} : { gracePeriodSecondsOverride: grace };
    this.workers.updatePod({ ...options, killPodOptions: { onTerminated, ...override } });
  }

  killRuntimePod(uid: UID): void {
    if (!this.workers.has(uid)) this.#undeclared.add(uid);
    const runningPod = { uid, name: nameOf(uid), namespace: 'default', createdAt: 0, sandboxes: [], containers: [] };
    this.workers.updatePod({ type: 'kill', runningPod });
  }

  housekeeping(desired: readonly UID[]): void {
    this.workers.syncKnownPods(new Set(desired));
  }

  endSync(index: number, how: SyncEnd): void {
    this.syncs[index]?.end(how);
  }

  wait(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  #begin(uid: string, kind: Sync['kind'], signal: AbortSignal): Promise<boolean> {
    const others = this.syncs.filter((sync) => sync.uid === uid);
    if (others.length > 0) this.violations.push(`${kind} of ${uid} beside ${others.map((sync) => sync.kind).join()}`);
    if (kind === 'sync') {
      if (this.#stopping.has(uid)) this.violations.push(`${uid} is started after it began to stop`);
      const rival = this.#unfinished().find((other) => other !== uid && nameOf(other) === nameOf(uid));
      if (rival !== undefined) this.violations.push(`${uid} is started while ${rival} is not finished`);
    } else this.#stopping.add(uid);
    return new Promise((resolve, reject) => {
      const sync: Sync = {
        uid,
        kind,
        end: (how) => {
          this.syncs.splice(this.syncs.indexOf(sync), 1);
          if (how === 'error') reject(new Error('made to fail'));
          else resolve(how === 'terminal');
        },
      };
      this.syncs.push(sync);
      signal.addEventListener('abort', () => {
        if (this.syncs.includes(sync)) sync.end('error');
      });
    });
  }

  /** Pods with a worker that began with them and is not done. */
  #unfinished(): string[] {
    return uids.filter((uid) => {
      const { state } = this.workers.snapshot(uid);
      return this.workers.has(uid) && !this.#undeclared.has(uid) && state !== 'waiting' && state !== 'finished';
    });
  }

  /** Everything succeeds from now on, and time passes. */
  async runDown(): Promise<void> {
    for (let round = 0; round < 40; round++) {
      for (const sync of [...this.syncs]) sync.end('ok');
      await this.clock.advance(2000);
    }
  }
}

const emptyStatus = (uid: string): RuntimePodStatus => ({
  uid,
  name: '',
  namespace: '',
  ips: [],
  containerStatuses: [],
  sandboxStatuses: [],
});

const anyUpdates = {
  open: () => new Bench(),
  steps: {
    update: [
      1,
      anyUID,
      fc.constantFrom<SyncPodType>('create', 'update', 'sync', 'kill'),
      fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
    ],
    killRuntimePod: [1, anyUID],
    housekeeping: [1, fc.uniqueArray(anyUID)],
    endSync: [1, fc.nat(3), fc.constantFrom('ok', 'terminal', 'error')],
    wait: [1, fc.constantFrom(0, 1000, 15_000, 90_000)],
  } satisfies Steps<Bench>,
  afterStep: (bench: Bench) => bench.wait(0),
};

testModel('whatever comes, in whatever order, pods neither overlap nor start again once they stop', {
  ...anyUpdates,
  maxSteps: 40,
  runs: 150,
  finish: (bench) => bench.runDown(),
});

testModel('whatever came before, a pod that is asked to terminate finishes once its syncs succeed, and says so', {
  ...anyUpdates,
  maxSteps: 30,
  runs: 100,
  async finish(bench) {
    for (const uid of uids) {
      if (bench.workers.has(uid)) bench.update(uid, 'kill');
      await bench.wait(0);
    }
    for (let round = 0; round < 3; round++) await bench.runDown();
    const states = uids.filter((uid) => bench.workers.has(uid)).map((uid) => bench.workers.snapshot(uid).state);
    expect(states.filter((state) => state !== 'finished')).toEqual([]);
    bench.housekeeping([]);
    expect(uids.filter((uid) => bench.workers.has(uid))).toEqual([]);
    expect(bench.terminations.told).toBe(bench.terminations.requested);
  },
});

testModel('whatever came before, a declared pod whose name is free gets its turn', {
  ...anyUpdates,
  maxSteps: 30,
  runs: 100,
  async finish(bench) {
    // All manifests go; the workers end and are forgotten.
    for (let round = 0; round < 3; round++) {
      bench.housekeeping([]);
      await bench.runDown();
    }
    bench.housekeeping([]);
    expect(uids.filter((uid) => bench.workers.has(uid))).toEqual([]);
    bench.update('web-2', 'create');
    await bench.wait(0);
    expect(bench.syncs.map(({ uid, kind }) => `${kind} ${uid}`)).toEqual(['sync web-2']);
  },
});
