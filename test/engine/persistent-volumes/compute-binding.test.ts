import { expect, test } from 'vitest';
import type { ClaimName, PersistentVolume, PersistentVolumeClaim } from '../../../src/api/values/persistent-volume.ts';
import { type Binding, computeBinding, unknownClaim } from '../../../src/engine/persistent-volumes/compute-binding.ts';
import { makeClaim, makeNode, makeVolume } from '../../builders/storage-objects.ts';

interface Given {
  claim?: Partial<PersistentVolumeClaim>;
  volumes?: PersistentVolume[];
  holders?: Record<string, ClaimName>;
  hasFolder?: boolean;
  labels?: Record<string, string>;
}

/** The name of the volume, `<folder>`, or the reason of an unbound claim. */
function bindingOf({ claim, volumes = [], holders = {}, hasFolder = false, labels = {} }: Given): string {
  const binding: Binding = computeBinding({
    claim: makeClaim('data', claim),
    volumes,
    holders: new Map(Object.entries(holders)),
    hasFolder,
    node: makeNode(labels),
  });
  if (binding.type === 'volume') return binding.volume.name;
  return binding.type === 'folder' ? '<folder>' : binding.because;
}

const data: ClaimName = { namespace: 'default', name: 'data' };
const other: ClaimName = { namespace: 'default', name: 'other' };
const onDisk = (values: string[]) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values }] }] },
});

test.each<[title: string, given: Given, expected: string]>([
  ['a claim gets a folder if nothing is declared', {}, '<folder>'],
  ['a class that no volume has is that of a folder', { claim: { storageClassName: 'local-path' } }, '<folder>'],
  [
    'an empty class has no folder',
    { claim: { storageClassName: '' } },
    'no persistent volume fits: none of its class is declared',
  ],
  [
    'a selector has no folder',
    { claim: { selector: {} } },
    'no persistent volume fits: none of its class is declared, and a claim with a selector gets no folder',
  ],
  [
    'the smallest volume that fits is taken',
    {
      volumes: [
        makeVolume('large', { storage: '9Gi' }),
        makeVolume('fits', { storage: '1024Mi' }),
        makeVolume('small', { storage: '1M' }),
      ],
    },
    'fits',
  ],
  ['of equal volumes the first one is taken', { volumes: [makeVolume('a'), makeVolume('b')] }, 'a'],
  ['a folder with data stays when a volume is declared', { volumes: [makeVolume('a')], hasFolder: true }, '<folder>'],
  [
    'a volume stays when a better one is declared',
    { volumes: [makeVolume('a', { storage: '9Gi' }), makeVolume('b')], holders: { a: data } },
    'a',
  ],
  [
    'a volume stays when it no longer fits',
    { volumes: [makeVolume('a', { storage: '1M', storageClassName: 'x' })], holders: { a: data } },
    'a',
  ],
  [
    'a claim waits for its volume when that is no longer declared',
    { volumes: [makeVolume('b')], holders: { a: data } },
    'persistentvolume "a" not found',
  ],
  [
    'the volume of another claim is not taken, even of one that is gone',
    { volumes: [makeVolume('a'), makeVolume('b')], holders: { a: other } },
    'b',
  ],
  [
    'a volume of a damaged record is not taken',
    { claim: { storageClassName: '' }, volumes: [makeVolume('a')], holders: { a: unknownClaim } },
    'no persistent volume fits: a: the record of its claim is damaged',
  ],
  [
    'a volume with claimRef is for that claim alone',
    { volumes: [makeVolume('a', { claimRef: other }), makeVolume('b')] },
    'b',
  ],
  [
    'a volume with claimRef comes before smaller ones',
    { volumes: [makeVolume('a'), makeVolume('b', { storage: '9Gi', claimRef: data })] },
    'b',
  ],
  [
    'a volume of another claim stays there, whatever its claimRef says later',
    { volumes: [makeVolume('a', { claimRef: data }), makeVolume('b')], holders: { a: other } },
    'a: belongs to claim default/other, which a later claimRef does not change: declare the volume under another name',
  ],
  [
    'a volume of another claim stays there, whatever the claim names',
    { claim: { volumeName: 'a' }, volumes: [makeVolume('a', { claimRef: data })], holders: { a: other } },
    'a: belongs to claim default/other, which a later claimRef does not change: declare the volume under another name',
  ],
  [
    'a volume with a record stays that of the claim, whatever its claimRef says later',
    { volumes: [makeVolume('a', { claimRef: other })], holders: { a: data } },
    'a',
  ],
  [
    'a volume of a damaged record is not taken, whatever its claimRef says',
    { volumes: [makeVolume('a', { claimRef: data })], holders: { a: unknownClaim } },
    'a: the record of its claim is damaged',
  ],
  [
    'a class whose volumes do not fit makes no folder',
    {
      claim: { storageClassName: 'fast' },
      volumes: [
        makeVolume('a', { storageClassName: 'fast', storage: '1M' }),
        makeVolume('b', { storageClassName: 'fast', claimRef: other }),
      ],
    },
    'no persistent volume fits: a: requested PV is too small; b: belongs to claim default/other',
  ],
  [
    'a claim without a class gets a folder if no volume without a class fits',
    { volumes: [makeVolume('a', { storage: '1M' })] },
    '<folder>',
  ],
  [
    'every access mode must be there',
    { claim: { storageClassName: '', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }, volumes: [makeVolume('a')] },
    'no persistent volume fits: a: incompatible accessMode',
  ],
  [
    'the selector decides',
    {
      claim: {
        selector: { matchLabels: { tier: 'db' }, matchExpressions: [{ key: 'old', operator: 'DoesNotExist' }] },
      },
      volumes: [
        makeVolume('a'),
        makeVolume('b', { labels: { tier: 'db', old: 'yes' } }),
        makeVolume('c', { labels: { tier: 'db' } }),
      ],
    },
    'c',
  ],
  [
    'the labels of the node decide',
    {
      claim: { storageClassName: '' },
      labels: { disk: 'nvme' },
      volumes: [
        makeVolume('a', { nodeAffinity: onDisk(['sata']) }),
        makeVolume('b', { nodeAffinity: onDisk(['nvme']) }),
      ],
    },
    'b',
  ],
  [
    'a named volume is taken, whatever fits better',
    {
      claim: { volumeName: 'b' },
      volumes: [makeVolume('a'), makeVolume('b', { storage: '9Gi', storageClassName: 'fast' })],
    },
    'b',
  ],
  [
    'a named volume must have the class of the claim, if that names one',
    { claim: { volumeName: 'b', storageClassName: 'slow' }, volumes: [makeVolume('b', { storageClassName: 'fast' })] },
    'b: storageClassName does not match',
  ],
  [
    'a named volume must be large enough',
    { claim: { volumeName: 'b' }, volumes: [makeVolume('b', { storage: '1M' })] },
    'b: requested PV is too small',
  ],
  ['a named volume must be declared', { claim: { volumeName: 'b' } }, 'persistentvolume "b" not found'],
  [
    'a named volume comes before a folder',
    { claim: { volumeName: 'b' }, volumes: [makeVolume('b')], hasFolder: true },
    'b',
  ],
  [
    'a held volume of another node is not mounted',
    { volumes: [makeVolume('a', { nodeAffinity: onDisk(['sata']) })], holders: { a: data } },
    'a: no term of its node affinity matches the labels of this node',
  ],
])('%s', (_title, given, expected) => {
  expect(bindingOf(given)).toBe(expected);
});
