import { configObjectKey } from '../../src/api/values/config-object.ts';
import { createHash } from 'node:crypto';
import { loadManifests, type Manifests } from '../../src/api/objects/load-manifests.ts';
import type { ManifestProblem } from '../../src/api/text/manifest-problem.ts';
import { ProblemList } from '../../src/api/text/problem-list.ts';
import type { StaticPodOptions } from '../../src/api/objects/static-pod.ts';
import type { Pod } from '../../src/api/types.ts';
import { SeededRandom } from '../builders/seeded-random.ts';
import { printJson, printYamlBlock, printYamlFlow, toTree } from '../builders/value-tree.ts';
import { mutateStructure } from './mutate-structure.ts';
import { mutateText } from './mutate-text.ts';
import { realisticObject } from './realistic-objects.ts';
import { loadPod } from '../builders/load-pod.ts';

/** The bytes of one case. The same seed, number and corpus make the same bytes. */
export function makeCase(corpus: readonly string[], seed: number, number: number): Uint8Array {
  const random = new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ number);
  if (random.chance(0.6)) return mutateText(random.pick(corpus), random.pick(corpus), random);
  const tree = mutateStructure(toTree(realisticObject(random, number)), random);
  const text = random
    .pick([printJson, printYamlFlow, printYamlBlock])(tree)
    .slice(0, 64 * 1024);
  return random.chance(0.2) ? mutateText(text, random.pick(corpus), random) : Buffer.from(text);
}

const options: StaticPodOptions = {
  nodeName: 'edge1',
  source: 'file',
  origin: '/manifests/case.yaml',
  hash: (text) => createHash('sha256').update(text).digest('hex'),
  cronJobs: 'runOnce',
};

/** Loads a text as the sources do. */
export function loadCase(bytes: Uint8Array): Manifests {
  return loadManifests(bytes, options);
}

/** What is wrong with the result of a load, whatever was loaded; undefined when nothing is. */
export function findFault({ pods, configObjects, problems }: Manifests, bytes: Uint8Array): string | undefined {
  const names = [
    ...pods.map(({ metadata }) => `Pod ${metadata.namespace}/${metadata.name}`),
    ...configObjects.map(configObjectKey),
  ];
  if (new Set(names).size < names.length) return 'two objects of one name came';
  if ('polluted' in {}) return 'a manifest changed what every object inherits';
  for (const pod of pods) {
    const fault = findPodFault(pod);
    if (fault !== undefined) return fault;
  }
  return findProblemFault(problems, bytes);
}

/** What is wrong with what the kubelet's own reading of the first document gives. */
export function findFaultOfFirst(bytes: Uint8Array): string | undefined {
  const { pod, problems } = loadPod(bytes, options);
  const hasError = problems.some(({ severity }) => severity === 'error');
  if (hasError === (pod !== undefined)) return pod ? 'a pod came with an error' : 'neither a pod nor an error came';
  const shown = new ProblemList();
  shown.addAll(problems);
  return (pod && findPodFault(pod)) ?? findProblemFault(shown.list(options.origin), bytes);
}

/** Errors, warnings, and a line that counts the rest. */
const maxProblems = 401;

function findProblemFault(problems: readonly ManifestProblem[], bytes: Uint8Array): string | undefined {
  if (problems.length > maxProblems) return `${problems.length} problems came`;
  const lines = problems.length === 0 ? [] : linesOf(bytes);
  for (const { column, hint, line, message, origin } of problems) {
    if (origin === '' || message === '' || hint === '') return 'a problem has an empty text';
    if (message.length > 500) return `a message of ${message.length} characters came`;
    if (line === undefined || column === undefined) continue;
    const length = lines[line - 1]?.length;
    if (length === undefined || column < 1 || column > length + 1) return `no such place ${line}:${column}: ${message}`;
  }
  return undefined;
}

function findPodFault({ kind, metadata, spec }: Pod): string | undefined {
  if (kind !== 'Pod' || metadata.name === '' || metadata.uid === '') return 'a pod has no identity';
  return Array.isArray(spec.containers) && spec.containers.length > 0 ? undefined : 'a pod has no containers';
}

function linesOf(bytes: Uint8Array): string[] {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes).split(/\r\n|[\n\r]/);
}
