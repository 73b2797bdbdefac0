import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PodHistories } from '../../../src/engine/history/pod-histories.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

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
