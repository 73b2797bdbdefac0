import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { DBusLogind } from '../../../src/engine/lifecycle/dbus-logind.ts';
import { ShutdownWatch } from '../../../src/engine/lifecycle/shutdown-watch.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeLogind } from '../../fakes/fake-logind.ts';
import { Journal } from '../../fakes/journal.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const locked = 'locked --what=shutdown --mode=delay --who=kubelet --why=Kubelet needs time to handle node shutdown';
const holding = 'logind waits for the pods when the machine shuts down';
const calledOff = 'The shutdown of the machine was cancelled';
const trying = 'logind does not wait for the pods, so they are stopped at SIGTERM; trying again';

let logind: FakeLogind;
let clock: FakeClock;
/** What is logged, and what is asked of the pods. */
let journal: Journal<string>;
let podsEnded: () => void;
/** The reasons that it gave for not holding a lock. */
let complaints: unknown[];
let watch: ShutdownWatch;
let stop: () => Promise<void>;

const next = (text: string): Promise<string> => journal.next((entry) => entry === text);
/** Until it waits for time to pass. */
async function untilItSleeps(): Promise<void> {
  while (clock.pending === 0) await nextTurn();
}

const nextOfLogind = (text: string): Promise<string> => logind.journal.next((entry) => entry === text);

beforeEach(async () => {
  const folder = await temporaryFolder();
  logind = await FakeLogind.start(folder);
  clock = new FakeClock();
  journal = new Journal();
  onTestFinished(async () => {
    await stop();
    logind.stop();
  });
});

/** Watches for a node whose pods have 30 seconds. */
function start(): void {
  const note = (facts: unknown, message?: string): void => {
    journal.add(message ?? String(facts));
  };
  complaints = [];
  const warn = (facts: unknown, message = ''): void => {
    if (message === trying) complaints.push((facts as { err: unknown }).err);
    journal.add(message);
  };
  watch = new ShutdownWatch({
    logind: new DBusLogind(logind),
    nodeShutdown: {
      begin: (withinSeconds) => {
        journal.add(`end pods in ${String(withinSeconds)} s`);
        return new Promise((resolve) => {
          podsEnded = resolve;
        });
      },
      cancel: () => {
        journal.add('run pods');
      },
    },
    neededSeconds: 30,
    clock,
    logger: { ...silentLogger, info: note, warn },
  });
  const stopping = new AbortController();
  const ended = watch.run(stopping.signal).catch(() => undefined);
  stop = async () => {
    stopping.abort(new Error('the test is over'));
    await ended;
  };
}

