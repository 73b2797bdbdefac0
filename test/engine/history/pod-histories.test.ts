import { existsSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EventEntry } from '../../../src/engine/history/history-entry.ts';
import { historyPath } from '../../../src/engine/history/history-file.ts';
import { PodHistories } from '../../../src/engine/history/pod-histories.ts';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { Journal } from '../../fakes/journal.ts';
import { lineLogger } from '../../fakes/line-logger.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const web = { uid: 'u1', namespace: 'default', name: 'web' };

type RecordedEvent = Extract<KubeletEvent, { type: 'Recorded' }>;

const started = (at: number, message: string): RecordedEvent => ({
  at,
  type: 'Recorded',
  eventType: 'Normal',
  reason: 'Started',
  message,
  pod: web,
});

describe('what happens within a second', () => {
  test('is one write', async () => {
    const folder = await temporaryFolder();
    const clock = new FakeClock();
    const histories = new PodHistories({
      ...{ folder, clock, logger: silentLogger },
      variablesOf: () => [],
      isDeclared: () => true,
    });
    await histories.nextRestartCount(web, 'main');
    const messages = (): unknown[] =>
      existsSync(join(folder, 'default_web.jsonl'))
        ? readFileSync(join(folder, 'default_web.jsonl'), 'utf8')
            .trimEnd()
            .split('\n')
            .map((line) => (JSON.parse(line) as EventEntry).message)
        : [];
    histories.record(started(0, 'first'));
    await clock.advance(999);
    histories.record(started(999, 'second'));
    const before = { messages: messages(), timers: clock.pending };
    await clock.advance(1);
    const timers = clock.pending;
    await histories.close();
    expect({ before, after: { messages: messages(), timers } }).toEqual({
      before: { messages: [], timers: 1 },
      after: { messages: ['first', 'second'], timers: 0 },
    });
  });

  test('is written again 30 s after a failure', async () => {
    const folder = join(await temporaryFolder(), 'history');
    writeFileSync(folder, 'a file in the place of the folder');
    const clock = new FakeClock();
    const warned = new Journal<string>();
    const logger = {
      ...silentLogger,
      warn: (_facts: unknown, message = '') => {
        warned.add(message);
      },
    };
    const histories = new PodHistories({ ...{ folder, clock, logger }, variablesOf: () => [], isDeclared: () => true });
    await histories.nextRestartCount(web, 'main');
    histories.record(started(0, 'first'));
    await clock.advance(1000);
    await warned.next((message) => message === 'Writing the history of pods failed');
    rmSync(folder);
    await clock.advance(29_999);
    const tooEarly = existsSync(folder);
    const next = await clock.advanceToNextTimer();
    await histories.close();
    expect({ tooEarly, next, files: readdirSync(folder) }).toEqual({
      tooEarly: false,
      next: 1,
      files: ['default_web.jsonl'],
    });
  });
});

test('only whose history is not in use is searched among the declared pods', async () => {
  const folder = await temporaryFolder();
  const asked: string[] = [];
  const histories = (): PodHistories =>
    new PodHistories({
      folder,
      variablesOf: () => [],
      isDeclared: ({ name }) => {
        asked.push(name);
        return true;
      },
      clock: new FakeClock(),
      logger: silentLogger,
    });
  const earlier = histories();
  await earlier.containerCreated({ uid: '1', namespace: 'default', name: 'gone' }, 'main', 3);
  await earlier.close();
  const now = histories();
  for (const name of ['a', 'b', 'c']) await now.containerCreated({ uid: name, namespace: 'default', name }, 'main', 1);
  await now.close();
  expect(asked).toEqual(['gone']);
});

test('of more than 200 pods that are gone the histories of those that went first go, and nothing else of the folder', async () => {
  const folder = await temporaryFolder();
  const names = Array.from({ length: 203 }, (_, index) => `default_gone-${index}.jsonl`);
  const others = ['notes.txt', '\x1b[2J', 'default_gone-0.jsonl.1'];
  for (const name of [...names, ...others]) writeFileSync(join(folder, name), '');
  for (const [index, name] of names.entries()) utimesSync(join(folder, name), index, index);
  const histories = new PodHistories({
    folder,
    variablesOf: () => [],
    isDeclared: () => false,
    clock: new FakeClock(),
    logger: silentLogger,
  });
  await histories.containerCreated({ uid: '1', namespace: 'default', name: 'here' }, 'main', 1);
  await histories.close();
  const left = ['default_here.jsonl', 'notes.txt', '\x1b[2J', ...names.slice(3)];
  expect(readdirSync(folder).sort()).toEqual(left.sort());
});

