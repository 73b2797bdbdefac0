import { expect, test } from 'vitest';
import { podTable } from '../../../src/engine/listing/pod-table.ts';
import type { PodSnapshot } from '../../../src/engine/view/snapshot.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';

const withLabels = (entry: PodSnapshot, labels: Record<string, string>): PodSnapshot => ({
  ...entry,
  pod: { ...entry.pod, metadata: { ...entry.pod.metadata, labels } },
});

test('labels have columns of their own before the reason', async () => {
  const waiting = { waiting: { reason: 'CreateContainerError', message: 'no such user' } };
  const pods = [
    withLabels(makeEntry('web'), { tier: 'front', 'example.org/app': 'web' }),
    makeEntry('db', { containerState: waiting }),
  ];
  const labels = { labelKeys: ['example.org/app', 'tier'], showLabels: true };
  const table = await podTable(pods, makeSnapshot(pods), { wide: false, ...labels, now: noon });
  expect(table).toEqual({
    columns: ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'APP', 'TIER', 'LABELS', 'REASON'],
    rows: [
      {
        cells: ['default', 'web', '1/1', 'Running', '0', '60m', 'web', 'front', 'example.org/app=web,tier=front', ''],
        colour: 'green',
      },
      {
        cells: [
          ...['default', 'db', '0/1', 'CreateContainerError', '0', '60m', '<none>', '<none>', '<none>'],
          expect.stringContaining('no such user') as string,
        ],
        colour: 'red',
      },
    ],
  });
});

test('without a pod that is not Ready there is no column of reasons', async () => {
  const pods = [makeEntry('web')];
  const { columns } = await podTable(pods, makeSnapshot(pods), { wide: false, now: noon });
  expect(columns).toEqual(['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE']);
});
