import { ContainerExits } from '../../../src/engine/container/container-exits.ts';
import { EventWatch } from '../../../src/engine/pleg/event-watch.ts';
import { GenericPleg, type PlegRuntime } from '../../../src/engine/pleg/generic-pleg.ts';
import { PodCache } from '../../../src/engine/pleg/pod-cache.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import type { PodLifecycleEvent } from '../../../src/engine/container/pod-lifecycle-event.ts';
import type { RuntimePod } from '../../../src/engine/container/runtime-pod.ts';
import type { RuntimeEvent } from '../../../src/engine/pleg/runtime-event-stream.ts';
import { AsyncQueue } from '../../../src/flow/async-queue.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

/** How far a sandbox (`running` while it is ready) or container has come. It never goes back. */
const stages = ['created', 'running', 'exited', 'removed'] as const;
type Stage = (typeof stages)[number];

interface Thing {
  readonly id: string;
  readonly podUID: string;
  readonly kind: 'sandbox' | 'container';
  stage: Stage;
}

/** A call to the runtime that was not answered yet. */
interface Call {
  /** With what was so when it was made, with what is so now, or not at all. */
  answer: (how: 'early' | 'late' | 'error') => void;
}

/**
 * A runtime whose pods change, and whose answers come, as a test says, with a PLEG and an event watch on it. What must
 * never be is collected in `violations` where it happens.
 */
export class PlegModel implements PlegRuntime {
  readonly #clock = new FakeClock();
  readonly #calls: Call[] = [];
  readonly violations: string[] = [];
  readonly things: Thing[] = [];
  /** Answers come by themselves. */
  answersAtOnce = false;
  unanswered = 0;
  readonly #cache = new WatchedCache(this);
  readonly #said = new AsyncQueue<RuntimeEvent | Error>();
  readonly #stopping = new AbortController();
  readonly #told = new Map<string, PodLifecycleEvent['type'][]>();
  readonly #ends = new ContainerExits();
  readonly #pleg: GenericPleg;
  readonly #running: Promise<unknown>;

