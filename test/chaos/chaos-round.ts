import { setTimeout as delay } from 'node:timers/promises';
import { appliedObject } from '../../src/engine/applied/applied-object.ts';
import { UserError } from '../../src/errors.ts';
import type { OperationAction } from '../../src/engine/operations/operation.ts';
import { applyManifests, deleteApplied, operate } from '../../src/server/control/control-client.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import type { SeededRandom } from '../builders/seeded-random.ts';
import { nodeName } from '../e2e/agent.ts';
import type { ChaosPod } from './chaos-pod.ts';
import type { ChaosWorld } from './chaos-world.ts';

/** What was done to a node in one round. */
export interface ChaosRound {
  /** In their order. */
  readonly steps: readonly Step[];
  readonly agentKills: number;
  readonly containerdKills: number;
  readonly hangs: number;
  readonly applies: number;
  readonly rollbacks: number;
  /** Starts that found no runtime and ended. */
  readonly refusedStarts: number;
  /** Monotonic milliseconds: when the last thing was done. */
  readonly quietSince: number;
}

type Step =
  | 'create'
  | 'update'
  | 'remove'
  | 'apply'
  | 'delete'
  | 'crash'
  | 'crashSandbox'
  | 'removeDead'
  | 'operate'
  | 'rollback'
  | 'killAgent'
  | 'killContainerd'
  | 'hang';

const names = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6'];
const maxPods = 5;
/** Names of the pods that are applied. Those of `names` are in files. */
const appliedNames = ['a0', 'a1'];

/**
 * Changes manifests, crashes containers, and kills what runs them in the middle of it. kubelet-ts is running again at
 * the end.
 */
export async function runChaosRound(world: ChaosWorld, random: SeededRandom): Promise<ChaosRound> {
  const round = new Round(world, random);
  await round.run();
  return round;
}

class Round implements ChaosRound {
  readonly steps: Step[];
  agentKills = 0;
  containerdKills = 0;
  hangs = 0;
  applies = 0;
  rollbacks = 0;
  refusedStarts = 0;
  quietSince = performance.now();
  readonly #world: ChaosWorld;
  readonly #random: SeededRandom;
  /** Undefined while kubelet-ts is down. */
  #start: Promise<void> | undefined = Promise.resolve();
  #hang = Promise.resolve();

  constructor(world: ChaosWorld, random: SeededRandom) {
    this.#world = world;
    this.#random = random;
    this.steps = planSteps(random, { canHang: world.runtime !== undefined });
  }

  async run(): Promise<void> {
    for (const step of this.steps) {
      await delay(this.#random.below(400));
      await this.#take(step);
      this.#quiet();
    }
    await this.#hang;
    await this.#started();
  }

  /** Starts kubelet-ts if it is down, and resolves once it is up. */
  async #started(): Promise<void> {
    if (this.#start === undefined) this.#startAgent();
    await this.#start;
  }

  async #take(step: Step): Promise<void> {
    const { desired, stopped, held } = this.#world;
    const all = [...desired.keys()];
    const known = all.filter((name) => !appliedNames.includes(name));
    switch (step) {
      case 'create': {
        const free = names.filter((name) => !desired.has(name));
        await this.#world.createPod(this.#random.pick(known.length < maxPods ? free : known));
        break;
      }
      case 'update':
        if (known.length > 0) await this.#world.createPod(this.#random.pick(known));
        break;
      case 'remove':
        // What was asked of a pod is forgotten only if an agent sees that its manifest is gone.
        if (known.length > 1) await this.#removeOne(known.filter((name) => !stopped.has(name) && !held.has(name)));
        break;
      case 'apply':
        if (this.#start !== undefined) await this.#apply(this.#random.pick(appliedNames));
        break;
      case 'delete': {
        const applied = appliedNames.filter((name) => desired.has(name) && !stopped.has(name) && !held.has(name));
        if (applied.length > 0 && this.#start !== undefined) await this.#delete(this.#random.pick(applied));
        break;
      }
      case 'operate':
        await this.#operate();
        break;
      case 'rollback':
        await this.#rollBack();
        break;
      case 'crash':
      case 'crashSandbox': {
        const lasting = all.filter((name) => desired.get(name)?.ends === false && !stopped.has(name));
        const victim = step === 'crash' ? 'container' : 'sandbox';
        if (lasting.length > 0) await this.#world.crash(this.#random.pick(lasting), victim);
        break;
      }
      case 'removeDead':
        await this.#world.removeDead();
        break;
      case 'killAgent':
        await this.#killAgent();
        break;
      case 'killContainerd':
        if (await this.#world.killContainerd()) this.containerdKills += 1;
        break;
      case 'hang':
        this.#hangRuntime();
        break;
    }
  }

  async #removeOne(names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.#world.removePod(this.#random.pick(names));
  }

  async #apply(name: string): Promise<void> {
    const pod = this.#world.newPod(name);
    const body = Buffer.from(JSON.stringify(pod.manifest));
    await this.#untilDone(`apply ${name}`, async () => (await applyManifests(this.#socket, body, false)) !== undefined);
    this.#world.declared(pod);
    this.applies += 1;
  }

  async #delete(name: string): Promise<void> {
    const object = appliedObject('Pod', 'default', name);
    await this.#untilDone(`delete ${name}`, async () => {
      try {
        return (await deleteApplied(this.#socket, object, false)) !== undefined;
      } catch (error) {
        // It was deleted, and the answer was lost.
        if (error instanceof UserError && error.message.endsWith('not found')) return true;
        throw error;
      }
    });
    this.#world.undeclared(name);
  }

