import { hostname } from 'node:os';
import { type ConfigObject, configObjectKey } from '../api/values/config-object.ts';
import { isWorkloadKind, type WorkloadName } from '../api/values/workload.ts';
import { resolveKind } from '../engine/applied/applied-object.ts';
import { UserError } from '../errors.ts';
import { formatTable } from '../text/format-table.ts';
import { nodeNameOf } from '../node/options/node-options.ts';
import { visible } from '../text/visible-text.ts';
import type { Allocation } from '../engine/services/allocation.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import { readAllocations } from '../engine/services/service-records.ts';
import type { CommandDeps } from './io/deps.ts';
import { objectsFormat } from './output/objects-format.ts';
import { agentSnapshot } from './pod/agent-snapshot.ts';
import { declaredConfigObjects, type DeclaredObject, namespaceOf } from './objects/declared-config-objects.ts';
import { knownServiceProblems } from './objects/known-service-problems.ts';
import { keptClaims } from './objects/kept-claims.ts';
import { noneDeclared } from './objects/none-declared.ts';
import { notFound } from './objects/not-found.ts';
import { isPodKind } from './objects/pod-reference.ts';
import { objectColumns } from './object-columns.ts';
import { withAllocation } from './service-columns.ts';
import { shownConfigObject } from './validate/printed-objects.ts';

/** Kinds and names as args of `get`, such as `po,svc`, `cm settings` and `svc/web`. */
export interface ResolvedObjects {
  /** True if pods are listed too. */
  pods: boolean;
  events: boolean;
  kinds: ConfigObject['kind'][];
  workloads: WorkloadName['kind'][];
  names: string[];
}

/**
 * The objects that the args of `get` name. Returns undefined if they name only pods or contain an unknown arg. Throws a
 * `UserError` if a later word names another kind.
 */
export function resolveObjects(args: readonly string[]): ResolvedObjects | undefined {
  const [first = '', ...rest] = args;
  const [kindWord = '', ownName] = first.split('/');
  const kinds =
    kindWord === 'all' ? ['pods', 'svc', 'ds', 'deploy', 'rs', 'sts', 'rc', 'cj', 'job'] : kindWord.split(',');
  const config = kinds.flatMap((word) => configKind(word) ?? []);
  const workloads = kinds.map((word) => resolveKind(word) ?? '').filter(isWorkloadKind);
  const others = kinds.filter((word) => configKind(word) === undefined && !isWorkloadKind(resolveKind(word) ?? ''));
  const isKnown = others.every((word) => isPodKind(word) || isEvents(word));
  if (!isKnown || (config.length + workloads.length === 0 && !others.some(isEvents))) return undefined;
  const other = rest.find((word) => isOfOtherKind(word, [...config, ...workloads]));
  if (other !== undefined) {
    const hint = `List them one by one: kubelet-ts get ${visible(other)}`;
    throw new UserError('names of several kinds cannot be listed at once', { hint });
  }
  return {
    workloads,
    pods: others.some(isPodKind),
    events: others.some(isEvents),
    kinds: config,
    names: [...(ownName === undefined ? [] : [ownName]), ...rest.map((word) => word.replace(/^[\w.]+\//, ''))],
  };
}

/** True for a word such as `deploy/web`, unless it names one of these kinds. */
function isOfOtherKind(word: string, kinds: readonly string[]): boolean {
  const [kindWord = '', name] = word.split('/');
  const kind = name === undefined ? undefined : resolveKind(kindWord);
  return kind !== undefined && !kinds.includes(kind);
}

const isEvents = (word: string): boolean => ['events', 'event', 'ev'].includes(word);

/** Kinds other than pods that the agent holds. */
function configKind(word: string): ConfigObject['kind'] | undefined {
  const kind = resolveKind(word);
  return configKinds.find((known) => known === kind);
}

const configKinds: readonly ConfigObject['kind'][] = [
  ...([
    'ConfigMap',
    'Secret',
    'Service',
    'Endpoints',
    'EndpointSlice',
    'PersistentVolumeClaim',
    'PersistentVolume',
  ] as const),
  ...(['CSIDriver', 'RuntimeClass', 'PriorityClass'] as const),
];

interface ListFlags {
  rootDir: string;
  namespace?: string;
  output: string;
  headers: boolean;
}

/** Prints the declared objects of these kinds and the files that declare them. Never prints values of Secrets. */
export async function listObjects(
  { kinds, names }: Pick<ResolvedObjects, 'kinds' | 'names'>,
  flags: ListFlags,
  { stdout, stderr }: CommandDeps,
): Promise<void> {
  const declared = await listedObjects(kinds, flags.rootDir);
  const found = declared.filter(
    ({ object }) =>
      kinds.includes(object.kind) &&
      (names.length === 0 || names.includes(object.name)) &&
      (flags.namespace === undefined || [flags.namespace, ''].includes(namespaceOf(object))),
  );
  const missing = names.find((name) => !found.some(({ object }) => object.name === name));
  if (missing !== undefined) {
    throw notFound(
      { kind: kinds[0] ?? 'Service', name: missing },
      declared.map(({ object }) => object),
    );
  }
  if (found.length === 0) {
    const hasAgent = (await agentSnapshot(flags.rootDir, stderr)) !== undefined;
    stderr.write(await noneDeclared(kinds, flags.rootDir, hasAgent));
    return;
  }
  const isTable = ['table', 'wide'].includes(flags.output) && kinds.includes('Service');
  const snapshot = isTable ? await agentSnapshot(flags.rootDir, stderr) : undefined;
  stdout.write(await objectsText(found, flags, names.length === 1, snapshot));
}

/** The declared objects, with the claims of replicas that are scaled down. */
async function listedObjects(kinds: ResolvedObjects['kinds'], rootDir: string): Promise<DeclaredObject[]> {
  const nodeName = nodeNameOf(hostname());
  const declared = await declaredConfigObjects(rootDir, nodeName);
  if (!kinds.includes('PersistentVolumeClaim')) return declared;
  const known = new Set(declared.map(({ object }) => configObjectKey(object)));
  const kept = await keptClaims(rootDir, nodeName);
  return [...declared, ...kept.filter(({ object }) => !known.has(configObjectKey(object)))];
}

async function objectsText(
  found: readonly DeclaredObject[],
  { output, headers, rootDir }: ListFlags,
  isSingle: boolean,
  snapshot: EngineSnapshot | undefined,
): Promise<string> {
  const allocations = (await readAllocations(rootDir)) ?? new Map<string, Allocation>();
  const asHeld = ({ object }: DeclaredObject): ConfigObject =>
    object.kind === 'Service' ? withAllocation(object, allocations) : object;
  const shown = (one: DeclaredObject): object => shownConfigObject(asHeld(one));
  const nameOf = ({ object: { kind, name } }: DeclaredObject): string => `${kind.toLowerCase()}/${name}`;
  switch (output) {
    case 'name':
      return found.map((one) => `${visible(nameOf(one))}\n`).join('');
    case 'table':
    case 'wide': {
      const start = (one: DeclaredObject): string[] => [namespaceOf(one.object), nameOf(one)];
      const problems = snapshot && knownServiceProblems(found, allocations, snapshot);
      const own = await objectColumns(found.map(asHeld), rootDir, problems);
      const rows = found.map((one, index) => [...start(one), ...(own.rows[index] ?? []), one.where].map(visible));
      const titles = ['NAMESPACE', 'NAME', ...own.titles, 'DECLARED BY'];
      return formatTable([...(headers ? [titles] : []), ...rows]);
    }
    default:
      return (await objectsFormat(output))(found.map(shown), { isSingle, headers });
  }
}
