import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EventEntry } from '../../../src/engine/history/history-entry.ts';
import { PodHistories } from '../../../src/engine/history/pod-histories.ts';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { Journal } from '../../fakes/journal.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const started = (at: number, message: string): KubeletEvent => ({
  at,
  type: 'Recorded',
  eventType: 'Normal',
  reason: 'Started',
  message,
  pod: { uid: 'u1', namespace: 'default', name: 'web' },
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
    expect(await histories.entries({ namespace: 'default', name: 'web' })).toEqual([]);
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
    await histories.entries({ namespace: 'default', name: 'web' });
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

test('only whose history is not in use is looked for among the declared pods', async () => {
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