  constructor() {
    const clock = this.#clock;
    this.#pleg = new GenericPleg({
      runtime: this,
      cache: this.#cache,
      clock,
      logger: silentLogger,
      onEvents: (events, status) => {
        this.#takeEvents(events, status);
      },
    });
    const watch = new EventWatch({
      streams: [{ name: 'model', events: (signal) => this.#stream(signal) }],
      pleg: this.#pleg,
      exits: this.#ends,
      podUIDOf: (id) => Promise.resolve(this.things.find((thing) => thing.id === id)?.podUID),
      onLost: () => undefined,
      onOutOfMemory: () => undefined,
      clock,
      logger: silentLogger,
    });
    const { signal } = this.#stopping;
    this.#running = Promise.allSettled([this.#pleg.run(signal), watch.run(signal)]);
  }

  async getPods({ uid }: { uid?: string }): Promise<RuntimePod[]> {
    const pods = await this.#call(() => {
      const uids = new Set(this.#present().map(({ podUID }) => podUID));
      return [...uids].filter((one) => uid === undefined || one === uid).map((one) => this.#podOf(one));
    });
    return pods.map((pod) => ({ ...pod, containers: pod.containers.map((container) => this.#completed(container)) }));
  }

  async getContainerStatus(id: string): Promise<RuntimeContainerStatus | undefined> {
    const status = await this.#call(() =>
      this.things
        .filter((thing) => thing.id === id)
        .flatMap(({ podUID }) => this.#statusOf(podUID).containerStatuses)
        .find((container) => container.id === id),
    );
    return status && this.#completed(status);
  }

  /** Of what was listed, as the engine asks for each of them; what came since is not in it. */
  async getPodStatus(uid: string, { listed }: { listed: RuntimePod }): Promise<RuntimePodStatus> {
    const ids = new Set([...listed.sandboxes, ...listed.containers].map(({ id }) => id));
    const status = await this.#call(() => {
      const { sandboxStatuses, containerStatuses, ...pod } = this.#statusOf(uid);
      return {
        ...pod,
        sandboxStatuses: sandboxStatuses.filter(({ id }) => ids.has(id)),
        containerStatuses: containerStatuses.filter(({ id }) => ids.has(id)),
      };
    });
    return { ...status, containerStatuses: status.containerStatuses.map((container) => this.#completed(container)) };
  }

  add(podUID: string, kind: Thing['kind'], stage: 'created' | 'running'): void {
    this.things.push({
      id: `${kind}${this.things.length}`,
      podUID,
      kind,
      stage: kind === 'sandbox' ? 'running' : stage,
    });
  }

  /** Moves the nth thing that is not at its end on to a later stage. */
  moveOn(nth: number, to: Stage): void {
    const present = this.#present();
    const thing = present[nth % Math.max(present.length, 1)];
    if (thing !== undefined && rank(to) > rank(thing.stage)) thing.stage = to;
  }

  /** The stream tells of the nth thing, whether anything happened to it or not; how it ended only if it did. */
  say(nth: number, type: RuntimeEvent['type'], { withUID, withEnd }: { withUID: boolean; withEnd: boolean }): void {
    const thing = this.things[nth % Math.max(this.things.length, 1)];
    if (thing === undefined) return;
    const hasEnded = rank(thing.stage) >= rank('exited');
    this.#said.push({
      id: thing.id,
      type,
      ...(withUID ? { podUID: thing.podUID } : {}),
      ...(withEnd && hasEnded && type === 'exited' ? { end: { exitCode: 0, finishedAt: 0, reason: '' } } : {}),
    });
  }

  /** The nth call to the runtime is answered. */
  answer(nth: number, how: Parameters<Call['answer']>[0]): void {
    this.#calls.splice(nth, 1)[0]?.answer(how);
  }

  wait(ms: number): Promise<void> {
    return this.#clock.advance(ms);
  }

  loseStream(): void {
    this.#said.push(new Error('made to be lost'));
  }

  look(uid: string): void {
    void this.#pleg.relistPod(uid, this.#stopping.signal);
  }

  /** Asks for a status that is newer than now, as a worker does. */
  ask(uid: string): void {
    const since = this.#stagesOf(uid);
    this.unanswered += 1;
    const told = (check: () => void) => (): void => {
      this.unanswered -= 1;
      check();
    };
    this.#cache.getNewerThan(uid, this.#clock.monotonic(), this.#stopping.signal).then(
      (status) => {
        told(() => {
          const seen = stagesIn(status);
          for (const [id, stage] of since) {
            const seenStage = seen.get(id) ?? this.#missing(id);
            if (rank(seenStage) < rank(stage)) this.violations.push(`news of ${id} says ${seenStage}, it was ${stage}`);
          }
        })();
      },
      told(() => undefined),
    );
    this.look(uid);
  }

  /** Everything is answered from now on, and time passes; then what is known is compared with what is so. */
  async settle(): Promise<void> {
    this.answersAtOnce = true;
    for (const call of this.#calls.splice(0)) call.answer('late');
    await this.#clock.advance(130_000);
    for (const { id, podUID, stage } of this.things) {
      const known = stagesIn(this.#cache.get(podUID)).get(id) ?? 'removed';
      if (known !== stage) this.violations.push(`${id} is ${stage} and known as ${known}`);
      const newest = this.#told.get(id)?.at(-1);
      const due = { created: undefined, running: 'ContainerStarted', exited: 'ContainerDied', removed: undefined }[
        stage
      ];
      if (due !== undefined && newest !== due) this.violations.push(`${id} is ${stage} and told as ${newest}`);
      if (stage === 'removed' && newest !== undefined && newest !== 'ContainerRemoved') {
        this.violations.push(`${id} is gone and told as ${newest}`);
      }
    }
    if (this.unanswered > 0) this.violations.push(`${this.unanswered} wait for news in vain`);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('over'));
    for (const call of this.#calls.splice(0)) call.answer('error');
    await this.#running;
  }

  #takeEvents(events: readonly PodLifecycleEvent[], status: RuntimePodStatus): void {
    for (const { id, type, podUID } of events) {
      const before = this.#told.get(id) ?? [];
      if (eventOrder.indexOf(type) <= eventOrder.indexOf(before.at(-1) ?? 'ContainerChanged')) {
        this.violations.push(`${type} of ${id} after ${before.join()}`);
      }
      this.#told.set(id, [...before, type]);
      const cached = this.#cache.get(podUID);
      if (cached.containerStatuses.length > 0 && cached !== status)
        this.violations.push(`${type} of ${id} before its status`);
    }
  }

  async *#stream(signal: AbortSignal): AsyncGenerator<RuntimeEvent, void> {
    for (;;) {
      const next = await this.#said.pull(signal);
      if (next instanceof Error) throw next;
      yield next;
    }
  }

  #call<T>(answerNow: () => T): Promise<T> {
    const early = answerNow();
    if (this.answersAtOnce) return Promise.resolve(early);
    return new Promise((resolve, reject) => {
      this.#calls.push({
        answer: (how) => {
          if (how === 'error') reject(new Error('made to fail'));
          else resolve(how === 'early' ? early : answerNow());
        },
      });
    });
  }

  /** As the engine reads it, whatever the answer was. */
  #completed<Shown extends Pick<RuntimeContainerStatus, 'id' | 'state'>>(shown: Shown): Shown {
    return { ...shown, state: this.#ends.stateOf(shown.id, shown.state) };
  }

  #present(): Thing[] {
    return this.things.filter(({ stage }) => stage !== 'removed');
  }

  #stagesOf(uid: string): [string, Stage][] {
    return this.things.filter(({ podUID }) => podUID === uid).map(({ id, stage }) => [id, stage]);
  }

  /** What it means that something which was there is not in a status. */
  #missing(id: string): Stage | 'overlooked' {
    return this.things.some((thing) => thing.id === id && thing.stage === 'removed') ? 'removed' : 'overlooked';
  }

  #podOf(uid: string): RuntimePod {
    const { sandboxStatuses, containerStatuses, name, namespace } = this.#statusOf(uid);
    return {
      ...{ uid, name, namespace, createdAt: 0, sandboxes: sandboxStatuses },
      containers: containerStatuses.map((container) => ({ ...container, sandboxID: '' })),
    };
  }

  #statusOf(uid: string): RuntimePodStatus {
    const own = this.#present().filter(({ podUID }) => podUID === uid);
    return {
      ...{ uid, name: uid, namespace: 'default', ips: [] },
      sandboxStatuses: own.flatMap(({ id, kind, stage }) => {
        if (kind === 'container') return [];
        const state = stage === 'exited' ? 'notready' : 'ready';
        return [{ id, state, attempt: 0, createdAt: 0, networkMode: 'node', ip: null } as const];
      }),
      containerStatuses: own.flatMap(({ id, kind, stage }) =>
        kind === 'sandbox' || stage === 'removed' ? [] : [{ ...emptyContainer, id, name: id, state: stage }],
      ),
    };
  }
}

