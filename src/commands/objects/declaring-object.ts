import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { maxManifestBytes, readManifests } from '../../api/decoding/manifest-document.ts';
import type { ManifestObject } from '../../api/decoding/manifest-object.ts';
import { declaredObjects } from '../../api/objects/declared-objects.ts';
import type { ManifestNode } from '../../api/text/manifest-node.ts';
import { maxManifestObjects } from '../../api/text/reading-budget.ts';
import { ignoredBecause } from '../../engine/config/file/manifest-paths.ts';
import { PathGuard } from '../../engine/host/path-guard.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import type { SourceSnapshot } from '../../engine/view/snapshot.ts';

/** The object of a manifest file that declares a pod. */
export interface DeclaringObject {
  file: string;
  text: string;
  object: ManifestObject;
  /** Path of the pod in the object, such as `spec.template.`. Empty for a Pod. */
  prefix: string;
}

interface WantedPod {
  /** Absent for any namespace. */
  namespace?: string | undefined;
  /** Names that the manifest may use: with and without the suffix of the node. */
  names: readonly string[];
}

/** Finds the object that declares a pod in the files of the sources. Resolves with undefined if no file declares it. */
export async function findDeclaringObject(
  sources: readonly Pick<SourceSnapshot, 'source' | 'where'>[],
  pod: WantedPod,
): Promise<DeclaringObject | undefined> {
  const guard = new PathGuard({ maxHung });
  for (const file of await manifestFiles(sources, guard)) {
    const text = await readText(file, guard);
    const found = text === undefined ? undefined : objectIn(file, text, pod);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * True if this file declares the pod, or would if it could be read. Only a document that cannot be read, or whose kind
 * is unknown, is searched for a line with the name, because other objects may have that name too.
 */
export async function mayDeclare(file: string, pod: WantedPod): Promise<boolean> {
  const text = await readText(file, new PathGuard({ maxHung }));
  if (text === undefined) return false;
  if (objectIn(file, text, pod) !== undefined) return true;
  const isUnread = [...readManifests(text, file)].some(
    (reading) => 'problem' in reading || declaredObjects(reading.document, maxManifestObjects).problems.length > 0,
  );
  return isUnread && text.split('\n').some((line) => pod.names.some((name) => isNameLine(line, name)));
}

/** True for a line such as `name: web` or `metadata: {name: "web"}`, even in a text that is not YAML. */
function isNameLine(line: string, name: string): boolean {
  return [...line.matchAll(/\bname"?\s*:\s*["']?([^\s"',}]+)/g)].some(([, written]) => written === name);
}

/** Paths that may hang at a time. Node has four threads for files. */
const maxHung = 3;

async function manifestFiles(
  sources: readonly Pick<SourceSnapshot, 'source' | 'where'>[],
  guard: PathGuard,
): Promise<string[]> {
  const paths = sources.flatMap(({ source, where }) => (source === 'http' ? [] : where.split(', ')));
  const lists = paths.map(async (path) => {
    try {
      const names = await guard.run(path, () => readdir(path));
      return names.filter((name) => ignoredBecause(name) === undefined).map((name) => join(path, name));
    } catch {
      // A file, or a folder that is missing or hangs.
      return [path];
    }
  });
  return (await Promise.all(lists)).flat();
}

async function readText(file: string, guard: PathGuard): Promise<string | undefined> {
  try {
    const bytes = await guard.run(file, () => readRegularFile(file, maxManifestBytes, { followLinks: true }));
    return bytes.toString('utf8');
  } catch {
    // A file that is missing, hangs or is unreadable has no lines to show.
    return undefined;
  }
}

function objectIn(file: string, text: string, pod: WantedPod): DeclaringObject | undefined {
  for (const reading of readManifests(text, file)) {
    if ('problem' in reading) continue;
    const { objects } = declaredObjects(reading.document, maxManifestObjects);
    for (const { kind, object } of objects) {
      const wanted = kind === 'StatefulSet' ? { ...pod, names: pod.names.map(withoutOrdinal) } : pod;
      if (podPrefixes[kind] === undefined || !declares(object.node, wanted)) continue;
      return { file, text, object, prefix: podPrefixes[kind] };
    }
  }
  return undefined;
}

/** True if the object spans this line, which counts from 1. */
export function isWithin({ document, node }: ManifestObject, line: number): boolean {
  return document.positionAt(node.start).line <= line && line <= document.positionAt(lastStart(node)).line;
}

/** Where the last nested value starts. */
function lastStart(node: ManifestNode): number {
  const values =
    node.kind === 'object' ? node.entries.map(({ value }) => value) : node.kind === 'list' ? node.items : [];
  return Math.max(node.start, ...values.map(lastStart));
}

const withoutOrdinal = (name: string): string => name.replace(/-\d+$/, '');

function declares(node: ManifestNode, { namespace, names }: WantedPod): boolean {
  const metadata = member(node, 'metadata');
  const name = textOf(metadata && member(metadata, 'name'));
  const written = textOf(metadata && member(metadata, 'namespace')) ?? 'default';
  return name !== undefined && names.includes(name) && (namespace === undefined || written === namespace);
}

function member(node: ManifestNode, key: string): ManifestNode | undefined {
  return node.kind === 'object' ? node.entries.find((entry) => entry.key === key)?.value : undefined;
}

function textOf(node: ManifestNode | undefined): string | undefined {
  return node?.kind === 'string' ? node.value : undefined;
}

/** Path of the pod in the kinds that declare one. */
const podPrefixes: Readonly<Record<string, string>> = {
  Pod: '',
  CronJob: 'spec.jobTemplate.spec.template.',
  DaemonSet: 'spec.template.',
  Deployment: 'spec.template.',
  Job: 'spec.template.',
  ReplicaSet: 'spec.template.',
  ReplicationController: 'spec.template.',
  StatefulSet: 'spec.template.',
};
