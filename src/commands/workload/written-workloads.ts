import { objectTexts } from '../../api/objects/object-texts.ts';
import { isWorkloadKind, workloadKey } from '../../api/values/workload.ts';
import { savedManifests } from '../objects/declared-config-objects.ts';

/** A workload as its manifest has it. */
export interface WrittenWorkload {
  metadata?: object;
  spec?: { jobTemplate?: { metadata?: object; spec?: object } };
}

/** By `workloadKey`, each workload and when its manifest was saved, in milliseconds since the epoch. */
export type WrittenWorkloads = ReadonlyMap<string, { written: WrittenWorkload; savedAt: number }>;

/**
 * The workloads of all manifests as they are written, without defaults. Rejects if this user may not read the root-dir.
 */
export async function writtenWorkloads(rootDir: string): Promise<WrittenWorkloads> {
  const manifests = await savedManifests(rootDir);
  return new Map(
    manifests.flatMap(({ body, where, savedAt }) =>
      objectTexts(body, where).flatMap(({ kind, namespace, name, text }) => {
        if (!isWorkloadKind(kind)) return [];
        return [[workloadKey({ kind, namespace, name }), { written: JSON.parse(text) as WrittenWorkload, savedAt }]];
      }),
    ),
  );
}
