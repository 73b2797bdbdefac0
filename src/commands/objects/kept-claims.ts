import { replicaClaims } from '../../api/values/replica-pod.ts';
import { claimsWithFolder } from '../../engine/persistent-volumes/claim-folders.ts';
import { readHolders } from '../../engine/persistent-volumes/volume-holders.ts';
import { type DeclaredObject, declaredWorkloads } from './declared-config-objects.ts';

/**
 * The claims of StatefulSet replicas that have data on disk, although the manifest declares fewer replicas. May repeat
 * declared claims. Rejects if this user may not read the root-dir.
 */
export async function keptClaims(rootDir: string, nodeName: string): Promise<DeclaredObject[]> {
  const [folders, holders, declared] = await Promise.all([
    claimsWithFolder(rootDir),
    readHolders(rootDir),
    declaredWorkloads(rootDir, nodeName),
  ]);
  const onDisk = [...folders, ...holders.values()];
  return declared.flatMap(({ workload, where }) => {
    if (workload.kind !== 'StatefulSet') return [];
    return onDisk.flatMap(({ namespace, name }) => {
      const [, ordinal] = /-(\d+)$/.exec(name) ?? [];
      if (ordinal === undefined || namespace !== workload.namespace) return [];
      const claims = replicaClaims(workload, Number(ordinal)).filter((claim) => claim.name === name);
      return claims.map((object) => ({ object, where }));
    });
  });
}
