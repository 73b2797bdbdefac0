import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { PodStatus } from '../../../src/api/types.ts';
import type { DoneContainer } from '../../../src/engine/status/done-containers.ts';
import { PodDirs } from '../../../src/engine/host/pod-dirs.ts';
import { StatusRecords } from '../../../src/engine/status/status-records.ts';
import { makeContainer, makeContainerStatus } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const uid = 'web';
let clock: FakeClock;
let podDirs: PodDirs;
let records: StatusRecords;

beforeEach(async () => {
  clock = new FakeClock();
  podDirs = new PodDirs({ rootDir: await temporaryFolder() });
  await mkdir(podDirs.podDir(uid), { recursive: true });
  records = nextLife();
});

const nextLife = (): StatusRecords =>
  new StatusRecords({ podDir: (podUID) => podDirs.podDir(podUID), clock, logger: silentLogger });

const statusPath = (): string => join(podDirs.podDir(uid), 'status.json');

function readySince(lastTransitionTime: string): PodStatus {
  return { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
}

test('what a status says is there for the next life', async () => {
  await records.load([uid]);
  records.acknowledge(uid, 5);
  records.save(uid, readySince('2025-01-01T00:00:00Z'), []);
  await records.close();
  const next = nextLife();
  await next.load([uid]);
  expect(next.of(uid)).toEqual({
    acknowledgedAt: 5,
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2025-01-01T00:00:00Z' }],
    containers: [],
    done: [],
    restarts: {},
    starting: {},
    runsAnew: false,
  });
  expect(await readdir(podDirs.podDir(uid))).toEqual(['status.json']);
});

test('a pod that becomes ready soon after its start is written a second later', async () => {
  records.acknowledge(uid, 5);
  records.save(uid, {}, []);
  await clock.advance(2000);
  records.save(uid, readySince('2025-01-01T00:00:02Z'), []);
  expect(clock.untilNextTimerMs).toBe(1000);
});

test('a readiness that appears and disappears is written twice a minute', async () => {
  records.acknowledge(uid, 5);
  const texts = new Set<string>();
  for (let second = 0; second < 60; second++) {
    records.save(uid, readySince(`2025-01-01T00:00:${String(second).padStart(2, '0')}Z`), []);
    await clock.advance(1000);
    texts.add(await readFile(statusPath(), 'utf8').catch(() => ''));
  }
  expect(texts.size).toBeLessThanOrEqual(4);
  await records.close();
  expect(await readFile(statusPath(), 'utf8')).toContain('2025-01-01T00:00:59Z');
});

test.each([
  ['a folder', () => mkdir(statusPath())],
  ['cut short', () => writeFile(statusPath(), '{"acknowledgedAt":1,')],
  ['too large', () => writeFile(statusPath(), `{"acknowledgedAt":1}${' '.repeat(5_000_000)}`)],
  ['of another form', () => writeFile(statusPath(), '{"acknowledgedAt":"now","conditions":7}')],
])('a file that is %s is as good as none', async (_what, make) => {
  await make();
  await records.load([uid]);
  expect(records.of(uid)).toBe(undefined);
});

test('nothing is written for a pod whose folder goes, and no folder is made', async () => {
  records.acknowledge(uid, 5);
  records.save(uid, readySince('2025-01-01T00:00:00Z'), []);
  await records.release(uid);
  await rm(podDirs.podDir(uid), { recursive: true });
  records.acknowledge(uid, 6);
  records.save(uid, readySince('2025-01-01T00:00:00Z'), []);
  await records.close();
  expect(await podDirs.podUIDs()).toEqual([]);
});

test('a UID that cannot name a folder does no harm', async () => {
  await records.load(['../web']);
  records.acknowledge('../web', 5);
  records.save('../web', readySince('2025-01-01T00:00:00Z'), []);
  await records.close();
  expect(records.of('../web')?.acknowledgedAt).toBe(5);
});

const done: DoneContainer[] = [
  { status: makeContainerStatus(makeContainer(), { state: 'exited', message: 'all done' }) },
  {
    status: makeContainerStatus(makeContainer({ name: 'init' }), { state: 'exited', exitCode: 1 }),
    sandboxID: 'sandbox-0',
  },
];

test('containers that are done are on disk at once, with all that is known of them', async () => {
  records.acknowledge(uid, 5);
  records.save(uid, {}, done);
  await records.saveDone(uid, done);
  const next = nextLife();
  await next.load([uid]);
  expect(next.of(uid)?.done).toEqual(done);
});

test('whoever removes a done container learns that a disk did not take it', async () => {
  records.acknowledge(uid, 5);
  await mkdir(`${statusPath()}/folder`, { recursive: true });
  await expect(records.saveDone(uid, done)).rejects.toThrow('status.json');
  await rm(statusPath(), { recursive: true });
  await records.saveDone(uid, done);
  expect(await readFile(statusPath(), 'utf8')).toContain('all done');
});

test('a hook that has begun is on disk until it has ended', async () => {
  records.acknowledge(uid, 5);
  await records.hookStarted(uid, 'main', 'a');
  await records.hookStarted(uid, 'main', 'b');
  await records.hookStarted(uid, 'side', 'c');
  records.hookFinished(uid, 'side');
  records.save(uid, readySince('2025-01-01T00:00:00Z'), []);
  await records.close();
  const next = nextLife();
  await next.load([uid]);
  expect(next.of(uid)?.starting).toEqual({ main: 'b' });
});

test('a pod that runs anew is noted until it starts over', async () => {
  records.acknowledge(uid, 5);
  await records.runAnew(uid);
  records.save(uid, readySince('2025-01-01T00:00:00Z'), done);
  const next = nextLife();
  await next.load([uid]);
  expect(next.of(uid)?.runsAnew).toBe(true);
  next.startOver(uid);
  expect(next.of(uid)).toBe(undefined);
});
