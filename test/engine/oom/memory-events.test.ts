import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { AsyncQueue } from '../../../src/flow/async-queue.ts';
import { MemoryEvents } from '../../../src/engine/oom/memory-events.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { untilFilesRest } from '../../support/file-operations.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A tree as of the systemd driver on cgroup v2. */
const pod = 'kubepods-burstable.slice/kubepods-burstable-pod1_2.slice';
const container = `${pod}/cri-containerd-c1.scope`;

let folder: string;
let clock: FakeClock;
let kills: AsyncQueue<[string, string[]]>;
let running: Promise<void>;

/** Writes in place, because the kernel never shows half a file. */
const write = (cgroup: string, kills: number, { max = 12, flag = 'r+' } = {}): Promise<void> =>
  writeFile(join(folder, cgroup, 'memory.events'), `low 0\nmax ${max}\noom_kill ${kills}\n`, { flag });
const make = (cgroup: string, kills: number): Promise<void> => write(cgroup, kills, { flag: 'w' });

beforeEach(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder, container), { recursive: true });
  for (const [cgroup, count] of [
    ['', 5],
    ['kubepods-burstable.slice', 5],
    [pod, 3],
    [container, 1],
  ] as const) {
    await make(cgroup, count);
  }
  clock = new FakeClock();
  kills = new AsyncQueue();
  const stopping = new AbortController();
  const events = new MemoryEvents({
    folder,
    onKill: (podUID, containerIDs) => {
      kills.push([podUID, containerIDs]);
    },
    clock,
  });
  running = events.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort(new Error('the test is over'));
    await running.catch(() => undefined);
  });
  await untilFilesRest();
});

const nextKill = (): Promise<[string, string[]]> => kills.pull(new AbortController().signal);

test('a count that grows is a kill in that pod and container', async () => {
  await write(container, 2);
  await write(pod, 4);
  await write('', 6);
  expect(await nextKill()).toEqual(['1-2', ['c1']]);
});

test('a new pod had no kills, and its container may be gone', async () => {
  await mkdir(join(folder, 'kubepods-podnew.slice'));
  await make('kubepods-podnew.slice', 1);
  await write('', 6);
  expect(await nextKill()).toEqual(['new', []]);
});

test('changes without a kill are read once a second', async () => {
  await write('', 5, { max: 13 });
  await untilFilesRest();
  await write(pod, 4);
  await write('', 6);
  await untilFilesRest();
  expect(kills.length).toBe(0);
  await clock.advance(1000);
  expect(await nextKill()).toEqual(['1-2', []]);
});

test('the cgroup over all pods may be removed and made again', async () => {
  await rm(folder, { recursive: true });
  await untilFilesRest();
  await clock.advance(1000);
  await untilFilesRest();
  await mkdir(join(folder, pod), { recursive: true });
  await make('', 0);
  await clock.advance(10_000);
  await untilFilesRest();
  await make(pod, 1);
  await write('', 1);
  expect(await nextKill()).toEqual(['1-2', []]);
});

test('a count that cannot be read ends the watch, because it would seem to grow from zero later', async () => {
  await rm(join(folder, container, 'memory.events'));
  await mkdir(join(folder, container, 'memory.events'));
  await write('', 6);
  await expect(running).rejects.toThrow('EISDIR');
  expect(kills.length).toBe(0);
});
