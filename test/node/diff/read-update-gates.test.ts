import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defaultInPlacePolicy } from '../../../src/api/values/in-place.ts';
import { podFullName } from '../../../src/api/values/pod-names.ts';
import type { PodRecord } from '../../../src/engine/operations/pod-record.ts';
import { computeNodeDiff } from '../../../src/node/diff/compute-node-diff.ts';
import { readUpdateGates } from '../../../src/node/diff/read-update-gates.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('an update waits for its window and its lock file, and the report has the time when the window opens', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'there'), '');
  const podOf = (name: string, image: string, annotations: Record<string, string>) =>
    makePod({
      metadata: { name, uid: `${name}${image}`, annotations },
      spec: { containers: [makeContainer({ image: `web:${image}` })] },
    });
  const annotations = {
    window: { 'kubelet-ts.io/update-window': 'Sat,Sun 02:00-04:00' },
    open: { 'kubelet-ts.io/update-window': 'Wed 12:00-14:00' },
    locked: { 'kubelet-ts.io/update-lock': join(folder, 'there') },
    free: { 'kubelet-ts.io/update-lock': join(folder, 'gone') },
  };
  const names = ['free', 'locked', 'open', 'window'] as const;
  const running = names.map((name) => podOf(name, '1', annotations[name]));
  const records = running.map((pod): [string, PodRecord] => {
    const revision = { number: 1, name: 'r1', takenAt: 1, from: '', isDerivedUID: true, wasReady: true, pod };
    const { name } = pod.metadata;
    return [podFullName(pod.metadata), { version: 1, namespace: 'default', name, current: 1, revisions: [revision] }];
  });
  const desired = names.map((name) => podOf(name, '2', annotations[name]));
  // A Wednesday.
  const updateGates = await readUpdateGates(desired, new Date(2026, 10, 25, 13));
  const { pods } = computeNodeDiff(
    {
      pods: running.map((pod) => ({ pod, source: 'file' })),
      configObjects: [],
      inPlace: defaultInPlacePolicy,
      records: new Map(records),
    },
    {
      pods: desired,
      configObjects: [],
      urls: [],
      uidUnder: () => undefined,
      rollOuts: new Map(),
      extraPods: new Map(),
      updateGates,
    },
  );
  expect(pods.map(({ action, name, because }) => [action, name, because])).toEqual([
    ['restart', 'free', 'replaces the pod: its UID changes'],
    ['stay', 'locked', `updates wait while ${folder}/there exists; revision 1 runs`],
    ['restart', 'open', 'replaces the pod: its UID changes'],
    ['stay', 'window', 'updates wait for Sat,Sun 02:00-04:00, until 2026-11-28 02:00; revision 1 runs'],
  ]);
});
