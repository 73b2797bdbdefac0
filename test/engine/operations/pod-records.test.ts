import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { PodRecord } from '../../../src/engine/operations/pod-record.ts';
import { PodRecords } from '../../../src/engine/operations/pod-records.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const record: PodRecord = { version: 1, namespace: 'default', name: 'web', current: 0, revisions: [], isStopped: true };

test('a request that cannot be written is refused, and logged once until a write succeeds', async () => {
  const rootDir = await temporaryFolder();
  const folder = join(rootDir, 'state', 'operations');
  const warnings: unknown[] = [];
  const write = (line: string): void => {
    warnings.push((JSON.parse(line) as { msg: unknown }).msg);
  };
  const records = new PodRecords({ rootDir, clock: new FakeClock(), logger: pino({ level: 'warn' }, { write }) });
  await mkdir(dirname(folder));
  await writeFile(folder, 'in the way');
  const message = 'Writing the revisions of pods failed, history and rollback may miss them after a restart';
  await expect(records.ask(record)).rejects.toThrow();
  await expect(records.ask(record)).rejects.toThrow();
  expect({ warnings, asked: records.all() }).toEqual({ warnings: [message], asked: [] });

  await rm(folder);
  await records.ask(record);
  await rm(folder, { recursive: true });
  await writeFile(folder, 'in the way');
  await expect(records.ask({ ...record, isStopped: false })).rejects.toThrow();
  expect({ warnings, asked: records.all() }).toEqual({ warnings: [message, message], asked: [record] });
});
