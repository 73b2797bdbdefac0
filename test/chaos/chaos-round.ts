import { setTimeout as delay } from 'node:timers/promises';
import type { OperationAction } from '../../src/engine/operations/operation.ts';
import { operate } from '../../src/server/control/control-client.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import type { SeededRandom } from '../builders/seeded-random.ts';
import { nodeName } from '../e2e/agent.ts';
import type { ChaosWorld } from './chaos-world.ts';

/** What was done to a node in one round. */
export interface ChaosRound {
  /** In their order. */
  readonly steps: readonly Step[];
  readonly agentKills: number;
  readonly containerdKills: number;
  readonly hangs: number;
  /** Starts that found no runtime and ended. */
  readonly refusedStarts: number;
  /** Monotonic milliseconds: when the last thing was done. */
  readonly quietSince: number;
}

type Step =
  'create' | 'update' | 'remove' | 'crash' | 'crashSandbox' | 'operate' | 'killAgent' | 'killContainerd' | 'hang';

const names = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6'];
const maxPods = 5;

/**
 * Changes manifests, crashes containers, and kills what runs them in the middle of it. kubelet-ts runs again at the
 * end.
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
    const known = [...desired.keys()];
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
      case 'operate':
        await this.#operate();
        break;
      case 'crash':
      case 'crashSandbox': {
        const lasting = known.filter((name) => desired.get(name)?.ends === false && !stopped.has(name));
        const victim = step === 'crash' ? 'container' : 'sandbox';
        if (lasting.length > 0) await this.#world.crash(this.#random.pick(lasting), victim);
        break;
      }
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

  /** Asks something of a pod that is as declared, and often kills kubelet-ts before it has answered. */
  async #operate(): Promise<void> {
    const { desired, touched, stopped, held } = this.#world;
    const calm = [...desired.values()].filter(({ name, ends }) => !ends && !touched.has(name));
    if (calm.length === 0 || this.#start === undefined) return;
    const { name } = this.#random.pick(calm);
    const action = this.#random.pick<OperationAction>([
      stopped.has(name) ? 'start' : 'stop',
      stopped.has(name) ? 'start' : 'restart',
      held.has(name) ? 'unhold' : 'hold',
    ]);
    await this.#start;
    const asked = this.#ask(name, action);
    // A rejection is handled below.
    asked.catch(() => undefined);
    if (this.#random.chance(0.5)) {
      await delay(this.#random.below(40));
      await this.#killAgent();
      await this.#started();
    }
    // Asked again, it is done once: an answer that was lost may belong to something that was done.
    if (!(await asked.catch(() => false))) await this.#untilAnswered(name, action);
    this.#world.operated(name, action);
  }

  /** True if kubelet-ts answered that it is done. */
  async #ask(name: string, action: OperationAction): Promise<boolean> {
    if (action === 'restart') await this.#world.expectRestart(name);
    const pod = { namespace: 'default', name: `${name}-${nodeName}` };
    return (await operate(controlSocketPath(this.#world.agent.rootDir), pod, action)) !== undefined;
  }

  async #untilAnswered(name: string, action: OperationAction): Promise<void> {
    await this.#hang;
    for (let time = 1; !(await this.#ask(name, action)); time += 1) {
      if (time === 20) throw new Error(`${action} ${name} was never answered`);
      await delay(100);
    }
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
    random.pick(['create', 'create', 'update', 'remove', 'crash', 'crash', 'crashSandbox', 'operate', 'operate']),
  );
  const blows: Step[] = [
    ...(random.chance(0.95) ? (['killAgent'] as const) : []),
    ...(random.chance(0.12) ? (['killContainerd'] as const) : []),
    ...(canHang && random.chance(0.4) ? (['hang'] as const) : []),
  ];
  for (const blow of blows) changes.splice(random.below(changes.length + 1), 0, blow);
  return changes;
}
