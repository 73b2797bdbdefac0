import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { AppliedRevisions } from '../../../src/engine/in-place/applied-revisions.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus } from '../../builders/pods.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const uid = 'u1';
const sized = (memory: string, seen = '1'): Pod =>
  makePod({
    metadata: { uid, annotations: { 'kubernetes.io/config.seen': seen } },
    spec: { containers: [makeContainer({ resources: { limits: { memory } } })] },
  });
const [small, large] = [sized('1Mi'), sized('2Mi')];
const status = (pod: Pod) =>
  makePodStatus(pod, { containerStatuses: [makeContainerStatus(makeContainer(), { id: 'c' })] });

let folder: string;
let revisions: AppliedRevisions;

beforeEach(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder, uid));
  revisions = makeRevisions();
});

const file = (): string => join(folder, uid, 'revision.json');
const makeRevisions = (isEnabled = true): AppliedRevisions =>
  new AppliedRevisions({
    podDir: (of) => join(folder, of),
    policy: { isEnabled, isPinning: false },
    logger: silentLogger,
  });

async function reloaded(): Promise<AppliedRevisions> {
  await revisions.close();
  const next = makeRevisions();
  await next.load([uid]);
  return next;
}

describe('the revision of a pod', () => {
  test('is known to the next agent', async () => {
    expect(await revisions.accept(small, status(small))).toEqual({ kind: 'none' });
    const next = await reloaded();
    expect(next.of(uid)).toEqual({ metadata: small.metadata, spec: small.spec });
    expect(next.isResizing(uid)).toBe(false);
  });

  test('is not written again for another time of the first sight', async () => {
    await revisions.accept(small, status(small));
    const next = await reloaded();
    await writeFile(file(), 'not written again');
    expect(await next.accept(sized('1Mi', '2'), status(small))).toEqual({ kind: 'none' });
    expect(await readFile(file(), 'utf8')).toBe('not written again');
  });

  test.each(['', '{}', 'x\n{"pod":{}}'])('is unknown if its file holds %j', async (text) => {
    await writeFile(file(), text);
    expect((await reloaded()).of(uid)).toBeUndefined();
  });

  test('is unknown if its file is that of another pod', async () => {
    await revisions.accept(small, status(small));
    await revisions.close();
    await mkdir(join(folder, 'u2'));
    await writeFile(join(folder, 'u2', 'revision.json'), await readFile(file()));
    const next = makeRevisions();
    await next.load(['u2']);
    expect(next.of('u2')).toBeUndefined();
  });

  test('is dropped with the pod', async () => {
    await revisions.accept(small, status(small));
    await revisions.release(uid);
    expect([revisions.of(uid), revisions.named({ namespace: 'default', name: 'web-node1' })]).toEqual([undefined, []]);
  });
});

describe('a resize', () => {
  beforeEach(() => revisions.accept(small, status(small)));

  test('is on disk with the earlier resources before it is applied', async () => {
    expect(await revisions.accept(large, status(small))).toEqual({
      kind: 'inPlace',
      resize: [{ name: 'web', restart: false }],
      isPodResized: false,
      images: [],
    });
    const next = await reloaded();
    expect([next.outdated(uid), next.isResizing(uid)]).toEqual([{ c: { limits: { memory: '1Mi' } } }, true]);
  });

  test('of the whole pod concerns its containers without a limit', async () => {
    const whole = (cpu: string): Pod => makePod({ metadata: { uid: 'u4' }, spec: { resources: { limits: { cpu } } } });
    await mkdir(join(folder, 'u4'));
    await revisions.accept(whole('1'), status(whole('1')));
    await revisions.accept(whole('2'), status(whole('2')));
    await revisions.accept(whole('3'), status(whole('3')));
    await revisions.close();
    const next = makeRevisions();
    await next.load(['u4']);
    expect([next.outdated('u4'), next.outdatedPod('u4')]).toEqual([{ c: {} }, { limits: { cpu: '1' } }]);
    await next.resized('u4');
    expect([next.outdated('u4'), next.outdatedPod('u4')]).toEqual([{}, undefined]);
  });

  test('that is taken back keeps the container in doubt', async () => {
    await revisions.accept(large, status(small));
    await revisions.accept(small, status(small));
    expect([revisions.outdated(uid), revisions.isResizing(uid)]).toEqual([{ c: { limits: { memory: '1Mi' } } }, true]);
  });

  test('is over once it was applied', async () => {
    await revisions.accept(large, status(small));
    revisions.containerResized(uid, 'c');
    expect([revisions.outdated(uid), revisions.isResizing(uid)]).toEqual([{}, true]);
    await revisions.resized(uid);
    const next = await reloaded();
    expect([next.outdated(uid), next.isResizing(uid)]).toEqual([{}, false]);
  });

  test('is none if changes replace pods', async () => {
    revisions = makeRevisions(false);
    await revisions.accept(small, status(small));
    expect(await revisions.accept(large, status(small))).toEqual({
      kind: 'replace',
      because: 'the agent runs with --in-place=false',
    });
    expect(revisions.isResizing(uid)).toBe(false);
  });
});

test('a folder that is missing harms nothing', async () => {
  const other = makePod({ metadata: { uid: 'u3' } });
  await revisions.accept(other, status(other));
  await revisions.close();
  expect(revisions.of('u3')).toEqual(other);
});
