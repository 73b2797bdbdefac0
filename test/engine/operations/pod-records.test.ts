import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { emptyRecord, type PodRecord } from '../../../src/engine/operations/pod-record.ts';
import { PodRecords, readRecords } from '../../../src/engine/operations/pod-records.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const web = { namespace: 'default', name: 'web' };
const stopped = (record: PodRecord): PodRecord => ({ ...record, isStopped: true });
const record = stopped(emptyRecord(web));

test('a request that cannot be written is refused, and logged once until a write succeeds', async () => {
  const rootDir = await temporaryFolder();
  const folder = join(rootDir, 'state', 'operations');
  const warnings: unknown[] = [];
  const write = (line: string): void => {
    warnings.push((JSON.parse(line) as { msg: unknown }).msg);
  };
  const records = new PodRecords({ rootDir, clock: new FakeClock(), logger: pino({ level: 'warn' }, { write }) });
  const stop = (): Promise<void> => records.ask(web, stopped);
  await mkdir(dirname(folder));
  await writeFile(folder, 'in the way');
  const message = 'Writing the revisions of pods failed, history and rollback may miss them after a restart';
  await expect(stop()).rejects.toThrow();
  await expect(stop()).rejects.toThrow();
  expect({ warnings, asked: records.all() }).toEqual({ warnings: [message], asked: [] });

  await rm(folder);
  await stop();
  await rm(folder, { recursive: true });
  await writeFile(folder, 'in the way');
  await expect(records.ask(web, (newest) => ({ ...newest, isStopped: false }))).rejects.toThrow();
  expect({ warnings, asked: records.all() }).toEqual({ warnings: [message, message], asked: [record] });
});

test('a request changes what is noted while it is written, and brings back no pod that is forgotten then', async () => {
  const rootDir = await temporaryFolder();
  const records = new PodRecords({ rootDir, clock: new FakeClock(), logger: pino({ level: 'silent' }) });
  records.note(emptyRecord(web));
  const asked = records.ask(web, stopped);
  const newer = { ...emptyRecord(web), current: 2 };
  records.note(newer);
  await asked;
  expect(records.all()).toEqual([stopped(newer)]);
  await records.close();
  expect(await readRecords(rootDir)).toEqual([stopped(newer)]);

  const late = records.ask(web, (newest) => ({ ...newest, current: 3 }));
  records.forget(web);
  await late;
  await records.close();
  expect({ known: records.all(), written: await readRecords(rootDir) }).toEqual({ known: [], written: [] });
});
