import type { Pod } from '../../src/api/types.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, type MethodName, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const mebibyte = 1024 ** 2;
/** Milliseconds that a machine needs to come to rest. */
const restMs = 120_000;

/**
 * A pod whose manifest is edited again and again, in fields that change in place, while its agent is killed and its
 * runtime fails. It must remain the same pod, and its other container must never restart.
 */
export class InPlaceModel {
  readonly violations = new Set<string>();
  readonly #world: World;
  #declared: Pod;
  readonly #uid: string;
  #source = new ManualSource();
  #engine: Engine | undefined;
  #heal: (() => void)[] = [];

  private constructor(world: World) {
    this.#world = world;
    this.#declared = podOf(1, 64);
    this.#uid = this.#declared.metadata.uid;
  }

  static async open(): Promise<InPlaceModel> {
    const model = new InPlaceModel(await World.open());
    await model.boot();
    await model.#world.until(() => model.#engine?.isReady('web-edge1') === true);
    await model.#world.pass(1000);
    return model;
  }

  async end(): Promise<void> {
    this.recover();
    await this.#world.end();
  }

  // Steps.

  edit(image: number, memory: number): void {
    this.#declared = podOf(image, memory);
    this.#source.setDerived(this.#declared);
  }

  exit(): void {
    const isRunning = this.#world.runtime.running().some((name) => name.startsWith('web-edge1/main#'));
    if (isRunning) this.#world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  }

  fail(method: MethodName, times: number): void {
    this.#heal.push(this.#world.runtime.injectError(method, new Refusal(codes.unavailable, 'not now'), { times }));
  }

  hang(method: MethodName, answersOnly: boolean): void {
    this.#heal.push(this.#world.runtime.hang(method, { answersOnly }));
  }

  recover(): void {
    for (const heal of this.#heal) heal();
    this.#heal = [];
  }

  crash(): void {
    this.#engine?.crash();
    this.#forgetEngine();
  }

  async stop(): Promise<void> {
    await this.#engine?.kill();
    this.#forgetEngine();
  }

  async boot(): Promise<void> {
    if (this.#engine !== undefined) return;
    this.#source.setDerived(this.#declared);
    this.#engine = await this.#world.boot({
      sources: [this.#source],
      node: makeNodeConfig(this.#world.folder, { maxContainerRestartPeriodMs: 10_000 }),
    });
  }

  async pass(ms: number): Promise<void> {
    await this.#world.pass(ms);
    if (this.#world.runtime.maxConcurrentRunning('web-edge1', 'main') > 1) this.violations.add('main ran twice');
  }

  /** Clears all faults, runs an engine and lets time pass. Then checks that the pod is as declared. */
  async rest(): Promise<void> {
    this.recover();
    await this.boot();
    const end = this.#world.clock.monotonic() + restMs;
    let found: unknown;
    const wanted = this.#wanted();
    await this.#world.until(async () => {
      found = await this.#found();
      return JSON.stringify(found) === JSON.stringify(wanted) || this.#world.clock.monotonic() >= end;
    });
    if (JSON.stringify(found) !== JSON.stringify(wanted))
      this.violations.add(`at rest: ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
    await this.pass(0);
  }

  #forgetEngine(): void {
    this.#engine = undefined;
    this.#source = new ManualSource();
  }

  #wanted(): unknown {
    const [main] = this.#declared.spec.containers;
    return {
      pods: [{ uid: this.#uid, outdated: [], waits: false }],
      sandboxes: 1,
      main: { image: main?.image, memory: main?.resources?.limits?.['memory'] },
      side: 'web-edge1/side#0',
    };
  }

  async #found(): Promise<unknown> {
    const { runtime } = this.#world;
    const { containers } = await runtime.listContainers({ filter: { state: { state: 'CONTAINER_RUNNING' } } });
    const main = containers.find(({ metadata }) => metadata?.name === 'main');
    const status = main && (await runtime.containerStatus({ containerId: main.id })).status;
    const bytes = status?.resources?.linux?.memoryLimitInBytes ?? 0n;
    return {
      pods: this.#engine?.kubelet
        .snapshot()
        .pods.map(({ pod, outdatedContainers = [], waitingUpdate }) => ({
          uid: pod.metadata.uid,
          outdated: outdatedContainers,
          waits: waitingUpdate !== undefined,
        })),
      sandboxes: runtime.requestsOf('runPodSandbox').length,
      main: { image: status?.image?.userSpecifiedImage, memory: `${Number(bytes) / mebibyte}Mi` },
      side: runtime.running().find((name) => name.startsWith('web-edge1/side')),
    };
  }
}

function podOf(image: number, memory: number): Pod {
  return makeStaticPod('web', {
    spec: {
      containers: [
        { name: 'main', image: `registry.example/app:${image}`, resources: { limits: { memory: `${memory}Mi` } } },
        { name: 'side', image: 'registry.example/side:1' },
      ],
    },
  });
}
