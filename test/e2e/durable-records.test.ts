import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { PodRecords, readRecords } from '../../src/engine/operations/pod-records.ts';
import { emptyRecord } from '../../src/engine/operations/pod-record.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { mountLoopDisk } from '../support/loop-disk.ts';

test('the revisions of pods are on the disk soon after they are recorded, even if the power goes then', async () => {
  const disk = await mountLoopDisk({ mebibytes: 16 });
  onTestFinished(() => disk.remove());
  const rootDir = disk.folder;
  const records = new PodRecords({ rootDir, clock: new FakeClock(), logger: pino({ level: 'silent' }) });
  const pods = ['a', 'b', 'c'].map((name) => emptyRecord({ namespace: 'default', name }));
  for (const record of pods) records.save(record);
  await records.close();

  // What the kernel still has in memory is lost.
  await disk.copy();
  await disk.bootFromCopy();
  const kept = (await readRecords(rootDir)).sort((a, b) => a.name.localeCompare(b.name));
  expect(kept).toEqual(pods);
});
