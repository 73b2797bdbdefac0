import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { emptyRecord, type PodRecord, type PodRevision } from '../../../src/engine/operations/pod-record.ts';
import { PodRecords, readRecords } from '../../../src/engine/operations/pod-records.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

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

test('a request during a write changes the record, and does not restore a dropped pod', async () => {
  const rootDir = await temporaryFolder();
  const records = new PodRecords({ rootDir, clock: new FakeClock(), logger: pino({ level: 'silent' }) });
  records.save(emptyRecord(web));
  const asked = records.ask(web, stopped);
  const newer = { ...emptyRecord(web), current: 2 };
  records.save(newer);
  await asked;
  expect(records.all()).toEqual([stopped(newer)]);
  await records.close();
  expect(await readRecords(rootDir)).toEqual([stopped(newer)]);

  const late = records.ask(web, (newest) => ({ ...newest, current: 3 }));
  records.remove(web);
  await late;
  await records.close();
  expect({ known: records.all(), written: await readRecords(rootDir) }).toEqual({ known: [], written: [] });
});

test('a record is written without its oldest revisions if it were too large to be read', async () => {
  const rootDir = await temporaryFolder();
  const warnings: unknown[] = [];
  const write = (line: string): void => {
    const { msg, pod, dropped } = JSON.parse(line) as Record<string, unknown>;
    warnings.push({ msg, pod, dropped });
  };
  const logger = pino({ level: 'warn' }, { write });
  const records = new PodRecords({ rootDir, clock: new FakeClock(), logger });
  const args = ['x'.repeat(4 * 1024 * 1024)];
  const revision = (number: number): PodRevision => ({
    number,
    name: `revision-${number}`,
    takenAt: 1,
    from: '/manifests/web.yaml',
    isDerivedUID: true,
    wasReady: number === 2,
    pod: makeStaticPod('web', { uid: `u${number}`, spec: { containers: [{ name: 'main', image: 'app:1', args }] } }),
  });
  const large = { ...emptyRecord(web), current: 9, revisions: [1, 2, 3, 4, 5, 6, 7, 8, 9].map(revision) };
  const kept = { ...large, revisions: [2, 4, 5, 6, 7, 8, 9].map(revision) };
  records.save(large);
  await records.close();
  expect({ known: records.all(), read: await readRecords(rootDir) }).toEqual({ known: [kept], read: [kept] });

  records.save(large);
  await records.ask(web, stopped);
  expect({ known: records.all(), read: await readRecords(rootDir) }).toEqual({
    known: [stopped(kept)],
    read: [stopped(kept)],
  });
  const warning = { pod: 'default/web', dropped: 2 };
  const msg = 'The revisions of a pod are too large, history and rollback miss the oldest ones';
  expect(warnings).toEqual([
    { ...warning, msg },
    { ...warning, msg },
  ]);
});
