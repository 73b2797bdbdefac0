import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { ImageCollector } from '../../../src/engine/images/image-collector.ts';
import type { ImageGCPolicy } from '../../../src/engine/images/image-gc.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { EventRecorder } from '../../fakes/event-recorder.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const minute = 60_000;
const period = 5 * minute;
const policy: ImageGCPolicy = { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 2 * minute, maxAgeMs: 0 };

let clock: FakeClock;
let runtime: FakeRuntime;
let events: EventRecorder;
let pods: Pod[];
/** Bytes on the disk besides the images; it holds 1000. */
let otherBytes: bigint;
let capacityBytes: bigint;

beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeRuntime({ clock });
  events = new EventRecorder(clock);
  pods = [];
  otherBytes = 0n;
  capacityBytes = 1000n;
});

/** It has looked once. */
async function start(overrides: Partial<ImageGCPolicy> = {}): Promise<void> {
  const collector = new ImageCollector({
    runtime,
    imageService: runtime,
    policy: { ...policy, ...overrides },
    pods: () => pods,
    keptImages: ['archived:1'],
    readFilesystem: () => {
      const images = runtime.images.list().reduce((sum, { size }) => sum + size, 0n);
      return Promise.resolve({ capacityBytes, availableBytes: capacityBytes - otherBytes - images });
    },
    clock,
    emit: events.emit,
    logger: silentLogger,
  });
  const stopping = new AbortController();
  const ended = collector.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await ended;
  });
  await clock.advance(0);
}

const podOf = (...images: string[]): Pod =>
  makePod({ spec: { containers: images.map((image) => makeContainer({ name: image, image })) } });

const present = (): string[] => runtime.images.list().flatMap(({ repoTags }) => repoTags);

const recorded = (wanted: 'Normal' | 'Warning'): string[] =>
  events.events.flatMap((event) =>
    event.type === 'Recorded' && event.pod === undefined && event.eventType === wanted
      ? [`${event.reason}: ${event.message}`]
      : [],
  );
const warnings = (): string[] => recorded('Warning');

async function runContainerOf(image: string): Promise<string> {
  const config = { metadata: { name: 'old', namespace: 'default', uid: 'u', attempt: 0 } };
  const { podSandboxId } = await runtime.runPodSandbox({ config });
  const container = { metadata: { name: 'main', attempt: 0 }, image: { image } };
  const { containerId } = await runtime.createContainer({ podSandboxId, config: container, sandboxConfig: config });
  return containerId;
}

describe('while the disk has room', () => {
  test('nothing goes, however old', async () => {
    runtime.addImage('a:1', { size: 840n });
    await start();
    await clock.advance(100 * period);
    expect(present()).toEqual(['a:1']);
    expect(warnings()).toEqual([]);
  });

  test('what was not used for longer than the limit goes, once the agent knows for long enough', async () => {
    runtime.addImage('a:1', { size: 1n });
    runtime.addImage('b:1', { size: 1n });
    pods = [podOf('b:1')];
    await start({ maxAgeMs: 2 * period });
    await clock.advance(2 * period);
    expect(present()).toEqual(['a:1', 'b:1']);
    await clock.advance(period);
    expect(present()).toEqual(['b:1']);
    expect(recorded('Normal')).toEqual([
      'ImageRemoved: Removed image "docker.io/library/a:1" (0.0 MB), which nothing uses: unused for longer than 10m0s',
    ]);
  });

  test('nothing is checked when nothing could ever go', async () => {
    await start({ highThresholdPercent: 100 });
    await clock.advance(period);
    expect(runtime.calls).toEqual([]);
  });
});

