import { join } from 'node:path';
import type { Pod, Volume } from '../../api/types.ts';
import { writePayload } from './atomic-writer.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { nestedMountPoints } from './nested-mount-points.ts';
import { setVolumeOwnership } from './ownership.ts';
import { type PayloadSources, volumePayload } from './volume-payload.ts';
import { makeFolder } from '../../make-folder.ts';

/** The kinds of volumes that are made of files: their folder and what it is made on. */
const payloadKinds = {
  configMap: { plugin: 'kubernetes.io~configmap', medium: '' },
  downwardAPI: { plugin: 'kubernetes.io~downward-api', medium: 'Memory' },
  projected: { plugin: 'kubernetes.io~projected', medium: 'Memory' },
  secret: { plugin: 'kubernetes.io~secret', medium: 'Memory' },
} as const;

/** Undefined: this volume is not made of files. */
export function payloadKindOf(volume: Volume): (typeof payloadKinds)[keyof typeof payloadKinds] | undefined {
  for (const kind of ['configMap', 'downwardAPI', 'projected', 'secret'] as const) {
    if (volume[kind] !== undefined) return payloadKinds[kind];
  }
  return undefined;
}

interface PayloadVolumeRequest {
  pod: Pod;
  podDir: string;
  volume: Volume;
  path: string;
  medium: string;
  /** Milliseconds since the epoch. */
  now: number;
  sources: PayloadSources;
}

/**
 * Makes a volume of files, or brings it up to date; what it held before stays until all of the new is there. Secrets are
 * only ever in memory. kubelet: pkg/volume/configmap SetUpAt, and those of secret, projected and downwardapi alike
 */
export async function setUpPayloadVolume(request: PayloadVolumeRequest): Promise<void> {
  const { pod, podDir, volume, path, medium, now, sources } = request;
  const payload = volumePayload(pod, volume, sources);
  await setUpEmptyDir({
    pod,
    podDir,
    name: `wrapped_${volume.name}`,
    path,
    source: { medium },
    allocatableMemory: sources.allocatable['memory'],
  });
  for (const folder of nestedMountPoints(pod, volume.name)) {
    await makeFolder(join(path, folder), 0o755);
  }
  const { fsGroup } = pod.spec.securityContext ?? {};
  await writePayload(path, payload, {
    now,
    setPermissions: () => setVolumeOwnership(path, { fsGroup, readOnly: true }),
  });
}
