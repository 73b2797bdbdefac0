import type { ConfigData, ConfigObject } from '../api/values/config-object.ts';
import type { PersistentVolumeClaim } from '../api/values/persistent-volume.ts';
import type { ServiceProblem } from '../engine/view/service-problem.ts';
import { claimFolder, hasClaimFolder } from '../engine/persistent-volumes/claim-folders.ts';
import { readHolders } from '../engine/persistent-volumes/volume-holders.ts';
import { serviceColumns } from './service-columns.ts';

/** The columns that kubectl has for a kind, and their values. */
export interface OwnColumns {
  titles: readonly string[];
  /** One row per object. */
  rows: readonly (readonly string[])[];
}

/** Returns the columns of a list. A list of several kinds has only those that all kinds have. */
export async function objectColumns(
  objects: readonly ConfigObject[],
  rootDir: string,
  problems: readonly ServiceProblem[] = [],
): Promise<OwnColumns> {
  const areAll = <K extends ConfigObject['kind']>(
    kind: K,
  ): readonly Extract<ConfigObject, { kind: K }>[] | undefined => {
    const ofKind = objects.filter((object): object is Extract<ConfigObject, { kind: K }> => object.kind === kind);
    return ofKind.length === objects.length ? ofKind : undefined;
  };
  const services = areAll('Service');
  if (services) return serviceColumns(services, problems);
  const claims = areAll('PersistentVolumeClaim');
  if (claims) return claimColumns(claims, rootDir);
  const data = objects.filter(
    (object): object is ConfigData => object.kind === 'ConfigMap' || object.kind === 'Secret',
  );
  const kinds = new Set(objects.map(({ kind }) => kind));
  if (data.length < objects.length || kinds.size > 1) return { titles: [], rows: [] };
  return kinds.has('Secret')
    ? { titles: ['TYPE', 'DATA'], rows: data.map((one) => [one.type, countOf(one)]) }
    : { titles: ['DATA'], rows: data.map((one) => [countOf(one)]) };
}

const countOf = ({ data, binaryData }: ConfigData): string => String(data.size + binaryData.size);

/** The volume of a claim is a declared one, or its folder. */
async function claimColumns(claims: readonly PersistentVolumeClaim[], rootDir: string): Promise<OwnColumns> {
  const holders = [...(await readHolders(rootDir))];
  const rows = claims.map(async (claim) => {
    const { namespace, name, storage, accessModes, storageClassName = '' } = claim;
    const [held] = holders.find(([, holder]) => holder.namespace === namespace && holder.name === name) ?? [];
    const volume = held ?? ((await hasClaimFolder(rootDir, claim)) ? claimFolder(rootDir, claim) : undefined);
    const status = volume === undefined ? 'Pending' : 'Bound';
    return [status, volume ?? '', storage, accessModes.map(shortMode).join(','), storageClassName];
  });
  return { titles: ['STATUS', 'VOLUME', 'CAPACITY', 'ACCESS MODES', 'STORAGECLASS'], rows: await Promise.all(rows) };
}

/** `ReadWriteOnce` is `RWO`, `ReadOnlyMany` is `ROX`, `ReadWriteOncePod` is `RWOP`. */
const shortMode = (mode: string): string => mode.replace(/Many$/, 'X').replace(/[a-z]/g, '');