describe('a node to which logind reports shutdowns', () => {
  test('holds a lock until the pods ended', async () => {
    start();
    await next(holding);
    expect([...logind.journal.items, watch.isHolding]).toEqual([locked, true]);
    logind.prepareForShutdown(true);
    await next('end pods in 30 s');
    expect(logind.locks).toBe(1);
    podsEnded();
    await nextOfLogind('unlocked');
    expect(logind.locks).toBe(0);
  });

  test('has logind wait as long as the pods have', async () => {
    logind.inhibitDelaySeconds = 5;
    start();
    await next(holding);
    expect(logind.journal.items).toEqual(['killed systemd-logind.service all 1', locked]);
    expect(await readFile(join(logind.configFolder, '99-kubelet.conf'), 'utf8')).toMatch(
      /^#.*\n\[Login\]\nInhibitDelayMaxSec=30\n$/,
    );
    logind.prepareForShutdown(true);
    await next('end pods in 30 s');
  });

  test('makes do with the time that logind has', async () => {
    logind.inhibitDelaySeconds = 5;
    logind.ignoresConfiguration = true;
    start();
    for (const waitMs of [100, 400, 1500]) {
      await untilItSleeps();
      expect(await clock.advanceToNextTimer()).toBe(waitMs);
    }
    await next(holding);
    await next(
      'logind waits for less time than the pods need, so each gets less: raise InhibitDelayMaxSec in logind.conf',
    );
    logind.prepareForShutdown(true);
    await next('end pods in 5 s');
  });

  test('makes do with the time that logind has where its configuration cannot be written', async () => {
    logind.inhibitDelaySeconds = 5;
    await writeFile(logind.configFolder, 'a file');
    start();
    await next('Configuring how long logind waits for the pods failed');
    await next(holding);
    expect(logind.journal.items).toEqual([locked]);
  });

  test('runs its pods again when the shutdown is called off, and holds on', async () => {
    start();
    await next(holding);
    logind.prepareForShutdown(true);
    await next('end pods in 30 s');
    logind.prepareForShutdown(false);
    await next('run pods');
    podsEnded();
    logind.prepareForShutdown(true);
    await next('end pods in 30 s');
    expect([...logind.journal.items, logind.locks]).toEqual([locked, 1]);
  });

  test('holds another lock when the shutdown is called off after the pods ended', async () => {
    start();
    await next(holding);
    await nextOfLogind(locked);
    logind.prepareForShutdown(true);
    await next('end pods in 30 s');
    podsEnded();
    await nextOfLogind('unlocked');
    logind.prepareForShutdown(false);
    await next('run pods');
    await nextOfLogind(locked);
  });

  test('stops its pods once, however often it is signalled', async () => {
    start();
    await next(holding);
    logind.prepareForShutdown(true);
    await next('end pods in 30 s');
    logind.prepareForShutdown(true);
    logind.prepareForShutdown(false);
    await next('run pods');
    expect(journal.items.filter((entry) => entry.startsWith('end pods'))).toEqual(['end pods in 30 s']);
  });

  test('believes logind, not the signal: any user can send one', async () => {
    start();
    await next(holding);
    logind.sendSignal(true);
    logind.prepareForShutdown(true);
    await next('end pods in 30 s');
    logind.sendSignal(false);
    logind.prepareForShutdown(false);
    await next('run pods');
    expect(journal.items).toEqual([holding, 'The machine shuts down', 'end pods in 30 s', calledOff, 'run pods']);
  });

  test('learns of a shutdown that began while the bus was away, its lock still held', async () => {
    start();
    await next(holding);
    logind.stopBus();
    await next(trying);
    expect([watch.isHolding, logind.locks]).toEqual([false, 1]);
    logind.isPreparingForShutdown = true;
    await logind.startBus();
    await untilItSleeps();
    expect(await clock.advanceToNextTimer()).toBe(1000);
    await next('end pods in 30 s');
    expect(logind.journal.items).toEqual([locked]);
  });

  test('tries more and more rarely while the bus is away', async () => {
    start();
    await next(holding);
    logind.stopBus();
    const waitsMs = [];
    for (let tries = 0; tries < 8; tries++) {
      await untilItSleeps();
      waitsMs.push(await clock.advanceToNextTimer());
    }
    expect(waitsMs).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    await logind.startBus();
    await untilItSleeps();
    await clock.advanceToNextTimer();
    await next(holding);
    expect(watch.isHolding).toBe(true);
  });

  test('takes another lock when it lost its own', async () => {
    start();
    await next(holding);
    await nextOfLogind(locked);
    logind.dropLocks();
    await next(trying);
    expect(watch.isHolding).toBe(false);
    await untilItSleeps();
    await clock.advanceToNextTimer();
    await nextOfLogind(locked);
    await next(holding);
  });

  test('says why it has no lock, and continues trying', async () => {
    logind.refusesLocks = true;
    start();
    await next(trying);
    expect([watch.isHolding, complaints]).toEqual([
      false,
      [`${logind.inhibitProgram} ended: Failed to inhibit: Access denied`],
    ]);
    logind.refusesLocks = false;
    await untilItSleeps();
    await clock.advanceToNextTimer();
    await next(holding);
  });

  test('lets go of its lock when it stops', async () => {
    start();
    await next(holding);
    await stop();
    await nextOfLogind('unlocked');
  });

  test('that starts in the middle of a shutdown ends its pods without a lock', async () => {
    logind.isPreparingForShutdown = true;
    start();
    await next('end pods in 30 s');
    expect([logind.journal.items, watch.isHolding, journal.items.includes(holding)]).toEqual([[], false, false]);
  });
});

test('a machine without a system bus is reported once', async () => {
  logind.stopBus();
  start();
  for (let tries = 0; tries < 3; tries++) {
    await untilItSleeps();
    await clock.advanceToNextTimer();
  }
  expect(journal.items).toEqual(['There is no system bus: pods are stopped only at SIGTERM']);
});
