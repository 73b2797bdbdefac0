import { connect } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pathExists } from '../../src/files/path-exists.ts';
import { openPlugins } from '../../src/plugins/open-plugins.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { FakePlugin } from '../fakes/fake-plugin.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { propertyRuns, propertyTimeoutMs } from '../support/property-runs.ts';
import { World } from './world.ts';

const resource = 'example.com/dev';

const podWith = (name: string, count: number) =>
  makeStaticPod(name, {
    spec: { containers: [{ name: 'main', image: 'app:1', resources: { limits: { [resource]: String(count) } } }] },
  });

const listed = (ids: readonly string[], health = 'Healthy') => ids.map((ID) => ({ ID, health }));

/** What a plugin may do. */
const actions = fc.oneof(
  fc.record({ does: fc.constant('lists' as const), count: fc.integer({ min: 0, max: 6 }) }),
  fc.constant({ does: 'calls all unhealthy' as const }),
  fc.constant({ does: 'crashes' as const }),
  fc.constant({ does: 'comes back' as const }),
  fc.constant({ does: 'hangs' as const }),
  fc.constant({ does: 'fails' as const }),
  fc.constant({ does: 'sends an endless list' as const }),
  fc.constant({ does: 'sends an endless id' as const }),
  fc.constant({ does: 'registers nonsense' as const }),
  fc.constant({ does: 'sends garbage' as const }),
  fc.record({ does: fc.constant('is asked by a pod' as const), count: fc.integer({ min: 1, max: 3 }) }),
);
type Action = typeof actions extends fc.Arbitrary<infer T> ? T : never;

class Round {
  readonly #world: World;
  readonly #source: ManualSource;
  #plugin = new FakePlugin();
  readonly #counts: number[] = [];

  constructor(world: World, source: ManualSource) {
    this.#world = world;
    this.#source = source;
  }

  get #folder(): string {
    return join(this.#world.rootDir, 'device-plugins');
  }

  async start(): Promise<void> {
    await this.#comeBack();
    await this.#try({ does: 'is asked by a pod', count: 1 });
  }

  async play(action: Action): Promise<void> {
    const before = this.#world.runtime.running();
    await this.#try(action);
    for (let turns = 0; turns < 50; turns++) await nextTurn();
    await this.#world.pass(500);
    expect(this.#world.runtime.running()).toEqual(expect.arrayContaining(before));
    expect(this.#sharedDevices()).toEqual([]);
  }

  async #try(action: Action): Promise<void> {
    switch (action.does) {
      case 'lists':
        this.#plugin.send(listed(Array.from({ length: action.count }, (_, index) => `d${index}`)));
        return;
      case 'calls all unhealthy':
        this.#plugin.send(listed(['d0', 'd1', 'd2'], 'Unhealthy'));
        return;
      case 'crashes':
        this.#plugin.crash();
        return;
      case 'comes back':
        await this.#comeBack();
        return;
      case 'hangs':
        this.#plugin.answers['allocate'] = () => new Promise(() => undefined);
        return;
      case 'fails':
        this.#plugin.answers['allocate'] = () => Promise.reject(new Error('broken'));
        return;
      case 'sends an endless list':
        this.#plugin.send(listed(Array.from({ length: 5000 }, (_, index) => `d${index}`)));
        return;
      case 'sends an endless id':
        this.#plugin.send(listed(['x'.repeat(2_000_000)]));
        return;
      case 'registers nonsense':
        await this.#plugin.register(join(this.#folder, 'kubelet.sock'), { resourceName: 'x'.repeat(100_000) });
        return;
      case 'sends garbage': {
        const socket = connect(join(this.#folder, 'kubelet.sock'));
        socket.on('error', () => undefined);
        socket.end('\0'.repeat(10_000));
        return;
      }
      case 'is asked by a pod':
        this.#counts.push(action.count);
        this.#source.set(...this.#counts.map((count, index) => podWith(`p${index}`, count)));
    }
  }

  async #comeBack(): Promise<void> {
    this.#plugin.crash();
    this.#plugin = new FakePlugin();
    this.#plugin.answers['allocate'] = ({ containerRequests }: { containerRequests: { devicesIds: string[] }[] }) => ({
      containerResponses: containerRequests.map(({ devicesIds }) => ({ envs: { DEVICES: devicesIds.join() } })),
    });
    this.#plugin.send(listed(['d0', 'd1', 'd2']));
    await this.#plugin.listen(join(this.#folder, 'dev.sock'));
    const request = { endpoint: 'dev.sock', resourceName: resource };
    await this.#plugin.register(join(this.#folder, 'kubelet.sock'), request);
  }

  end(): void {
    this.#plugin.crash();
  }

  /** Devices that two running containers were given. */
  #sharedDevices(): string[] {
    const given = this.#world.runtime
      .requestsOf('createContainer')
      .flatMap(({ config }) => (config?.envs ?? []).filter(({ key }) => key === 'DEVICES'))
      .flatMap(({ value }) => Buffer.from(value).toString().split(','));
    return given.filter((id, index) => given.indexOf(id) !== index);
  }
}

test(
  'a plugin that crashes, hangs, lies, comes back and changes its devices loses no container and shares no device',
  { timeout: propertyTimeoutMs },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { minLength: 4, maxLength: 8 }), async (plan) => {
        const world = await World.open();
        const source = new ManualSource();
        source.set();
        await world.boot({ sources: [source], plugins: openPlugins({ faults: silentFaults(), clock: world.clock }) });
        await world.until(() => pathExists(join(world.rootDir, 'device-plugins', 'kubelet.sock')));
        const round = new Round(world, source);
        try {
          await round.start();
          await world.until(() => world.runtime.running().length === 1);
          for (const action of plan) await round.play(action);
        } finally {
          round.end();
          await world.end();
        }
      }),
      propertyRuns(2),
    );
  },
);
