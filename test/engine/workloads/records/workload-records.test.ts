import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import type { WorkloadName } from '../../../../src/api/values/workload.ts';
import { readWorkloadRecords, WorkloadRecords } from '../../../../src/engine/workloads/records/workload-records.ts';
import { lineLogger } from '../../../fakes/line-logger.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const web: WorkloadName = { kind: 'Deployment', namespace: 'default', name: 'web' };

/** Writes the record of a Deployment. Returns its path. */
async function written(rootDir: string, workload: WorkloadName = web): Promise<string> {
  const records = new WorkloadRecords({ rootDir, logger: silentLogger });
  await records.ask(workload, (record) => ({ ...record, isPaused: true }));
  const folder = join(rootDir, 'state', 'workloads');
  return join(folder, (await readdir(folder)).find((file) => file.includes(`_${workload.name}-`)) ?? '');
}

async function load(
  rootDir: string,
  more: { maxDoubtful?: number } = {},
): Promise<{ records: WorkloadRecords; lines: string[] }> {
  const { logger, lines } = lineLogger();
  const records = new WorkloadRecords({ rootDir, logger, ...more });
  await records.load();
  return { records, lines };
}

test.each<[what: string, content: Buffer | string]>([
  ['that is larger than any record', Buffer.alloc(17 * 1024 * 1024, ' ')],
  ['whose content is nested too deeply', `{"job":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`],
  ['of another workload', JSON.stringify({ version: 1, ...web, name: 'other', isPaused: true })],
  ['of a kind that is none', JSON.stringify({ version: 1, ...web, kind: '../../x', isPaused: true })],
])('a file %s is set aside and named in the log, and the others are read', async (_what, content) => {
  const rootDir = await temporaryFolder();
  const path = await written(rootDir);
  await written(rootDir, { ...web, name: 'db' });
  await writeFile(path, content);
  expect(await readWorkloadRecords(rootDir)).toMatchObject([{ name: 'db', isPaused: true }]);
  const { records, lines } = await load(rootDir);
  expect({ web: records.of(web).isPaused, db: records.of({ ...web, name: 'db' }).isPaused }).toEqual({ db: true });
  expect(lines).toEqual([expect.stringMatching(/^warn A damaged state file was set aside .*deployment_default_web-/)]);
  expect(await readdir(join(rootDir, 'state', 'workloads'))).toContain(`${basename(path)}.damaged`);
});

test('a folder in place of a record is set aside', async () => {
  const rootDir = await temporaryFolder();
  const folder = join(rootDir, 'state', 'workloads', 'x.json');
  await mkdir(folder, { recursive: true });
  const { lines } = await load(rootDir);
  expect(lines).toEqual([expect.stringContaining(folder)]);
});

test('the records of workloads that only starts with other manifests leave out are bounded', async () => {
  const rootDir = await temporaryFolder();
  const { records } = await load(rootDir, { maxDoubtful: 5 });
  const add = async (name: string): Promise<void> => {
    await records.ask({ ...web, name }, (record) => ({ ...record, isPaused: true }));
  };
  for (let index = 0; index < 4; index++) await add(`early-${index}`);
  records.setOthersUndeclared(new Set(), 1, true);
  for (let index = 0; index < 3; index++) await add(`late-${index}`);
  records.setOthersUndeclared(new Set(), 2, true);
  await add('now');
  const { records: next } = await load(rootDir);
  const isKept = (name: string): boolean => next.of({ ...web, name }).isPaused === true;
  const kept = (prefix: string, count: number): number =>
    Array.from({ length: count }, (_, index) => `${prefix}-${index}`).filter(isKept).length;
  expect({ early: kept('early', 4), late: kept('late', 3), now: isKept('now') }).toEqual({
    early: 2,
    late: 3,
    now: true,
  });
});
