import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { Volume } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { pathExists } from '../../files/path-exists.ts';
import { writeInPlace } from '../../files/regular-file.ts';
import { setVolumeOwnership } from './ownership.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';

type EphemeralSource = NonNullable<Volume['ephemeral']>;

/**
 * A generic ephemeral volume: a folder inside the pod's folder, removed with the pod. kubelet:
 * pkg/controller/volume/ephemeral
 */
export function ephemeralVolume(source: EphemeralSource, request: VolumeRequest): VolumeMounter {
  const { podDir, volume } = request;
  const path = join(podDir, 'volumes', 'kubernetes.io~local-volume', volume.name);
  return {
    mount: { hostPath: path, readOnly: isReadOnly(source), managed: true },
    setUp: () => setUpEphemeral(source, request, path),
  };
}

function isReadOnly({ volumeClaimTemplate }: EphemeralSource): boolean {
  const { accessModes = [] } = volumeClaimTemplate?.spec ?? {};
  return accessModes.length > 0 && accessModes.every((mode) => mode === 'ReadOnlyMany');
}

async function setUpEphemeral(source: EphemeralSource, request: VolumeRequest, path: string): Promise<void> {
  const { pod, podDir, volume, claims, logger } = request;
  const { storageClassName, volumeMode, volumeName } = source.volumeClaimTemplate?.spec ?? {};
  if (volumeMode === 'Block') throw new UserError('volumeMode Block: block volumes are not supported here');
  if (storageClassName === '' || (volumeName ?? '') !== '' || claims.isClassDeclared(storageClassName)) {
    throw new UserError('an ephemeral volume is a folder of its pod and cannot bind a declared volume', {
      hint: 'Leave storageClassName out, or use a PersistentVolumeClaim.',
    });
  }
  const marker = join(podDir, 'plugins', 'kubernetes.io~local-volume', volume.name, 'ready');
  if ((await pathExists(marker)) && (await pathExists(path))) return;
  await makeFolder(path, 0o750);
  // The umask limits mkdir, but not chmod.
  await chmod(path, 0o777);
  const { fsGroup } = pod.spec.securityContext ?? {};
  await setVolumeOwnership(path, { fsGroup, readOnly: isReadOnly(source), logger });
  await makeFolder(join(marker, '..'), 0o750);
  await writeInPlace(marker, '', 0o600);
}
