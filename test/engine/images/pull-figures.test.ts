import { expect, test } from 'vitest';
import type { LayerIngest } from '../../../src/engine/images/layer-ingests.ts';
import { computePullProgress, nextLayers } from '../../../src/engine/images/pull-watch.ts';
import type { PullProgress } from '../../../src/engine/view/snapshot.ts';

const startedAt = 1000;
const layer = (ref: string, receivedBytes: number, more: Partial<LayerIngest> = {}): LayerIngest => ({
  ref,
  receivedBytes,
  totalBytes: 10,
  changedAt: startedAt,
  ...more,
});

test.each<[title: string, looks: LayerIngest[][], expected: PullProgress | undefined]>([
  ['is unknown while no layer was begun', [[]], undefined],
  ['is what has come of all layers', [[layer('a', 4), layer('b', 1)]], { receivedBytes: 5, totalBytes: 20 }],
  [
    'counts a layer that is done as whole',
    [[layer('a', 4), layer('b', 1)], [layer('b', 2)]],
    { receivedBytes: 12, totalBytes: 20 },
  ],
  ['grows with layers that begin later', [[layer('a', 4)], [layer('b', 3)]], { receivedBytes: 13, totalBytes: 20 }],
  [
    'has no end when that of a layer is not known',
    [[layer('a', 4), { ref: 'b', receivedBytes: 1, changedAt: 1000 }]],
    { receivedBytes: 5 },
  ],
  [
    'leaves out what another pull left behind',
    [[layer('a', 4), layer('old', 7, { changedAt: 900 })]],
    { receivedBytes: 4, totalBytes: 10 },
  ],
  [
    'counts what was left behind once it goes on',
    [[layer('old', 7, { changedAt: 900 })], [layer('old', 8)]],
    { receivedBytes: 8, totalBytes: 10 },
  ],
])('how far a pull has come %s', (_title, looks, expected) => {
  const layers = looks.reduce<ReadonlyMap<string, LayerIngest>>(
    (known, look) => nextLayers(known, look, startedAt),
    new Map(),
  );
  expect(computePullProgress(layers)).toEqual(expected);
});