describe('the history of a pod that was removed is not kept for ever', () => {
  const refOf = (index: number) => ({ uid: `u${index}`, namespace: 'default', name: `gone-${index}` });
  const nameOf = (index: number) => ({ namespace: 'default', name: `gone-${index}` });
  const fileOf = (index: number): string => `default_gone-${index}.jsonl`;

  function open(folder: string): { histories: PodHistories; clock: FakeClock } {
    const clock = new FakeClock();
    const deps = { folder, clock, logger: silentLogger, variablesOf: () => [], isDeclared: () => false };
    return { histories: new PodHistories(deps), clock };
  }

  /** Pods of an earlier agent. The first ones went first. */
  async function gonePods(count: number): Promise<string> {
    const folder = await temporaryFolder();
    const { histories } = open(folder);
    for (let index = 0; index < count; index++) await histories.containerCreated(refOf(index), 'main', index);
    await histories.close();
    for (let index = 0; index < count; index++) utimesSync(join(folder, fileOf(index)), index, index);
    return folder;
  }

  const removed = (index: number): KubeletEvent => ({
    at: 0,
    type: 'WorkerStateChanged',
    pod: refOf(index),
    state: 'removed',
  });

  test('when its remains are removed after its worker', async () => {
    const folder = await gonePods(203);
    const { histories } = open(folder);
    for (const index of [0, 1, 2]) {
      histories.record(removed(index));
      histories.podRemoved(`u${index}`, nameOf(index));
    }
    await histories.close();
    // These three changed last, so the next ones have gone first.
    const left = [0, 1, 2, ...Array.from({ length: 197 }, (_, index) => index + 6)];
    expect(readdirSync(folder).sort()).toEqual(left.map(fileOf).sort());
  });

  test('when its worker goes while its past is read', async () => {
    const folder = await gonePods(201);
    const { histories } = open(folder);
    const count = histories.nextRestartCount(refOf(0), 'main');
    histories.record(removed(0));
    expect(await count).toBe(1);
    await histories.close();
    const left = Array.from({ length: 200 }, (_, index) => index + 1);
    expect(readdirSync(folder).sort()).toEqual(left.map(fileOf).sort());
  });

  test('when somebody asks for its past', async () => {
    const folder = await gonePods(201);
    const earlier = open(folder).histories;
    earlier.record({ ...started(0, 'first'), pod: refOf(0) });
    await earlier.close();
    utimesSync(join(folder, fileOf(0)), 0, 0);
    const { histories } = open(folder);
    const told = await histories.entries(nameOf(0));
    const ofMadeUp = await histories.entries({ namespace: 'default', name: 'made-up' });
    await histories.close();
    const event = { kind: 'event', podUID: 'u0', eventType: 'Normal', reason: 'Started', message: 'first' };
    const left = Array.from({ length: 200 }, (_, index) => index + 1);
    expect({ told, ofMadeUp, files: readdirSync(folder).sort() }).toEqual({
      told: [{ ...event, count: 1, firstAt: 0, lastAt: 0 }],
      ofMadeUp: [],
      files: left.map(fileOf).sort(),
    });
  });

  test('when the disk failed as it was removed', async () => {
    const folder = await gonePods(201);
    const { histories, clock } = open(folder);
    await histories.nextRestartCount(refOf(0), 'main');
    renameSync(folder, `${folder}-away`);
    writeFileSync(folder, 'a file in the place of the folder');
    histories.podRemoved('u0', nameOf(0));
    await clock.advance(1000);
    await histories.containerCreated(refOf(0), 'main', 7);
    rmSync(folder);
    renameSync(`${folder}-away`, folder);
    await histories.close();
    expect(readdirSync(folder)).toHaveLength(200);
  });
});

test('a node that never had a pod has no folder of histories, and warns of nothing', async () => {
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (...words: unknown[]) => warnings.push(words) };
  const folder = join(await temporaryFolder(), 'history');
  const histories = new PodHistories({
    folder,
    variablesOf: () => [],
    isDeclared: () => false,
    clock: new FakeClock(),
    logger,
  });
  await histories.close();
  expect(warnings).toEqual([]);
});

test('the good lines of a history stay, and its damaged ones are counted', async () => {
  const folder = await temporaryFolder();
  const { logger, lines } = lineLogger();
  const histories = new PodHistories({
    ...{ folder, clock: new FakeClock(), logger },
    ...{ variablesOf: () => undefined, isDeclared: () => true },
  });
  const good = JSON.stringify({ kind: 'restarts', podUID: 'u1', counts: { app: 1 } });
  writeFileSync(historyPath(folder, web), `${good}\n{"torn\n${good}\n`);
  await histories.entries(web);
  await histories.entries(web);
  expect(lines).toEqual([
    `warn Damaged lines in the history of a pod are left out ${JSON.stringify({ path: historyPath(folder, web), lines: 1 })}`,
  ]);
});
