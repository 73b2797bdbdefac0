import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished, expect, test } from 'vitest';
import { OriginFailure } from '../../../src/engine/config/polled/origin-failure.ts';
import type { ManifestProblem } from '../../../src/engine/view/events.ts';
import { withGrowingIntervals } from '../../../src/node/log/repeated-failures.ts';
import { StatusURLs } from '../../../src/node/status-urls/status-urls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { lineLogger } from '../../fakes/line-logger.ts';
import { isFileAtWork } from '../../support/file-operations.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { EventfulEngine } from './reported-engine.ts';

const where = 'https://home.example/status';
const pod = { namespace: 'default', name: 'web-edge1', uid: '1' };
const hour = 3_600_000;
const day = 24 * hour;
const megabyte = 1024 * 1024;

interface Body {
  eventLogID: string;
  lostEvents: number;
  hasMoreEvents: boolean;
  events: { sequence: number; message: string }[];
}

/** A server that is there or not, and boxes that post to it. */
class Home {
  readonly clock = new FakeClock();
  readonly bodies: Body[] = [];
  readonly log = lineLogger();
  warnings: ManifestProblem[] = [];
  isOnline = true;

  constructor(readonly rootDir: string) {}

  static async make(): Promise<Home> {
    return new Home(await temporaryFolder());
  }

  get folder(): string {
    return join(this.rootDir, 'state/status-urls');
  }

  get events(): Body['events'] {
    return this.bodies.flatMap(({ events }) => events);
  }

  /** Starts an agent. `kill` ends it like SIGKILL: it posts and writes nothing more. */
  async start(): Promise<{ engine: EventfulEngine; urls: StatusURLs; kill: () => void }> {
    const { clock, rootDir } = this;
    const engine = new EventfulEngine();
    const ended = new AbortController();
    const urls = await StatusURLs.open({
      rootDir,
      servers: [{ where, post: (body) => this.receive(body) }],
      clock,
      random: () => 0.5,
      logger: withGrowingIntervals(this.log.logger, clock),
    });
    const running = urls.run(engine, ended.signal);
    const kill = (): void => {
      ended.abort(new Error('killed'));
    };
    onTestFinished(async () => {
      kill();
      await running;
    });
    return { engine, urls, kill };
  }

  /** Lets time pass, and the disk finish. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    while (isFileAtWork()) await this.clock.advance(0);
    await this.clock.advance(0);
  }

  /** Lets ten seconds pass several times, because a post waits for the disk after the one before. */
  async passSteps(count: number): Promise<void> {
    for (let step = 0; step < count; step++) await this.pass(10_000);
  }

  async bytesOnDisk(): Promise<number> {
    const names = await readdir(this.folder);
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(this.folder, name))).size));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  private receive(body: string): Promise<ManifestProblem[]> {
    if (!this.isOnline) return Promise.reject(new OriginFailure('refused', 'the server answered 500', 'Look.'));
    this.bodies.push(JSON.parse(body) as Body);
    return Promise.resolve(this.warnings);
  }
}

function record(home: Home, engine: EventfulEngine, message: string): void {
  const at = home.clock.now();
  engine.emit({ at, type: 'Recorded', eventType: 'Warning', reason: 'BackOff', message, pod, containerName: 'app' });
}

test('a box that is offline for 14 days stays in its bounds, logs one line and loses no event', async () => {
  const home = await Home.make();
  const { engine, urls } = await home.start();
  await home.pass(20_000);
  expect(home.bodies).toHaveLength(1);
  home.isOnline = false;
  const began = home.clock.now();
  let count = 0;
  for (let passed = 0; passed < 14 * day; passed += 6 * hour) {
    for (let index = 0; index < 36; index++) {
      record(home, engine, `back-off number ${++count} restarting the failed container`);
    }
    await home.pass(6 * hour);
  }
  expect(count).toBe(2016);
  expect(home.log.lines).toEqual([
    expect.stringMatching(/^info The status is accepted /),
    expect.stringMatching(/^warn The status was not accepted; events are kept until it is .*answered 500/),
  ]);
  expect(await home.bytesOnDisk()).toBeLessThan(2.1 * megabyte);
  expect(urls.snapshot()).toEqual([
    {
      where,
      acceptedAt: expect.any(Number) as number,
      failure: { since: began + 1000, message: 'the server answered 500', hint: 'Look.' },
    },
  ]);

  home.isOnline = true;
  await home.passSteps(90);
  expect(home.events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  expect(home.bodies.map(({ lostEvents }) => lostEvents)).toEqual(home.bodies.map(() => 0));
  expect(Math.max(...home.bodies.map((body) => JSON.stringify(body).length))).toBeLessThan(megabyte / 2);
  expect(home.log.lines).toHaveLength(3);
  expect(urls.snapshot()).toEqual([{ where, acceptedAt: expect.any(Number) as number }]);
});

test('with too many events the newest MiB stays, and the server learns how many are lost', async () => {
  const home = await Home.make();
  home.isOnline = false;
  const { engine } = await home.start();
  const long = 'x'.repeat(900);
  const count = 4000;
  for (let index = 1; index <= count; index++) {
    record(home, engine, `${index} ${long}`);
    if (index % 50 === 0) await home.pass(1000);
  }
  expect(await home.bytesOnDisk()).toBeLessThan(2.2 * megabyte);
  home.isOnline = true;
  await home.passSteps(90);
  const [first] = home.bodies;
  const kept = home.events.length;
  expect(first).toMatchObject({ lostEvents: count - kept, hasMoreEvents: true });
  expect(home.events.map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: kept }, (_, index) => count - kept + index + 1),
  );
  expect(kept * 1000).toBeGreaterThan(0.9 * megabyte);
});

