import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { awaitEndpoint } from '../../src/containerd/await-endpoint.ts';
import type { ProbeResult } from '../../src/containerd/probe-endpoint.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { Journal } from '../fakes/journal.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const absent: ProbeResult = { kind: 'absent' };
const refused: ProbeResult = { kind: 'refused' };
const answers: ProbeResult = { kind: 'answers', runtimeName: 'containerd', runtimeVersion: '2.1.0' };
const noCri: ProbeResult = { kind: 'no-cri', error: new Error('unknown service') };
const failed: ProbeResult = { kind: 'failed', reason: 'deadline', error: new Error('deadline') };

let folder: string;
let socketPath: string;
let clock: FakeClock;
/** What is behind the endpoint. */
let behind: ProbeResult;
/** Looks at the endpoint. */
let looks: Journal<{ saw: ProbeResult['kind'] }>;
/** What was told of the wait. */
let told: string[];
let stopping: AbortController;

beforeEach(async () => {
  folder = await temporaryFolder();
  socketPath = join(folder, 'containerd', 'containerd.sock');
  clock = new FakeClock();
  behind = absent;
  looks = new Journal();
  told = [];
  stopping = new AbortController();
});

const awaited = (): Promise<ProbeResult> =>
  awaitEndpoint(`unix://${socketPath}`, {
    probe: () => {
      looks.add({ saw: behind.kind });
      return Promise.resolve(behind);
    },
    clock,
    onWaiting: (endpoint, { kind }) => {
      told.push(`${endpoint} ${kind}`);
      return Promise.resolve();
    },
    signal: stopping.signal,
  });

/** Until it waits for time to pass. */
async function untilItSleeps(): Promise<void> {
  while (clock.pending === 0) await nextTurn();
}

const nextLook = (): Promise<unknown> => looks.next(() => true);

const denied: ProbeResult = { kind: 'denied', error: new Error('EACCES') };

test.each([answers, noCri, denied])('what is there at once is not waited for: %j', async (result) => {
  behind = result;
  expect(await awaited()).toBe(result);
  expect([looks.items, told]).toEqual([[{ saw: result.kind }], []]);
});

test('a socket that comes is noticed without time passing, its folder too', async () => {
  const result = awaited();
  await untilItSleeps();
  expect(told).toEqual([`unix://${socketPath} absent`]);
  for (let left = looks.items.length; left > 0; left--) await nextLook();
  await mkdir(join(folder, 'containerd'));
  await nextLook();
  await untilItSleeps();
  behind = answers;
  await writeFile(socketPath, '');
  expect(await result).toBe(answers);
});

test('it is checked ever less often, and reported once', async () => {
  behind = refused;
  const result = awaited();
  const waitsMs: number[] = [];
  while (waitsMs.length < 9) {
    await untilItSleeps();
    waitsMs.push(await clock.advanceToNextTimer());
  }
  expect(waitsMs).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  expect(told).toEqual([`unix://${socketPath} refused`]);
  await untilItSleeps();
  behind = noCri;
  await clock.advanceToNextTimer();
  expect(await result).toBe(noCri);
});

test.each([absent, failed])('a runtime that hangs may take its time to answer, after it was %j too', async (first) => {
  behind = first;
  const result = awaited();
  await untilItSleeps();
  behind = failed;
  await clock.advanceToNextTimer();
  await untilItSleeps();
  behind = answers;
  await clock.advanceToNextTimer();
  expect(await result).toBe(answers);
  expect(told).toEqual([`unix://${socketPath} ${first.kind}`]);
});

test('a stop ends the wait', async () => {
  const result = awaited();
  await untilItSleeps();
  const reason = new Error('stop');
  stopping.abort(reason);
  await expect(result).rejects.toBe(reason);
  expect(clock.pending).toBe(0);
});
