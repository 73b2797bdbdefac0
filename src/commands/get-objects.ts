import { hostname } from 'node:os';
import type { ConfigObject } from '../api/values/config-object.ts';
import { kindMeant } from '../engine/applied/applied-object.ts';
import { UserError } from '../errors.ts';
import { formatTable } from '../text/format-table.ts';
import { nodeNameOf } from '../node/options/node-options.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { objectText } from './io/json-text.ts';
import { declaredConfigObjects, type DeclaredObject, namespaceOf } from './pod/declared-config-objects.ts';
import { isPodKind } from './pod/resolve-pods.ts';
import { shownConfigObject } from './validate/printed-objects.ts';

/** Kinds and names in the words of `get`, such as `po,svc`, `cm settings` and `svc/web`. */
export interface ResolvedObjects {
  /** True if pods are listed too. */
  pods: boolean;
  events: boolean;
  kinds: ConfigObject['kind'][];
  names: string[];
}

/** The objects that the args of `get` name. Returns undefined if they name only pods or contain unknown words. */
export function resolveObjects(words: readonly string[]): ResolvedObjects | undefined {
  const [first = '', ...rest] = words;
  const [kindWord = '', ownName] = first.split('/');
  const kinds = kindWord === 'all' ? ['pods', 'svc'] : kindWord.split(',');
  const config = kinds.flatMap((word) => configKind(word) ?? []);
  const others = kinds.filter((word) => configKind(word) === undefined);
  const isKnown = others.every((word) => isPodKind(word) || isEvents(word));
  if (!isKnown || (config.length === 0 && !others.some(isEvents))) return undefined;
  return {
    pods: others.some(isPodKind),
    events: others.some(isEvents),
    kinds: config,
    names: [...(ownName === undefined ? [] : [ownName]), ...rest.map((word) => word.replace(/^[\w.]+\//, ''))],
  };
}

const isEvents = (word: string): boolean => ['events', 'event', 'ev'].includes(word);

/** Kinds other than pods that the agent holds. */
function configKind(word: string): ConfigObject['kind'] | undefined {
  const kind = kindMeant(word);
  return configKinds.find((known) => known === kind);
}

const configKinds: readonly ConfigObject['kind'][] = [
  ...(['ConfigMap', 'Secret', 'Service', 'PersistentVolumeClaim', 'PersistentVolume'] as const),
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
  const declared = await declaredConfigObjects(flags.rootDir, nodeNameOf(hostname()));
  const found = declared.filter(
    ({ object }) =>
      kinds.includes(object.kind) &&
      (names.length === 0 || names.includes(object.name)) &&
      (flags.namespace === undefined || [flags.namespace, ''].includes(namespaceOf(object))),
  );
  const missing = names.find((name) => !found.some(({ object }) => object.name === name));
  if (missing !== undefined) {
    throw new UserError(`no ${kinds.join(' or ')} "${visible(missing)}" is declared`, {
      hint: `List them: kubelet-ts get ${kinds.map((kind) => kind.toLowerCase()).join(',')}`,
    });
  }
  if (found.length === 0) stderr.write(`No ${kinds.join(' or ')} is declared.\n`);
  else stdout.write(await objectsText(found, flags, names.length === 1));
}

async function objectsText(
  found: readonly DeclaredObject[],
  { output, headers }: ListFlags,
  isSingle: boolean,
): Promise<string> {
  const nameOf = ({ object: { kind, name } }: DeclaredObject): string => `${kind.toLowerCase()}/${name}`;
  const [first] = found;
  switch (output) {
    case 'name':
      return found.map((one) => `${visible(nameOf(one))}\n`).join('');
    case 'json':
    case 'yaml': {
      const items = found.map(({ object }) => shownConfigObject(object));
      return objectText(
        isSingle && first ? shownConfigObject(first.object) : { apiVersion: 'v1', kind: 'List', items },
        output,
      );
    }
    case 'table':
    case 'wide': {
      const rows = found.map((one) => [namespaceOf(one.object), nameOf(one), one.where].map(visible));
      return formatTable([...(headers ? [['NAMESPACE', 'NAME', 'DECLARED BY']] : []), ...rows]);
    }
    default:
      throw new UserError(`-o ${visible(output)} works only for pods`, { hint: 'Use -o json, yaml or name.' });
  }
}