  /** Rolls a pod that is as declared back to a revision that ran at the end of a round. */
  async #rollBack(): Promise<void> {
    const { revisions } = this.#world;
    if (this.#start === undefined) return;
    await this.#start;
    const choices: { pod: ChaosPod; to: number }[] = [];
    for (const { name } of this.#calmPods()) {
      const known = await this.#world.revisionsOf(name).catch(() => []);
      for (const { revision: to, isCurrent } of known) {
        const pod = revisions.get(name)?.get(to);
        if (pod !== undefined && !isCurrent) choices.push({ pod, to });
      }
    }
    if (choices.length === 0) return;
    const { pod, to } = this.#random.pick(choices);
    await this.#untilDone(`rollback ${pod.name} ${to}`, () => this.#ask(pod.name, 'rollback', { to }));
    this.#world.rolledBackTo(pod);
    this.rollbacks += 1;
  }

  /** Pods that are as declared, and run for good. */
  #calmPods(): ChaosPod[] {
    const { desired, touched } = this.#world;
    return [...desired.values()].filter(({ name, ends }) => !ends && !touched.has(name));
  }

  async #operate(): Promise<void> {
    const { stopped, held } = this.#world;
    const calm = this.#calmPods();
    if (calm.length === 0 || this.#start === undefined) return;
    const { name } = this.#random.pick(calm);
    const action = this.#random.pick<OperationAction>([
      stopped.has(name) ? 'start' : 'stop',
      stopped.has(name) ? 'start' : 'restart',
      held.has(name) ? 'unhold' : 'hold',
    ]);
    await this.#untilDone(`${action} ${name}`, () => this.#ask(name, action));
    this.#world.operated(name, action);
  }

  /** Asks for something, and often kills kubelet-ts before it has answered. `ask` is true once it was answered. */
  async #untilDone(what: string, ask: () => Promise<boolean>): Promise<void> {
    await this.#start;
    const asked = ask();
    // A rejection is handled below.
    asked.catch(() => undefined);
    if (this.#random.chance(0.5)) {
      await delay(this.#random.below(40));
      await this.#killAgent();
      await this.#started();
    }
    // Asked again, it is done once: an answer that was lost may belong to something that was done.
    if (await asked.catch(() => false)) return;
    await this.#hang;
    if (!(await ask())) throw new Error(`${what} was not answered`);
  }

  /** True if kubelet-ts answered that it is done. */
  async #ask(name: string, action: OperationAction, options: { to?: number } = {}): Promise<boolean> {
    if (action === 'restart') await this.#world.expectRestart(name);
    const pod = { namespace: 'default', name: `${name}-${nodeName}` };
    return (await operate(this.#socket, pod, action, options)) !== undefined;
  }

  get #socket(): string {
    return controlSocketPath(this.#world.agent.rootDir);
  }

  /** It is started again at once, or when all is done, and may be killed in the middle of its start. */
  async #killAgent(): Promise<void> {
    this.agentKills += 1;
    await this.#world.agent.kill9();
    const killed = this.#start;
    this.#start = undefined;
    await killed?.catch(() => undefined);
    if (this.#random.chance(0.3)) return;
    this.#startAgent();
    if (!this.#random.chance(0.25)) return;
    await delay(this.#random.below(1000));
    await this.#killAgent();
  }

  #startAgent(): void {
    this.#quiet();
    this.#start = this.#untilStarted();
    // It is awaited at the end of the round, or given up with the process.
    this.#start.catch(() => undefined);
  }

  /** As an init system does: it starts what ended by itself. Only a runtime that is away may be a reason for that. */
  async #untilStarted(): Promise<void> {
    const killsBefore = this.agentKills;
    for (;;) {
      try {
        await this.#world.agent.start();
        return;
      } catch (error) {
        const isRuntimeAway = this.#world.runtime !== undefined && this.hangs + this.containerdKills > 0;
        if (this.agentKills > killsBefore || !isRuntimeAway || this.refusedStarts >= 20) throw error;
        this.refusedStarts += 1;
        await this.#hang;
      }
    }
  }

  #hangRuntime(): void {
    const proxy = this.#world.runtime?.proxy;
    if (proxy === undefined) return;
    this.hangs += 1;
    proxy.hang();
    const forMs = 500 + this.#random.below(4500);
    const isCut = this.#random.chance(0.5);
    this.#hang = delay(forMs).then(() => {
      if (isCut) proxy.cut();
      proxy.resume();
      this.#quiet();
    });
  }

  #quiet(): void {
    this.quietSince = performance.now();
  }
}

/** Nearly every round kills kubelet-ts, one in ten containerd; the runtime hangs where it can. */
function planSteps(random: SeededRandom, { canHang }: { canHang: boolean }): Step[] {
  const changes: Step[] = random.times(1, 4, () =>
    random.pick([
      'create',
      'create',
      'update',
      'remove',
      'crash',
      'crash',
      'crashSandbox',
      'removeDead',
      'removeDead',
      'operate',
      'operate',
      'apply',
      'apply',
      'delete',
      'rollback',
      'rollback',
    ]),
  );
  const blows: Step[] = [
    ...(random.chance(0.95) ? (['killAgent'] as const) : []),
    ...(random.chance(0.12) ? (['killContainerd'] as const) : []),
    ...(canHang && random.chance(0.4) ? (['hang'] as const) : []),
  ];
  for (const blow of blows) changes.splice(random.below(changes.length + 1), 0, blow);
  return changes;
}