/** Tells when what is known of a container or sandbox goes back. */
class WatchedCache extends PodCache {
  readonly #model: PlegModel;
  readonly #known = new Map<string, Stage>();

  constructor(model: PlegModel) {
    super();
    this.#model = model;
  }

  override set(...args: Parameters<PodCache['set']>): void {
    super.set(...args);
    this.#check(args[0]);
  }

  override delete(...args: Parameters<PodCache['delete']>): void {
    super.delete(...args);
    this.#check(args[0]);
  }

  #check(uid: string): void {
    const seen = stagesIn(this.get(uid));
    for (const { id, podUID } of this.#model.things) {
      if (podUID !== uid) continue;
      const before = this.#known.get(id);
      const now = seen.get(id) ?? (before === undefined ? undefined : 'removed');
      if (now === undefined) continue;
      if (before !== undefined && rank(now) < rank(before))
        this.#model.violations.push(`${id} goes from ${before} to ${now}`);
      this.#known.set(id, now);
    }
  }
}

function stagesIn({ sandboxStatuses, containerStatuses }: RuntimePodStatus): Map<string, Stage> {
  return new Map<string, Stage>([
    ...sandboxStatuses.map(({ id, state }) => [id, state === 'ready' ? 'running' : 'exited'] as const),
    ...containerStatuses.map(({ id, state }) => [id, state === 'unknown' ? 'created' : state] as const),
  ]);
}

/** Below all others for what is none. */
const rank = (stage: string): number => stages.findIndex((one) => one === stage);

/** Of the events of one container; those that say nothing come first. */
const eventOrder: readonly PodLifecycleEvent['type'][] = [
  'ContainerChanged',
  'ContainerStarted',
  'ContainerDied',
  'ContainerRemoved',
];

const emptyContainer = {
  ...{ createdAt: 0, startedAt: 0, finishedAt: 0, exitCode: 0, restartCount: 0, hash: 0 },
  ...{ image: '', imageRef: '', reason: '', message: '' },
};
