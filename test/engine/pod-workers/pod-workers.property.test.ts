import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import type { PodSyncer } from '../../../src/engine/pod-workers/pod-worker.ts';
import { PodWorkers } from '../../../src/engine/pod-workers/pod-workers.ts';
import type { SyncPodType } from '../../../src/engine/pod-workers/update-pod-options.ts';
import { WorkQueue } from '../../../src/engine/pod-workers/work-queue.ts';
import { makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { propertyRuns, propertyTimeoutMs } from '../../property-runs.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

/** Three revisions of one pod and one of another. */
const uids = ['web-1', 'web-2', 'web-3', 'db-1'] as const;
type UID = (typeof uids)[number];
const nameOf = (uid: string): string => uid.slice(0, -2);
const podOf = (uid: UID): Pod => makePod({ metadata: { uid, name: nameOf(uid) } });

type Step =
  | { do: 'update'; uid: UID; type: SyncPodType; grace?: number | undefined }
  | { do: 'killRuntimePod'; uid: UID }
  | { do: 'housekeeping'; desired: UID[] }
  | { do: 'endSync'; index: number; how: 'ok' | 'terminal' | 'error' }
  | { do: 'wait'; ms: number };

const anyUID = fc.constantFrom(...uids);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('update' as const),
    uid: anyUID,
    type: fc.constantFrom<SyncPodType>('create', 'update', 'sync', 'kill'),
    grace: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
  }),
  fc.record({ do: fc.constant('killRuntimePod' as const), uid: anyUID }),
  fc.record({ do: fc.constant('housekeeping' as const), desired: fc.uniqueArray(anyUID) }),
  fc.record({
    do: fc.constant('endSync' as const),
    index: fc.nat(3),
    how: fc.constantFrom('ok' as const, 'terminal' as const, 'error' as const),
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(0, 1000, 15_000, 90_000) }),
);

/** A sync that the workers began and the test has not ended. */
interface Sync {
  uid: string;
  kind: 'sync' | 'terminating' | 'terminated';
  end: (how: 'ok' | 'terminal' | 'error') => void;
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

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'update':
        this.#update(step);
        break;
      case 'killRuntimePod': {
        const { uid } = step;
        if (!this.workers.has(uid)) this.#undeclared.add(uid);
        const runningPod = {
          uid,
          name: nameOf(uid),
          namespace: 'default',
          createdAt: 0,
          sandboxes: [],
          containers: [],
        };
        this.workers.updatePod({ type: 'kill', runningPod });
        break;
      }
      case 'housekeeping':
        this.workers.syncKnownPods(new Set(step.desired));
        break;
      case 'endSync':
        this.syncs[step.index]?.end(step.how);
        break;
      case 'wait':
        break;
    }
    await this.clock.advance(step.do === 'wait' ? step.ms : 0);
  }

  #update({ uid, type, grace }: Step & { do: 'update' }): void {
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

test(
  'whatever comes, in whatever order, pods neither overlap nor start again once they stop',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 40, size: 'max' }), async (steps) => {
        const bench = new Bench();
        for (const step of steps) await bench.take(step);
        await bench.runDown();
        expect(bench.violations).toEqual([]);
      }),
      propertyRuns(150),
    );
  },
  propertyTimeoutMs,
);

test(
  'whatever came before, a pod that is asked to terminate finishes once its syncs succeed, and says so',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 30, size: 'max' }), async (steps) => {
        const bench = new Bench();
        for (const step of steps) await bench.take(step);
        for (const uid of uids) if (bench.workers.has(uid)) await bench.take({ do: 'update', uid, type: 'kill' });
        for (let round = 0; round < 3; round++) await bench.runDown();
        const states = uids.filter((uid) => bench.workers.has(uid)).map((uid) => bench.workers.snapshot(uid).state);
        expect(states.filter((state) => state !== 'finished')).toEqual([]);
        bench.workers.syncKnownPods(new Set());
        expect(uids.filter((uid) => bench.workers.has(uid))).toEqual([]);
        expect(bench.terminations.told).toBe(bench.terminations.requested);
      }),
      propertyRuns(100),
    );
  },
  propertyTimeoutMs,
);

test(
  'whatever came before, a declared pod whose name is free gets its turn',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 30, size: 'max' }), async (steps) => {
        const bench = new Bench();
        for (const step of steps) await bench.take(step);
        // All manifests go; the workers end and are forgotten.
        for (let round = 0; round < 3; round++) {
          bench.workers.syncKnownPods(new Set());
          await bench.runDown();
        }
        bench.workers.syncKnownPods(new Set());
        expect(uids.filter((uid) => bench.workers.has(uid))).toEqual([]);
        await bench.take({ do: 'update', uid: 'web-2', type: 'create' });
        expect(bench.syncs.map(({ uid, kind }) => `${kind} ${uid}`)).toEqual(['sync web-2']);
        expect(bench.violations).toEqual([]);
      }),
      propertyRuns(100),
    );
  },
  propertyTimeoutMs,
);
