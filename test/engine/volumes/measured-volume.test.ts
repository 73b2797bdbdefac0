import { describe, expect, test } from 'vitest';
import type { Volume } from '../../../src/api/types.ts';
import type { PersistentVolumeSource } from '../../../src/api/values/persistent-volume.ts';
import { measuredVolume } from '../../../src/engine/volumes/measured-volume.ts';
import type { MountedVolume } from '../../../src/engine/volumes/volume-mounter.ts';
import { makePod } from '../../builders/pods.ts';
import { makeClaim, makeVolume } from '../../builders/storage-objects.ts';

const pod = makePod({ metadata: { name: 'web', namespace: 'default', uid: 'u1' } });

function measured(volume: Omit<Volume, 'name'>, mount: Partial<MountedVolume> = {}, source?: PersistentVolumeSource) {
  const bound = source && makeVolume('disk', { source });
  return measuredVolume(
    { name: 'data', ...volume },
    {
      pod,
      claims: { boundClaim: () => ({ claim: makeClaim('data'), volume: bound, folder: '/volumes/default/data' }) },
      mount: { hostPath: '/path', readOnly: false, managed: true, ...mount },
    },
  );
}

const files = { name: 'data', specName: 'data', path: '/path', method: 'files', driver: '' };
const pvcRef = { name: 'data', namespace: 'default' };
const claim = { persistentVolumeClaim: { claimName: 'data' } };

describe('the usage', () => {
  test.each<[string, ReturnType<typeof measured>, object | undefined]>([
    ['of an emptyDir is its files', measured({ emptyDir: {} }), files],
    ['of a hostPath is not measured', measured({ hostPath: { path: '/path' } }, { managed: false }), undefined],
    ['of an image is not measured', measured({ image: { reference: 'a' } }, { hostPath: '' }), undefined],
    [
      "of the pod's own claim is its files, under the claim's name",
      measured({ ephemeral: {} }),
      { ...files, pvcRef: { name: 'web-data', namespace: 'default' } },
    ],
    [
      'of a driver is reported by it',
      measured({ csi: { driver: 'd' } }, { persistent: true }),
      { ...files, method: 'driver', driver: 'd' },
    ],
    ['of a claim with a folder is its files', measured(claim), { ...files, pvcRef }],
    [
      'of a local disk is that of the disk',
      measured(claim, {}, { local: { path: '/path' } }),
      { ...files, method: 'disk', pvcRef },
    ],
    [
      'of a claim with a driver is reported under the name of the volume',
      measured(claim, {}, { csi: { driver: 'd', volumeHandle: 'h' } }),
      { ...files, method: 'driver', driver: 'd', specName: 'disk', pvcRef },
    ],
    ['of a claim with a hostPath is not measured', measured(claim, {}, { hostPath: { path: '/path' } }), undefined],
    ['of a claim with NFS is not measured', measured(claim, {}, { nfs: { server: 's', path: '/' } }), undefined],
  ])('%s', (_name, actual, expected) => {
    expect(actual).toEqual(expected);
  });
});
