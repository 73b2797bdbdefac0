import { expect, test } from 'vitest';
import type { ContainerdShim } from '../../src/containerd/containerd-shims.ts';
import { OrphanShims } from '../../src/containerd/orphan-shims.ts';
import type { Logger } from '../../src/logger.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

/** A machine with shims, and a containerd that knows some of them. */
class World {
  readonly clock = new FakeClock();
  readonly shims: ContainerdShim[] = [];
  readonly known = new Set<string>();
  readonly ended: ContainerdShim[] = [];
  readonly warnings: string[] = [];
  readonly released = new AbortController();
  answers = true;
  listings = 0;
  tell: () => void = () => undefined;
  readonly orphans: OrphanShims;

  constructor({ isOurs = true } = {}) {
    const logger: Logger = {
      ...silentLogger,
      warn: (...[, text]: unknown[]) => {
        this.warnings.push(String(text));
      },
    };
    this.orphans = new OrphanShims(
      {
        findShims: () => Promise.resolve([...this.shims]),
        listKnownIDs: () => {
          this.listings += 1;
          return this.answers ? Promise.resolve(new Set(this.known)) : Promise.reject(new Error('no connection'));
        },
        events: () => this.#events(),
        end: isOurs
          ? (shim) => {
              this.ended.push(shim);
              this.shims.splice(this.shims.indexOf(shim), 1);
              return Promise.resolve();
            }
          : undefined,
        clock: this.clock,
        logger,
      },
      this.released.signal,
    );
  }

  addShim(id: string, startTicks = '1'): ContainerdShim {
    const shim = { process: { pid: 7, startTicks }, id, program: '/usr/bin/containerd-shim-runc-v2' };
    this.shims.push(shim);
    return shim;
  }

  async *#events(): AsyncGenerator<{ type: string }> {
    for (;;) {
      await new Promise<void>((resolve) => {
        this.tell = resolve;
      });
      yield { type: 'removed' };
    }
  }
}

test('a shim that containerd knows neither at first nor some seconds later is ended', async () => {
  const world = new World();
  const orphan = world.addShim('orphan');
  world.addShim('known');
  world.known.add('known');
  void world.orphans.follow();
  await world.clock.advance(4999);
  expect(world.ended).toEqual([]);
  await world.clock.advance(1);
  expect(world.ended).toEqual([orphan]);
  expect(world.warnings).toEqual(['Stopped a shim that containerd did not list']);
});

test('a shim that becomes known, or that another one took the place of, is left alone', async () => {
  const world = new World();
  world.addShim('becomes known');
  world.addShim('replaced');
  void world.orphans.follow();
  await world.clock.advance(1000);
  world.known.add('becomes known');
  world.shims.pop();
  world.addShim('replaced', '2');
  await world.clock.advance(4000);
  expect(world.ended).toEqual([]);
});

test('a shim whose sandbox containerd loses later is stopped', async () => {
  const world = new World();
  const shim = world.addShim('removed');
  world.known.add('removed');
  void world.orphans.follow();
  await world.clock.advance(60_000);
  world.known.delete('removed');
  world.tell();
  await world.clock.advance(5000);
  expect(world.ended).toEqual([shim]);
});

test('however many containers go, containerd is asked once in five seconds', async () => {
  const world = new World();
  world.addShim('known');
  world.known.add('known');
  void world.orphans.follow();
  for (let second = 0; second < 20; second++) {
    world.tell();
    await world.clock.advance(1000);
  }
  expect(world.listings).toBe(5);
});

test('while containerd does not answer no shim is ended', async () => {
  const world = new World();
  const shim = world.addShim('unknown');
  world.answers = false;
  void world.orphans.check();
  await world.clock.advance(10_000);
  expect(world.ended).toEqual([]);
  world.answers = true;
  void world.orphans.check();
  await world.clock.advance(1000);
  world.answers = false;
  await world.clock.advance(10_000);
  expect(world.ended).toEqual([]);
  world.answers = true;
  void world.orphans.check();
  await world.clock.advance(10_000);
  expect(world.ended).toEqual([shim]);
});

test('reports, but does not stop, an orphaned shim of a containerd that is not managed', async () => {
  const world = new World({ isOurs: false });
  world.addShim('unknown');
  void world.orphans.check();
  await world.clock.advance(10_000);
  expect(world.shims).toHaveLength(1);
  expect(world.warnings).toEqual([
    'containerd does not list a running shim: stop it by hand, as this containerd is not managed',
  ]);
});

test('nothing is ended after the release', async () => {
  const world = new World();
  world.addShim('unknown');
  void world.orphans.check();
  await world.clock.advance(1000);
  world.released.abort();
  void world.orphans.check();
  await world.clock.advance(10_000);
  expect(world.ended).toEqual([]);
});

test('whoever ends containerd waits only where a shim is unknown, which is ended also after the release', async () => {
  const world = new World();
  world.released.abort();
  world.addShim('known');
  world.known.add('known');
  await world.orphans.checkBeforeStop();
  const orphan = world.addShim('orphan');
  const looked = world.orphans.checkBeforeStop();
  await world.clock.advance(4999);
  expect(world.ended).toEqual([]);
  await world.clock.advance(1);
  await looked;
  expect(world.ended).toEqual([orphan]);
});

test('stopping a containerd that does not answer reports its shims', async () => {
  const world = new World();
  world.answers = false;
  await world.orphans.checkBeforeStop();
  expect(world.warnings).toEqual([]);
  world.addShim('unknown');
  await world.orphans.checkBeforeStop();
  expect(world.warnings).toEqual(['Cannot find out whether some running shims are in use']);
});
