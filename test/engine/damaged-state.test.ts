import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findRootOwner } from '../../src/engine/container/root-owner.ts';
import { historyPath } from '../../src/engine/history/history-file.ts';
import { PodHistories } from '../../src/engine/history/pod-histories.ts';
import { readRevision } from '../../src/engine/in-place/applied-revisions.ts';
import { StatusRecords } from '../../src/engine/status/status-records.ts';
import { WallClockStore } from '../../src/engine/host/wall-clock-store.ts';
import { WallClockHistory } from '../../src/flow/wall-clock-history.ts';
import type { Logger } from '../../src/logger.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { lineLogger } from '../fakes/line-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const pod = { namespace: 'default', name: 'web' };

/** Reads one kind of state file as an agent does when it starts. */
type Read = (folder: string, logger: Logger) => Promise<unknown>;

const kinds: [string, string, Read][] = [
  [
    'state/owner.json',
    'state',
    (rootDir, logger) => findRootOwner({ rootDir, now: 0, recover: () => Promise.resolve(undefined), logger }),
  ],
  [
    'state/clock.json',
    'state',
    async (rootDir, logger) => {
      const clock = new FakeClock();
      const store = new WallClockStore({ rootDir, wallClock: new WallClockHistory(clock), clock, logger });
      await store.load();
      await store.close();
    },
  ],
  [
    'status.json',
    '',
    (folder, logger) => new StatusRecords({ podDir: () => folder, clock: new FakeClock(), logger }).load(['uid']),
  ],
  ['revision.json', '', (folder, logger) => readRevision(folder, logger)],
  [
    historyPath('', pod),
    '',
    async (folder, logger) => {
      const histories = new PodHistories({
        ...{ folder, clock: new FakeClock(), logger },
        ...{ variablesOf: () => undefined, isDeclared: () => true },
      });
      await histories.entries(pod);
    },
  ],
];

test.each(kinds.flatMap((kind) => ['', '{"torn":', 'null', '[]', '{}'].map((text) => [...kind, text] as const)))(
  'a damaged %s is set aside and logged by its name: row %#',
  async (file, inside, read, text) => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, inside), { recursive: true });
    await writeFile(join(folder, file), text);
    const { logger, lines } = lineLogger();
    await read(folder, logger);
    const path = join(folder, file);
    // An empty history is whole.
    const isHistory = file.endsWith('.jsonl');
    const isWhole = isHistory && text === '';
    const warned = lines.map((line) => [
      line.startsWith('warn A damaged state file was set aside'),
      line.includes(path),
    ]);
    expect({
      warned,
      isAside: (await readdir(join(folder, inside))).some(
        (name) => path.endsWith(name.replace(/\.damaged$/, '')) && name.endsWith('.damaged'),
      ),
    }).toEqual({ warned: isWhole ? [] : [[true, true]], isAside: !isWhole });
  },
);

test('the good lines of a history stay, and its damaged ones are counted', async () => {
  const folder = await temporaryFolder();
  const { logger, lines } = lineLogger();
  const histories = new PodHistories({
    ...{ folder, clock: new FakeClock(), logger },
    ...{ variablesOf: () => undefined, isDeclared: () => true },
  });
  const good = JSON.stringify({ kind: 'restarts', podUID: 'u1', counts: { app: 1 } });
  await writeFile(historyPath(folder, pod), `${good}\n{"torn\n${good}\n`);
  await histories.entries(pod);
  await histories.entries(pod);
  expect(lines).toEqual([
    `warn Damaged lines in the history of a pod are left out ${JSON.stringify({ path: historyPath(folder, pod), lines: 1 })}`,
  ]);
});