test('kill -9 loses no event that was queued, and the next agent continues with its numbers', async () => {
  const home = await Home.make();
  const first = await home.start();
  record(home, first.engine, 'one');
  await home.pass(30_000);
  home.isOnline = false;
  for (const message of ['two', 'three']) record(home, first.engine, message);
  await home.pass(1);
  first.kill();
  const second = await home.start();
  expect(second.urls.snapshot()).toEqual([{ where, acceptedAt: expect.any(Number) as number }]);
  record(home, second.engine, 'four');
  home.isOnline = true;
  await home.pass(60_000);
  expect(home.events).toMatchObject(
    ['one', 'two', 'three', 'four'].map((message, n) => ({ sequence: n + 1, message })),
  );
  expect(new Set(home.bodies.map(({ eventLogID }) => eventLogID)).size).toBe(1);
});

test('an accepted event is not posted again after a restart, and events of a damaged line are skipped', async () => {
  const home = await Home.make();
  const first = await home.start();
  record(home, first.engine, 'one');
  await home.pass(30_000);
  first.kill();
  await writeFile(join(home.folder, 'events.jsonl'), '{"sequence":2,"mess', { flag: 'a' });
  const second = await home.start();
  record(home, second.engine, 'two');
  await home.pass(30_000);
  expect(home.events).toMatchObject([{ message: 'one' }, { sequence: 2, message: 'two' }]);
});

test('while the disk fails, events are posted from memory and one line says so', async () => {
  const home = await Home.make();
  const { engine } = await home.start();
  await rm(home.folder, { recursive: true });
  await writeFile(home.folder, '');
  for (const message of ['one', 'two', 'three']) {
    record(home, engine, message);
    await home.pass(60_000);
  }
  expect(home.events).toMatchObject([{ message: 'one' }, { message: 'two' }, { message: 'three' }]);
  expect(home.log.lines.map((line) => line.split(' {')[0])).toEqual([
    'info The status is accepted',
    'warn Saving events for the status URLs failed; retrying',
    'warn Recording what status URLs accepted failed',
  ]);
  // The next agent would use their numbers again.
  const [saved, ...unsaved] = home.bodies.map(({ eventLogID }) => eventLogID);
  expect([new Set(unsaved).size, unsaved.includes(saved ?? '')]).toEqual([1, false]);
  await rm(home.folder);
  await mkdir(home.folder);
  await home.pass(60_000);
  expect(await readdir(home.folder)).toContain('events.jsonl');
  record(home, engine, 'four');
  await home.pass(60_000);
  expect(home.bodies.at(-1)).toMatchObject({ eventLogID: saved, events: [{ message: 'four', sequence: 4 }] });
});

test('each outage has its line, and a warning about the credentials has one', async () => {
  const home = await Home.make();
  home.warnings = [{ origin: '/token', severity: 'warning', message: 'every user may read it' }];
  await home.start();
  for (const isOnline of [true, false, true, false, true]) {
    home.isOnline = isOnline;
    await home.passSteps(90);
  }
  expect(home.log.lines.map((line) => line.split(' {')[0])).toEqual([
    'warn every user may read it',
    'info The status is accepted',
    'warn The status was not accepted; events are kept until it is',
    'info The status is accepted',
    'warn The status was not accepted; events are kept until it is',
    'info The status is accepted',
  ]);
});

test('an engine in which nothing happens posts every few minutes', async () => {
  const home = await Home.make();
  const { engine } = await home.start();
  await home.pass(hour);
  expect(home.bodies).toHaveLength(13);
  engine.emit({ at: home.clock.now(), type: 'SourceRead', source: 'file', where: '/m', pods: 0, problems: [] });
  engine.emit({ at: home.clock.now(), type: 'SyncStarted', pod, state: 'sync' });
  await home.pass(2000);
  expect(home.bodies).toHaveLength(13);
  const problems = [{ origin: '/m/web.yaml', severity: 'error', message: 'no name' } as const];
  engine.emit({ at: home.clock.now(), type: 'SourceRead', source: 'file', where: '/m', pods: 0, problems });
  await home.pass(2000);
  expect(home.bodies).toHaveLength(14);
});