describe('when the disk is full', () => {
  test('nothing goes before the first period is over, as sources may still be read', async () => {
    runtime.addImage('a:1', { size: 900n });
    await start();
    await clock.advance(period - 1);
    expect(present()).toEqual(['a:1']);
    await clock.advance(1);
    expect(present()).toEqual([]);
    expect(recorded('Normal')).toEqual([
      'ImageRemoved: Removed image "docker.io/library/a:1" (0.0 MB), which nothing uses: the disk of images is 90 % full',
    ]);
  });

  test('what was unused for the longest time goes first, and no more than has to', async () => {
    for (const name of ['a:1', 'b:1', 'c:1']) runtime.addImage(name, { size: 50n });
    pods = [podOf('a:1')];
    await start();
    await clock.advance(period);
    pods = [podOf('b:1')];
    await clock.advance(period);
    pods = [];
    otherBytes = 700n;
    await clock.advance(period);
    expect(present()).toEqual(['a:1', 'b:1']);
    expect(warnings()).toEqual([]);
  });

  test('stays what came a moment ago', async () => {
    await start();
    await clock.advance(period - minute);
    runtime.addImage('a:1', { size: 900n });
    await clock.advance(minute);
    expect(present()).toEqual(['a:1']);
    await clock.advance(period);
    expect(present()).toEqual([]);
  });

  test('stays what a declared pod asks for, however it is written, and what the runtime pins', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    runtime.addImage('docker.io/library/app:latest', { size: 200n });
    runtime.addImage('r.example/init:1', { size: 200n });
    runtime.addImage(`r.example/tool@${digest}`, { size: 200n });
    runtime.addImage('r.example/data:1', { size: 200n });
    runtime.addImage('r.example/pinned:1', { size: 100n, pinned: true });
    runtime.addImage('r.example/other:1', { size: 50n });
    const pod = podOf('app', `r.example/tool:2@${digest}`);
    pod.spec.initContainers = [makeContainer({ name: 'init', image: 'r.example/init:1' })];
    pod.spec.volumes = [{ name: 'data', image: { reference: 'r.example/data:1' } }];
    pods = [pod];
    await start();
    await clock.advance(period);
    expect(runtime.requestsOf('removeImage').map(({ image }) => image?.image)).toHaveLength(1);
    expect(present()).not.toContain('r.example/other:1');
  });

  test('stays what a container has that ended, until it is gone', async () => {
    runtime.addImage('a:1', { size: 900n });
    const containerId = await runContainerOf('a:1');
    await start();
    await clock.advance(period);
    expect(present()).toEqual(['a:1']);
    await runtime.removeContainer({ containerId });
    await clock.advance(period);
    expect(present()).toEqual([]);
  });

  test('stay the image of sandboxes and those of archives, which not every runtime pins', async () => {
    runtime.statusInfo = { config: JSON.stringify({ sandboxImage: 'registry.k8s.io/pause:3.6' }) };
    runtime.addImage('registry.k8s.io/pause:3.6', { size: 450n });
    runtime.addImage('docker.io/library/archived:1', { size: 450n });
    await start();
    await clock.advance(period);
    expect(present()).toEqual(['registry.k8s.io/pause:3.6', 'docker.io/library/archived:1']);
  });

  test('stays what is declared while others go', async () => {
    for (const name of ['a:1', 'b:1']) runtime.addImage(name, { size: 450n });
    const release = runtime.hang('removeImage');
    await start();
    await clock.advance(period);
    await runtime.waitForCall('removeImage');
    pods = [podOf('b:1')];
    release();
    await clock.advance(0);
    expect(present()).toEqual(['b:1']);
  });

  test('and nothing helps, each run says so, and from the second on that it fails', async () => {
    runtime.addImage('a:1', { size: 10n });
    otherBytes = 900n;
    const message =
      'The image filesystem is 91% full (capacity 1000 bytes), and removing unused images freed only 10 of 110 bytes';
    await start();
    await clock.advance(period);
    expect(warnings()).toEqual([`FreeDiskSpaceFailed: ${message}`]);
    await clock.advance(period);
    const second = message.replace('91%', '90%').replace('10 of 110', '0 of 100');
    expect(warnings().slice(1)).toEqual([`FreeDiskSpaceFailed: ${second}`, `ImageGCFailed: ${second}`]);
  });

  test('and an image cannot be removed, the others go', async () => {
    for (const name of ['a:1', 'b:1']) runtime.addImage(name, { size: 450n });
    // The one that goes first is the one that stays.
    runtime.injectError('removeImage', new Refusal(codes.unknown, 'busy'));
    await start();
    await clock.advance(period);
    expect(present()).toEqual(['a:1']);
    expect(warnings()).toEqual([]);
  });
});

test('an image without an id is an event', async () => {
  runtime.addImage('a:1', { id: '', size: 1n });
  await start();
  await clock.advance(period);
  expect(new Set(warnings())).toEqual(
    new Set(['InvalidImageID: The container runtime lists an image without an id: docker.io/library/a:1']),
  );
});

test('a disk without size is an event', async () => {
  capacityBytes = 0n;
  await start();
  await clock.advance(2 * period);
  const message = 'invalid capacity 0 on image filesystem';
  expect(warnings()).toEqual([
    `InvalidDiskCapacity: ${message}`,
    `InvalidDiskCapacity: ${message}`,
    `ImageGCFailed: ${message}`,
  ]);
});

test('a runtime that does not answer fails one run, and the next one is as ever', async () => {
  runtime.addImage('a:1', { size: 900n });
  runtime.injectError('imageFsInfo', new Refusal(codes.unknown, 'no'));
  await start();
  await clock.advance(period);
  expect(present()).toEqual(['a:1']);
  await clock.advance(period);
  expect(present()).toEqual([]);
  expect(warnings()).toEqual([]);
});
